"""What all tests share: an environment in which git asks nobody and the network cannot be reached by accident."""

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def repository() -> Path:
    """Root of this repository."""
    return REPOSITORY


@pytest.fixture(autouse=True)
def _closed_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No git protocol but file://, no configuration of the person who runs the tests, a cache of the test's own."""
    for name in [name for name in os.environ if name.startswith(("IMAGEPINS_", "GIT_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "file")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Test")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "test@example.org")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
