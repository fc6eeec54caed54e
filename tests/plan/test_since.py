"""Content hashes as they were at a commit."""

import os
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


def test_a_commit_without_files_has_no_hashes(project: "Project") -> None:
    subprocess.run(["git", "init", "-q"], cwd=project.root, check=True)
    subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "empty"], cwd=project.root, check=True)
    assert hashes_at(project.root, "pins.yaml", "HEAD") is None


def test_links_out_of_the_tree_are_no_obstacle_and_count_by_where_they_lead(project: "Project") -> None:
    for name, target in (("absolute", "/etc/passwd"), ("out", "../../../../../../etc")):
        (project.root / name).symlink_to(target)
        (project.root / "images/low/context/files" / name).symlink_to(target)
    commit(project, "one")
    assert hashes_at(project.root, "pins.yaml", "HEAD") == project.hashes()


def test_a_hook_of_another_repository_misleads_nobody(project: "Project", monkeypatch: pytest.MonkeyPatch) -> None:
    commit(project, "one")
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.setenv(name, "/nowhere")
    assert hashes_at(project.root, "pins.yaml", "HEAD") == project.hashes()


def test_blobs_that_a_partial_clone_lacks_are_fetched(project: "Project") -> None:
    commit(project, "one")
    subprocess.run(["git", "config", "uploadpack.allowFilter", "true"], cwd=project.root, check=True)
    before = project.hashes()
    project.write("low.j2", "FROM scratch\n")
    commit(project, "two")
    clone = project.root.parent / "clone"
    argv = ["git", "clone", "-q", "--filter=blob:none", f"file://{project.root}", str(clone)]
    subprocess.run(argv, check=True, capture_output=True)
    assert hashes_at(clone, "pins.yaml", "HEAD^") == before


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


def test_a_commit_before_the_projects_directory_knows_nothing(project: "Project") -> None:
    (project.root.parent / "other").write_text("x")
    for argv in (["init", "-q"], ["add", "other"], ["commit", "-qm", "one"]):
        subprocess.run(["git", *argv], cwd=project.root.parent, check=True)
    assert hashes_at(project.root, "pins.yaml", "HEAD") is None


def test_files_are_compared_as_a_checkout_writes_them(project: "Project") -> None:
    project.write(".gitattributes", "*.j2 export-ignore\nimages/low/context/files/a text eol=crlf\n")
    project.write("images/low/context/files/a", "a\r\n")
    (project.root / "images/low/context/files").joinpath(os.fsdecode(b"\xff")).write_text("no UTF-8")
    commit(project, "one")
    subprocess.run(["git", "rm", "-q", "--cached", "low.j2"], cwd=project.root, check=True)
    assert hashes_at(project.root, "pins.yaml", "HEAD") == project.hashes()
    staged = subprocess.run(
        ["git", "diff", "--cached", "--name-only"], cwd=project.root, check=True, capture_output=True
    )
    assert staged.stdout == b"low.j2\n"


def test_files_left_out_of_a_sparse_checkout_count(project: "Project") -> None:
    commit(project, "one")
    now = project.hashes()
    subprocess.run(["git", "sparse-checkout", "set", "--no-cone", "/*.j2"], cwd=project.root, check=True)
    assert hashes_at(project.root, "pins.yaml", "HEAD") == now


def test_pins_that_broke_their_own_constraints_know_nothing(project: "Project") -> None:
    text = (project.root / "pins.yaml").read_text()
    project.write("pins.yaml", f"{text}constraints:\n  - {{require: tool > 1, reason: a test}}\n")
    commit(project, "one")
    project.write("pins.yaml", text)
    assert hashes_at(project.root, "pins.yaml", "HEAD") is None


def test_a_repository_that_git_does_not_trust_is_told_in_its_words(
    project: "Project", monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(project, "one")
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    with pytest.raises(RefError, match="detected dubious ownership in repository"):
        hashes_at(project.root, "pins.yaml", "HEAD")


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
