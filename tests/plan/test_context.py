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
        ("link", ["a.txt", "link"]),
        ("l*", ["a.txt", "link"]),
        ("dir/../a.txt", ["a.txt"]),
        ("[^a].txt", ["b.txt"]),
        ("[!a].txt", ["a.txt"]),
        ("[a-b].t?t", ["a.txt", "b.txt"]),
        ("*hidden", [".hidden"]),
        ("\\a.txt", ["a.txt"]),
        ("*/c", ["dir/c"]),
        ("**/d", ["dir/sub/d"]),
        ("dir/**/c", ["dir/c"]),
        (".", [".hidden", "a.txt", "b.txt", "dir/c", "dir/sub/d", "link"]),
    ],
)
def test_only_what_a_pattern_takes_is_in_the_context(root: Path, pattern: str, paths: list[str]) -> None:
    assert read(root, pattern) == paths


@pytest.mark.parametrize("is_file", [True, False], ids=["submodule", "clone"])
def test_what_git_keeps_is_no_part_of_a_context(root: Path, *, is_file: bool) -> None:
    kept = root / "dir/.git" if is_file else root / "dir/.git/index"
    kept.parent.mkdir(exist_ok=True)
    kept.write_text("of this checkout")
    (root / "dir/.gitignore").write_text("a file like others")
    assert read(root, ".", "dir") == [".hidden", "a.txt", "b.txt", "dir/.gitignore", "dir/c", "dir/sub/d", "link"]
    assert read(root, "dir/*", "dir/.g*") == ["dir/.gitignore", "dir/c", "dir/sub/d"]
    with pytest.raises(PinsError, match=r"D:7: 'dir/\.git' differs between checkouts"):
        read(root, "dir/.git")


def test_brackets_and_stars_that_are_escaped_stand_for_themselves(root: Path) -> None:
    for name in ("x*y", "xzy", "[z]", "z"):
        (root / name).write_text(name)
    assert read(root, r"x\*y") == ["x*y"]
    assert read(root, r"\[z\]") == ["[z]"]
    assert read(root, "[[]z]") == ["[z]"]


def test_a_pattern_looks_behind_a_link_to_a_directory_and_never_out_of_the_context(root: Path) -> None:
    (root / "there").symlink_to("/dir")
    (root / "out").symlink_to("../../../../../..")
    assert read(root, "there/?") == ["dir/c", "there"]
    assert read(root, "out/*.txt") == ["a.txt", "b.txt", "out"]


def test_a_pattern_without_match_is_an_error_with_its_line(root: Path) -> None:
    with pytest.raises(PinsError, match=r"D:7: 'nope' matches nothing"):
        read(root, "a.txt", "nope")


def test_a_pattern_that_leaves_the_context_is_refused(root: Path) -> None:
    with pytest.raises(PinsError, match="leaves the build context"):
        read(root, "dir/../../etc/passwd")


@pytest.mark.parametrize(
    ("target", "paths"),
    [
        ("dir", ["dir/c", "dir/sub/d", "named"]),
        ("link", ["a.txt", "link", "named"]),
        ("/dir/sub", ["dir/sub/d", "named"]),
        ("../../../b.txt", ["b.txt", "named"]),
        ("dir/../a.txt", ["a.txt", "named"]),
    ],
)
def test_a_named_link_brings_every_link_behind_it_and_what_it_leads_to(
    root: Path, target: str, paths: list[str]
) -> None:
    (root / "named").symlink_to(target)
    assert read(root, "named") == paths


def test_a_link_on_the_way_to_a_file_is_followed_inside_the_context(root: Path) -> None:
    (root / "way").symlink_to("/dir/sub")
    assert read(root, "way/d") == ["dir/sub/d", "way"]


def test_links_below_a_copied_folder_stay_links(root: Path) -> None:
    (root / "dir" / "up").symlink_to("../a.txt")
    (root / "dir" / "nowhere").symlink_to("/etc/passwd")
    assert read(root, "dir") == ["dir/c", "dir/nowhere", "dir/sub/d", "dir/up"]


@pytest.mark.parametrize("target", ["/etc/passwd", "nowhere", "named"])
def test_a_named_link_to_nothing_in_the_context_is_refused(root: Path, target: str) -> None:
    (root / "named").symlink_to(target)
    with pytest.raises(PinsError, match="D:7: 'named' leads to nothing in"):
        read(root, "named")


@pytest.mark.parametrize("name", [".dockerignore", "Dockerfile.dockerignore"])
def test_a_file_that_would_hide_files_from_the_build_is_refused_by_its_name(root: Path, name: str) -> None:
    (root / name).write_text("*\n")
    with pytest.raises(PinsError, match=rf"/{name}: remove it"):
        read(root, "a.txt")


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
