"""Writing: two runs at once, kill -9, links."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from waiting import PATIENCE, pids_in, wait_for

TOOLS = Path(__file__).parents[2] / "tools"
BUMP = [sys.executable, "-c", "import sys; from imagepins.cli.bump import main; sys.exit(main())"]


def environment() -> dict[str, str]:
    """The environment commands run in."""
    return {**os.environ, "PYTHONPATH": str(TOOLS)}


def start(project: Any, *arguments: str) -> subprocess.Popen[bytes]:
    command = [*BUMP, "--pins", str(project.pins), *arguments]
    return subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def test_two_runs_on_two_pins_lose_no_update(two: Any, upstream: Any) -> None:
    running = [start(two, name, upstream.sha("main")) for name in "ab"]
    for process in running:
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err
    assert two.pins.read_text().count(upstream.sha("main")) == 2
    assert two.dockerfile.read_text().count(upstream.sha("main")) == 2


def test_run_that_commits_waits_for_the_commit_of_another(versioned: Any, upstream: Any) -> None:
    hook = versioned.root / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ntouch .git/begun\nwhile [ ! -e .git/go ]; do sleep 0.05; done\n")
    hook.chmod(0o755)
    first = start(versioned, "a", "main", "--commit")
    wait_for((versioned.root / ".git/begun").exists)
    second = start(versioned, "b", "main", "--commit")
    with suppress(subprocess.TimeoutExpired):
        # Time for it to find the first one's files written and not committed, which it must not tell as an error.
        second.wait(5)
    (versioned.root / ".git/go").touch()
    for process in (first, second):
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err
    subjects = versioned.git("log", "--format=%s").splitlines()
    assert [subject.split()[1] for subject in subjects[:2]] == ["b", "a"]
    assert versioned.git("status", "--porcelain") == ""


def test_two_runs_on_one_pin_end_as_one_after_the_other(two: Any, upstream: Any) -> None:
    wanted = [upstream.sha("refs/keep/c3"), upstream.sha("refs/keep/c5")]
    running = [start(two, "a", sha, "--allow-downgrade") for sha in wanted]
    for process in running:
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err
    last = next(sha for sha in wanted if sha in two.pins.read_text())
    assert f"ARG A_COMMIT={last}\n" in two.dockerfile.read_text()


KILLED = """
import os, signal, sys
from imagepins import files
from imagepins.cli.bump import main
left = int(sys.argv.pop(1))
def counted(step):
    def run(*arguments):
        global left
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        return step(*arguments)
    return run
for name in ("_write_temporary", "_swap_in", "_remove"):
    setattr(files, name, counted(getattr(files, name)))
sys.exit(main())
"""


@pytest.mark.parametrize("step", range(1, 9))
def test_kill_before_any_step_of_writing_leaves_old_or_new(two: Any, upstream: Any, step: int) -> None:
    argv = [sys.executable, "-c", KILLED, str(step), "--pins", str(two.pins), "a", upstream.sha("main")]
    done = subprocess.run(argv, env=environment(), check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL
    assert two.run("--check").code == 0
    assert two.run("a", upstream.sha("main")).code == 0
    assert upstream.sha("main") in two.dockerfile.read_text()
    assert not list(two.root.rglob(".*"))


def test_interrupt_ends_with_130_and_leaves_nothing(
    two: Any, upstream: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit, slow = upstream.sha("main"), tmp_path / "bin"
    slow.mkdir()
    (slow / "git").write_text(f"#!/bin/sh\necho $$ >>{tmp_path}/pids\nexec sleep 600\n")
    (slow / "git").chmod(0o755)
    before = two.snapshot()
    monkeypatch.setenv("PATH", f"{slow}:{os.environ['PATH']}")
    process = start(two, "a", commit)
    wait_for(lambda: pids_in(tmp_path / "pids"), what="git")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE)
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
