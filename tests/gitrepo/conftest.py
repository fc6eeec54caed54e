"""A cache of the test's own for each upstream."""

from collections.abc import Callable
from pathlib import Path

import pytest

from imagepins.gitrepo.cache import Repository, open_repository


@pytest.fixture
def open_cache(tmp_path: Path) -> Callable[..., Repository]:
    """Opens the cache of a URL below the test's directory."""

    def opened(url: str, *, is_offline: bool = False) -> Repository:
        return open_repository(url, {}, tmp_path / "imagepins", is_offline=is_offline)

    return opened
