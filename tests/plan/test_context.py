"""The files a build gets."""

import os
from pathlib import Path

import pytest

from imagepins.errors import PinsError
from imagepins.plan import context
from imagepins.plan.context import read_context
from imagepins.plan.stages import Use


def read(root: Path, *patterns: str) -> list[str]:
    """Paths that the patterns take."""
    uses = [Use(pattern, 7) for pattern in patterns]
    return [each.path for each in read_context(root, uses, dockerfile="D")]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """a.txt, b.txt, .hidden, dir/c, dir/sub/d and a link to a.txt."""
    for name in ("a.txt", "b.txt", ".hidden", "dir/c", "dir/sub/d"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (tmp_path / "link").symlink_to("a.txt")
    return tmp_path


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("a.txt", ["a.txt"]),
        ("/a.txt", ["a.txt"]),
        ("./a.txt", ["a.txt"]),
        ("*.txt", ["a.txt", "b.txt"]),
        ("dir", ["dir/c", "dir/sub/d"]),
        ("dir/", ["dir/c", "dir/sub/d"]),
        ("dir/*", ["dir/c", "dir/sub/d"]),
        ("link", ["link"]),
        (".", [".hidden", "a.txt", "b.txt", "dir/c", "dir/sub/d", "link"]),
    ],
)
def test_only_what_a_pattern_takes_is_in_the_context(root: Path, pattern: str, paths: list[str]) -> None:
    assert read(root, pattern) == paths


def test_a_pattern_without_match_is_an_error_with_its_line(root: Path) -> None:
    with pytest.raises(PinsError, match=r"D:7: 'nope' matches nothing"):
        read(root, "a.txt", "nope")


def test_a_pattern_that_leaves_the_context_is_refused(root: Path) -> None:
    with pytest.raises(PinsError, match="leaves the build context"):
        read(root, "dir/../../etc/passwd")


def test_a_pipe_in_the_context_is_refused_instead_of_read_for_ever(root: Path) -> None:
    os.mkfifo(root / "dir" / "pipe")
    with pytest.raises(PinsError, match="neither a file nor a symbolic link"):
        read(root, "dir")


def test_a_large_context_is_refused_with_its_ten_largest_files(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "LIMIT_BYTES", 1000)
    for number in range(12):
        (root / f"big{number:02}").write_bytes(b"x" * (100 + number))
    with pytest.raises(PinsError) as caught:
        read(root, "big*")
    listed = [line.split()[-1] for line in str(caught.value).splitlines()[1:]]
    assert listed == [f"big{number:02}" for number in range(11, 1, -1)]
