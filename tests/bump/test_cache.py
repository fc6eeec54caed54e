"""A cache that was damaged from outside: made anew, and never the reason of a failure or of a wrong answer."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def cached(pinned: Callable[..., Any]) -> Any:
    """The project with a pin at c1, all that its bump asks for in the cache."""
    project = pinned(more="    path: f\n    min_age_days: '0'\n")
    assert project.run("rccl", "--dry-run").code == 0
    return project


def spoil(pattern: str, change: Callable[[bytes], bytes]) -> None:
    """Change the files of the cache that match ``pattern``, of which there is one at least."""
    files = [path for path in Path(os.environ["XDG_CACHE_HOME"]).glob(f"imagepins/git/*/{pattern}") if path.is_file()]
    assert files
    for path in files:
        path.chmod(0o644)
        path.write_bytes(change(path.read_bytes()))


@pytest.mark.parametrize(
    ("pattern", "change"),
    [
        ("objects/pack/*.pack", lambda content: content[:20] + b"garbage" + content[27:]),
        ("objects/pack/*.pack", lambda content: content[:30]),
        ("objects/pack/*.idx", lambda content: content[:10]),
        ("refs/ip/*", lambda _: b""),
        ("answers/*", lambda _: b""),
        ("answers/*", lambda content: content[:1]),
        ("answers/*", lambda _: b"\xff\xfe x"),
        ("seen", lambda _: b"\xff 1\n1\n"),
        ("HEAD", lambda _: b""),
    ],
    ids=["rotten", "pack cut", "index cut", "refs", "no answer", "half", "binary answer", "seen", "HEAD"],
)
def test_damage_changes_no_answer(cached: Any, upstream: Any, pattern: str, change: Callable[[bytes], bytes]) -> None:
    spoil(pattern, change)
    ended = cached.run("--outdated")
    assert (ended.code, "behind by 5 (4 under its path)" in ended.out) == (0, True), ended.err
    spoil(pattern, change)
    assert cached.run("rccl").code == 0
    assert cached.is_at(upstream, "main")


@pytest.mark.parametrize("noted", [b"garbage\n", b"\xff", b"--upload-pack=x"])
def test_filter_that_is_none_is_not_asked_for(cached: Any, noted: bytes) -> None:
    cache = next(Path(os.environ["XDG_CACHE_HOME"]).glob("imagepins/git/*"))
    (cache / "filter").write_bytes(noted)
    assert cached.run("rccl").code == 0


def test_damage_is_told_with_the_cache_to_remove_where_nobody_is_asked(cached: Any) -> None:
    spoil("objects/pack/*.pack", lambda content: content[:20] + b"garbage" + content[27:])
    assert "if that stays, remove the cache of" in cached.assert_refuses("rccl", "--offline", code=4).err
