"""What moves a content hash, and what does not."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from imagepins.plan.content import changed_inputs

if TYPE_CHECKING:
    from tests.plan.conftest import Project


def replace(path: Path, old: str, new: str) -> None:
    """Replace text in a file, which must hold it."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def touch(project: "Project") -> None:
    """Give every file another time."""
    for path in project.root.rglob("*"):
        os.utime(path, (1, 1))


def reorder(project: "Project") -> None:
    """Let the second image come first."""
    head, _, rest = project.root.joinpath("pins.yaml").read_text().partition("images:\n")
    low, high = rest.split("  high:\n")
    project.write("pins.yaml", f"{head}images:\n  high:\n{high}{low}")


SAME: dict[str, Callable[["Project"], object]] = {
    "times": touch,
    "order of images": reorder,
    "comment in pins.yaml": lambda project: replace(project.root / "pins.yaml", "pins:\n", "pins: # a remark\n"),
    "note of a pin": lambda project: replace(project.root / "pins.yaml", "arg: TOOL", "note: why, arg: TOOL"),
    "comment in the template": lambda project: replace(project.root / "low.j2", "RUN", "# a remark\nRUN"),
    "permissions beside the execute bit": lambda project: (project.root / "images/low/context/files/a").chmod(0o600),
    "a file nothing copies": lambda project: project.write("images/low/context/other", "x"),
}
MOVED: dict[str, Callable[["Project"], object]] = {
    "a pin": lambda project: replace(project.root / "pins.yaml", "1" * 40, "2" * 40),
    "the source of a pin": lambda project: replace(project.root / "pins.yaml", "/up/tool", "/fork/tool"),
    "a command": lambda project: replace(project.root / "low.j2", "echo", "printf"),
    "content of a file": lambda project: project.write("images/low/context/files/a", "b\n"),
    "name of a file": lambda project: project.write("images/low/context/files/b", "a\n"),
    "execute bit": lambda project: (project.root / "images/low/context/files/a").chmod(0o755),
    "target of a link": lambda project: (project.root / "images/low/context/files/l").symlink_to("a"),
    "platform": lambda project: replace(project.root / "pins.yaml", "low.j2\n", "low.j2\n    platform: linux/arm64\n"),
    "the base": lambda project: replace(project.root / "pins.yaml", "tag: trixie-slim", "tag: bookworm-slim"),
}


@pytest.mark.parametrize("change", SAME.values(), ids=SAME.keys())
def test_the_hash_stays_with(project: "Project", change: Callable[["Project"], object]) -> None:
    before = project.hashes()
    change(project)
    assert project.hashes() == before


@pytest.mark.parametrize("change", MOVED.values(), ids=MOVED.keys())
def test_the_hash_of_image_and_child_moves_with(project: "Project", change: Callable[["Project"], object]) -> None:
    before = project.hashes()
    change(project)
    after = project.hashes()
    assert after["low/v"] != before["low/v"]
    assert after["high/v"] != before["high/v"]


def test_a_change_of_the_child_leaves_the_parent_alone(project: "Project") -> None:
    before = project.hashes()
    replace(project.root / "high.j2", "high", "higher")
    after = project.hashes()
    assert after["low/v"] == before["low/v"]
    assert after["high/v"] != before["high/v"]


def test_the_hash_does_not_depend_on_where_the_project_lies(project: "Project", tmp_path: Path) -> None:
    other = type(project)(tmp_path / "elsewhere")
    assert other.hashes() == project.hashes()


def test_what_moved_is_named_by_pin_and_file(project: "Project") -> None:
    before = dict(project.nodes()["low/v"].inputs)
    replace(project.root / "pins.yaml", "1" * 40, "2" * 40)
    (project.root / "images/low/context/files/a").rename(project.root / "images/low/context/files/b")
    lines = changed_inputs(before, project.nodes()["low/v"].inputs)
    assert [line.partition(":")[0] for line in lines] == ["dockerfile", "file files/a", "file files/b", "pin tool"]
    assert lines[1].endswith("gone")
    assert lines[2].endswith("new")
    assert "1" * 40 in lines[3]
    assert "2" * 40 in lines[3]


def test_a_digest_stands_for_a_base_that_has_one(project: "Project") -> None:
    digest = "sha256:" + "3" * 64
    replace(project.root / "pins.yaml", "allow_tag: a test", f'digest: "{digest}"')
    assert project.nodes()["low/v"].inputs[f"base debian:trixie-slim@{digest}"] == digest
