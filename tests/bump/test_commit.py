"""Commits and branches: exactly the bump, or everything as it was."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest


def test_commit_holds_exactly_the_bump(versioned: Any, upstream: Any) -> None:
    (versioned.root / "mine").write_text("staged")
    versioned.git("add", "mine")
    (versioned.root / "images/all/Dockerfile.j2").write_text(f"{versioned.template}\n\n")
    versioned.git("commit", "--quiet", "--only", "images/all/Dockerfile.j2", "--message", "template")
    ended = versioned.run("a", upstream.sha("refs/keep/c3"), "--commit")
    assert ended.code == 0, ended.err
    assert versioned.git("show", "--name-only", "--format=", "HEAD").split() == [
        "images/all/one/Dockerfile",
        "pins.yaml",
    ]
    date = upstream.git("log", "-1", "--format=%cs", "refs/keep/c3")
    assert versioned.git("log", "-1", "--format=%s") == f"Update a to {upstream.sha('refs/keep/c3')[:12]} ({date})"
    body = versioned.git("log", "-1", "--format=%b")
    assert f"{upstream.sha('refs/keep/c1')} -> {upstream.sha('refs/keep/c3')}" in body
    assert f"* {upstream.sha('refs/keep/c2')[:12]} c2" in body
    assert versioned.git("status", "--porcelain") == "A  mine"


def test_commit_is_made_in_the_project_also_within_a_hook_of_another(
    versioned: Any, upstream: Any, astray: Callable[[], AbstractContextManager[None]]
) -> None:
    before, new = versioned.git("rev-parse", "HEAD"), upstream.sha("refs/keep/c3")
    with astray():
        ended = versioned.run("a", new, "--commit")
    assert ended.code == 0, ended.err
    assert versioned.git("rev-parse", "HEAD~") == before
    assert new in versioned.git("show", "HEAD:pins.yaml")
    assert versioned.git("status", "--porcelain") == ""


def test_commit_of_a_tag_names_the_tag(versioned: Any, upstream: Any) -> None:
    versioned.run("a", "v1", "--commit")
    assert versioned.git("log", "-1", "--format=%s") == f"Update a to {upstream.sha('v1')[:12]} (v1)"


def test_commit_of_what_was_not_looked_up_says_that_its_date_is_unknown(versioned: Any) -> None:
    versioned.run("a", "b" * 40, "--offline", "--commit")
    assert versioned.git("log", "-1", "--format=%s") == "Update a to bbbbbbbbbbbb (date unknown)"


@pytest.mark.parametrize("branch", [(), ("--branch", "bump/a")])
def test_dry_run_shows_the_message_of_the_commit_it_would_make(
    versioned: Any, upstream: Any, branch: tuple[str, ...]
) -> None:
    arguments = ("a", "main", "--commit", *branch)
    before = versioned.snapshot()
    ended, document = versioned.run(*arguments, "--dry-run"), versioned.run(*arguments, "--dry-run", "--json").json
    assert (ended.code, versioned.snapshot(), versioned.git("branch")) == (0, before, "* main")
    assert ("on the new branch bump/a" in ended.out) is bool(branch)
    made = versioned.run(*arguments, "--json").json
    message = versioned.git("log", "-1", "--format=%B")
    assert all(f"    {line}".rstrip() in ended.out.splitlines() for line in message.splitlines())
    assert (document["commit"], document["commit_message"].strip()) == (None, message)
    assert (made["commit"], made["commit_message"].strip()) == (versioned.git("rev-parse", "HEAD"), message)
    assert versioned.run("b", "main", "--dry-run", "--json").json["commit_message"] is None


def test_dry_run_refuses_what_the_commit_would_refuse(versioned: Any) -> None:
    assert "exists already" in versioned.assert_refuses("a", "main", "--branch", "main", "--dry-run", code=2).err
    versioned.template = f"{versioned.template}# mine\n"
    (versioned.root / "images/all/Dockerfile.j2").write_text(versioned.template)
    assert "changed and not committed" in versioned.assert_refuses("a", "main", "--commit", "--dry-run", code=2).err


def test_branch_gets_the_commit_and_main_stays(versioned: Any, upstream: Any) -> None:
    before = versioned.git("rev-parse", "main")
    assert versioned.run("a", "main", "--branch", "bump/a").code == 0
    assert versioned.git("symbolic-ref", "--short", "HEAD") == "bump/a"
    assert versioned.git("rev-parse", "bump/a^") == before == versioned.git("rev-parse", "main")


def test_nothing_to_do_makes_neither_commit_nor_branch(versioned: Any, upstream: Any) -> None:
    before = versioned.git("rev-parse", "HEAD")
    assert versioned.run("a", upstream.sha("refs/keep/c1"), "--branch", "bump/a").code == 0
    assert (versioned.git("rev-parse", "HEAD"), versioned.git("branch", "--list", "bump/a")) == (before, "")


@pytest.mark.parametrize("branch", ["main", "-x", "a..b", "a b"])
def test_branch_that_cannot_be_made_is_refused_before_anything_is_written(versioned: Any, branch: str) -> None:
    before = versioned.snapshot()
    ended = versioned.run("a", "main", f"--branch={branch}")
    assert (ended.code, versioned.snapshot()) == (2, before)


def test_own_changes_in_the_files_are_not_swept_in(versioned: Any) -> None:
    versioned.pins.write_text(versioned.pins.read_text() + "# mine\n")
    before = versioned.snapshot()
    ended = versioned.run("a", "main", "--commit")
    assert (ended.code, versioned.snapshot()) == (2, before)
    assert "pins.yaml: changed and not committed" in ended.err


def test_hooks_of_the_user_are_honoured(versioned: Any) -> None:
    hook = versioned.root / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'lint says no' >&2\nexit 1\n")
    hook.chmod(0o755)
    ended = versioned.run("a", "main", "--commit")
    assert ended.code == 1
    assert "not committed: lint says no" in ended.err


def test_commit_outside_a_repository_is_refused_before_anything_is_written(two: Any) -> None:
    before = two.snapshot()
    ended = two.run("a", "main", "--commit")
    assert (ended.code, two.snapshot()) == (2, before)
    assert "not in a git repository" in ended.err


def test_commit_of_two_pins_names_both(versioned: Any) -> None:
    assert versioned.run("--all", "--commit").code == 0
    assert versioned.git("log", "-1", "--format=%s") == "Update a, b"


def install_hook(project: Any, name: str, script: str) -> None:
    hook: Path = project.root / ".git/hooks" / name
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\n{script}\n")
    hook.chmod(0o755)


@pytest.mark.parametrize("branch", [[], ["--branch", "feat"]], ids=["at hand", "new branch"])
def test_refused_commit_leaves_files_index_and_branch_as_they_were(versioned: Any, branch: list[str]) -> None:
    (versioned.root / "mine").write_text("staged")
    versioned.git("add", "mine")
    before = {name: content for name, (content, _) in versioned.snapshot().items()}
    install_hook(versioned, "pre-commit", "echo 'lint says no' >&2; exit 1")
    ended = versioned.run("a", "main", "--commit", *branch)
    assert (ended.code, "everything is as it was before" in ended.err) == (1, True)
    assert {name: content for name, (content, _) in versioned.snapshot().items()} == before
    assert versioned.git("status", "--porcelain") == "A  mine"
    assert versioned.git("symbolic-ref", "--short", "HEAD") == "main"
    assert versioned.git("branch", "--list") == "* main"
    (versioned.root / ".git/hooks/pre-commit").unlink()
    assert versioned.run("a", "main", "--commit", *branch).code == 0


def test_signature_that_cannot_be_made_leaves_everything_as_it_was(versioned: Any) -> None:
    versioned.git("config", "commit.gpgSign", "true")
    versioned.git("config", "gpg.program", "false")
    ended = versioned.run("a", "main", "--commit")
    assert (ended.code, versioned.git("status", "--porcelain")) == (1, "")


def test_refused_branch_from_a_detached_head_goes_back_there(versioned: Any) -> None:
    versioned.git("checkout", "--quiet", "--detach")
    head = versioned.git("rev-parse", "HEAD")
    install_hook(versioned, "post-checkout", "exit 1")
    assert versioned.run("a", "main", "--branch", "feat").code == 1
    assert versioned.git("rev-parse", "--symbolic-full-name", "HEAD") == "HEAD"
    assert (versioned.git("rev-parse", "HEAD"), versioned.git("branch", "--list", "feat")) == (head, "")
    assert versioned.git("status", "--porcelain") == ""


def test_hook_that_rewrites_and_refuses_is_undone(versioned: Any) -> None:
    install_hook(versioned, "pre-commit", "echo '# tidy' >> images/all/one/Dockerfile; exit 1")
    assert versioned.run("a", "main", "--commit").code == 1
    assert versioned.git("status", "--porcelain") == ""


@pytest.mark.parametrize("name", ["images/all/Dockerfile.j2", "images/all/more.j2", "Dockerfile.base.j2"])
def test_changed_template_stops_a_commit(versioned: Any, name: str) -> None:
    path = versioned.root / name
    path.write_text((path.read_text() if path.exists() else "") + "# edited\n")
    before = versioned.snapshot()
    ended = versioned.run("a", "main", "--commit")
    assert (ended.code, versioned.snapshot()) == (2, before)
    assert f"{name}: changed and not committed" in ended.err


def test_file_that_was_stale_stops_a_commit_and_is_told_without_one(versioned: Any) -> None:
    template = versioned.root / "images/all/Dockerfile.j2"
    template.write_text(template.read_text() + "# edited\n")
    versioned.git("commit", "--quiet", "--all", "--message", "template alone")
    ended = versioned.run("a", "main", "--commit")
    assert (ended.code, "images/all/one/Dockerfile: not what" in ended.err) == (2, True)
    ended = versioned.run("a", "main")
    assert ended.code == 0
    assert "images/all/one/Dockerfile changes more than the bump does" in ended.out


def test_changed_file_that_a_template_includes_stops_a_commit(versioned: Any) -> None:
    part = versioned.root / "images/all/part.py"
    part.write_text("# one\n")
    versioned.template += "[[% include 'images/all/part.py' %]]\n"
    versioned.write_bytes(versioned.pins.read_bytes())
    versioned.git("add", "--all")
    versioned.git("commit", "--quiet", "--message", "part")
    part.write_text("# two\n")
    before = versioned.snapshot()
    ended = versioned.run("a", "main", "--commit")
    assert (ended.code, versioned.snapshot()) == (2, before)
    assert "images/all/one/Dockerfile: not what pins.yaml and the templates give" in ended.err


def test_ignored_file_stops_a_commit_before_anything_is_written(versioned: Any) -> None:
    (versioned.root / ".gitignore").write_text("images/*/*/Dockerfile\n")
    versioned.git("rm", "--quiet", "--cached", "images/all/one/Dockerfile")
    versioned.git("add", ".gitignore")
    versioned.git("commit", "--quiet", "--message", "ignore")
    before = versioned.snapshot()
    ended = versioned.run("a", "main", "--commit")
    assert (ended.code, versioned.snapshot()) == (2, before)
    assert "git ignores it" in ended.err


def test_pin_file_outside_the_repository_cannot_be_committed(versioned: Any, tmp_path: Path) -> None:
    versioned.pins.rename(tmp_path / "shared.yaml")
    versioned.pins.symlink_to(tmp_path / "shared.yaml")
    versioned.git("commit", "--quiet", "--all", "--message", "link")
    before = versioned.snapshot()
    ended = versioned.run("a", "main", "--commit")
    assert (ended.code, versioned.snapshot()) == (2, before)
    assert "not in the repository" in ended.err


def test_what_a_hook_adds_to_the_commit_leaves_no_change_behind(versioned: Any) -> None:
    install_hook(versioned, "pre-commit", "echo '# tidy' >> pins.yaml; git add pins.yaml")
    assert versioned.run("a", "main", "--commit").code == 0
    assert versioned.git("show", "HEAD:pins.yaml").endswith("# tidy")
    assert versioned.git("status", "--porcelain") == ""


def test_pins_that_a_refusing_hook_changed_are_left_and_told(versioned: Any) -> None:
    install_hook(versioned, "pre-commit", "echo '# tidy' >> pins.yaml; exit 1")
    ended = versioned.run("a", "main", "--commit")
    assert (ended.code, "pins.yaml was changed meanwhile, by a hook or somebody" in ended.err) == (1, True)
    assert versioned.git("status", "--porcelain") == "M images/all/one/Dockerfile\n M pins.yaml"


def test_log_is_no_comment_of_the_message_whatever_git_is_told(versioned: Any, upstream: Any) -> None:
    versioned.git("config", "core.commentChar", "*")
    versioned.git("config", "commit.cleanup", "strip")
    versioned.run("a", "main", "--commit")
    assert f"* {upstream.sha('refs/keep/c2')[:12]} c2" in versioned.git("log", "-1", "--format=%b")


def test_repository_that_git_does_not_trust_is_told_with_its_reason(
    versioned: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    assert "dubious ownership" in versioned.assert_refuses("a", "main", "--commit", code=2).err
