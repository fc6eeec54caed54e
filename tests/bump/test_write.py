"""Writing: two runs at once, kill -9, links, commits and branches."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

BUMP = [sys.executable, "-c", "import sys; from imagepins.cli.bump import main; sys.exit(main())"]
Pinned = Callable[..., Any]


def start(project: Any, *arguments: str) -> subprocess.Popen[bytes]:
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "tools")}
    command = [*BUMP, "--pins", str(project.pins), *arguments]
    return subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


@pytest.fixture
def two(project: Any, upstream: Any) -> Any:
    """A project with two pins, a and b, at c1."""
    commit = upstream.sha("refs/keep/c1")
    pin = '  {name}:\n    git: {url}\n    commit: "{commit}"\n    track: {{branch: main}}\n'
    project.write("".join(pin.format(name=name, url=upstream.url, commit=commit) for name in "ab"))
    return project


def test_two_runs_on_two_pins_lose_no_update(two: Any, upstream: Any) -> None:
    running = [start(two, name, upstream.sha("main")) for name in "ab"]
    for process in running:
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
    assert two.pins.read_text().count(upstream.sha("main")) == 2
    assert two.dockerfile.read_text().count(upstream.sha("main")) == 2


def test_two_runs_on_one_pin_end_as_one_after_the_other(two: Any, upstream: Any) -> None:
    wanted = [upstream.sha("refs/keep/c3"), upstream.sha("refs/keep/c5")]
    running = [start(two, "a", sha, "--allow-downgrade") for sha in wanted]
    for process in running:
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
    last = next(sha for sha in wanted if sha in two.pins.read_text())
    assert f"ARG A_COMMIT={last}\n" in two.dockerfile.read_text()


def test_kill_at_any_moment_leaves_old_or_new(two: Any, upstream: Any) -> None:
    rng = random.Random(7)  # noqa: S311 - the same moments in every run
    for revision in ("refs/keep/c2", "refs/keep/c3", "refs/keep/c4", "refs/keep/c5", "main"):
        process = start(two, "a", upstream.sha(revision))
        time.sleep(rng.uniform(0.05, 0.6))
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        assert two.run("--check").code == 0
    assert two.run("a").code == 0
    assert not list(two.root.rglob(".*"))


def test_interrupt_ends_with_130_and_leaves_nothing(
    two: Any, upstream: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit, slow = upstream.sha("main"), tmp_path / "bin"
    slow.mkdir()
    (slow / "git").write_text("#!/bin/sh\nexec sleep 60\n")
    (slow / "git").chmod(0o755)
    before = two.snapshot()
    monkeypatch.setenv("PATH", f"{slow}:{os.environ['PATH']}")
    process = start(two, "a", commit)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    assert two.snapshot() == before


def test_file_that_cannot_be_written_leaves_all_as_it_was(two: Any, upstream: Any) -> None:
    two.dockerfile.unlink()
    two.dockerfile.mkdir()
    before = two.pins.read_bytes()
    ended = two.run("a", upstream.sha("main"))
    assert (ended.code, two.pins.read_bytes()) == (1, before)
    assert "no file was changed" in ended.err


def test_pin_file_that_is_a_link_stays_one(two: Any, upstream: Any, tmp_path: Path) -> None:
    target = tmp_path / "shared.yaml"
    two.pins.rename(target)
    two.pins.symlink_to(target)
    assert two.run("a", upstream.sha("main")).code == 0
    assert two.pins.is_symlink()
    assert upstream.sha("main") in target.read_text()


@pytest.fixture
def versioned(two: Any) -> Any:
    """The project as a git repository with everything committed."""

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=two.root, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    two.git = git
    git("init", "--quiet", "--initial-branch=main")
    git("add", "--all")
    git("commit", "--quiet", "--message", "start")
    return two


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


def test_commit_of_a_tag_names_the_tag(versioned: Any, upstream: Any) -> None:
    versioned.run("a", "v1", "--commit")
    assert versioned.git("log", "-1", "--format=%s") == f"Update a to {upstream.sha('v1')[:12]} (v1)"


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
    assert "written, but not committed" in ended.err
    assert "lint says no" in ended.err


def test_commit_outside_a_repository_is_refused_before_anything_is_written(two: Any) -> None:
    before = two.snapshot()
    ended = two.run("a", "main", "--commit")
    assert (ended.code, two.snapshot()) == (2, before)
    assert "not in a git repository" in ended.err


def test_commit_of_two_pins_names_both(versioned: Any) -> None:
    assert versioned.run("--all", "--commit").code == 0
    assert versioned.git("log", "-1", "--format=%s") == "Update a, b"
