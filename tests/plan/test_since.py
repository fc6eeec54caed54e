"""Content hashes as they were at a commit."""

import subprocess
from typing import TYPE_CHECKING

import pytest

from imagepins.errors import RefError
from imagepins.plan.since import hashes_at

if TYPE_CHECKING:
    from tests.plan.conftest import Project


def commit(project: "Project", message: str) -> None:
    """Commit everything in the project."""
    for argv in (["init", "-q"], ["add", "-A"], ["commit", "-qm", message]):
        subprocess.run(["git", *argv], cwd=project.root, check=True)


def test_hashes_of_an_unchanged_tree_are_those_of_now(project: "Project") -> None:
    project.write("images/low/context/files/run", "#!/bin/sh\n").chmod(0o755)
    (project.root / "images/low/context/files/link").symlink_to("a")
    commit(project, "one")
    assert hashes_at(project.root, "pins.yaml", "HEAD") == project.hashes()


def test_links_out_of_the_tree_are_no_obstacle_and_count_by_where_they_lead(project: "Project") -> None:
    for name, target in (("absolute", "/etc/passwd"), ("out", "../../../../../../etc")):
        (project.root / name).symlink_to(target)
        (project.root / "images/low/context/files" / name).symlink_to(target)
    commit(project, "one")
    assert hashes_at(project.root, "pins.yaml", "HEAD") == project.hashes()


def test_an_edit_moves_what_it_concerns_and_nothing_else(project: "Project") -> None:
    commit(project, "one")
    project.write("high.j2", "FROM low:v\nRUN echo other\n")
    before, now = hashes_at(project.root, "pins.yaml", "HEAD") or {}, project.hashes()
    assert {name for name in now if now[name] != before[name]} == {"high/v"}


def test_a_project_below_the_root_of_its_repository_is_found(project: "Project") -> None:
    subprocess.run(["git", "init", "-q"], cwd=project.root.parent, check=True)
    subprocess.run(["git", "add", project.root.name], cwd=project.root.parent, check=True)
    subprocess.run(["git", "commit", "-qm", "one"], cwd=project.root.parent, check=True)
    assert hashes_at(project.root, "pins.yaml", "HEAD") == project.hashes()


def test_a_commit_without_pins_or_with_pins_that_cannot_be_read_knows_nothing(project: "Project") -> None:
    text = (project.root / "pins.yaml").read_text()
    project.write("pins.yaml", "schema: 99\n")
    commit(project, "newer")
    project.write("pins.yaml", text)
    assert hashes_at(project.root, "pins.yaml", "HEAD") is None
    assert hashes_at(project.root, "other.yaml", "HEAD") is None


@pytest.mark.parametrize("revision", ["nope", "--output=/tmp/x", "-h", ""])
def test_a_revision_git_does_not_know_is_an_error(project: "Project", revision: str) -> None:
    commit(project, "one")
    with pytest.raises(RefError, match="git knows no such commit"):
        hashes_at(project.root, "pins.yaml", revision)
