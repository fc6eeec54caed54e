"""Many things at once, and an interrupt that does not wait for them."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from imagepins.bump.parallel import parallel


def test_results_keep_their_order() -> None:
    assert parallel(lambda number: number * 2, list(range(100)), Event()) == [number * 2 for number in range(100)]
    assert parallel(str, [], Event()) == []


def test_error_of_one_is_raised_once_all_have_ended() -> None:
    done: list[int] = []

    def fail_for_three(number: int) -> None:
        if number == 3:
            raise ValueError("three")
        done.append(number)

    with pytest.raises(ValueError, match="three"):
        parallel(fail_for_three, list(range(50)), Event())
    assert len(done) == 49


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_ends_all_look_ups_and_their_children(
    project: Any, new_upstream: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    up = new_upstream()
    commit = up.commit("a", a="1")
    pin = (
        '  p{number}:\n    git: git@slow.example:o/r{number}.git\n    commit: "{commit}"\n    track: {{branch: main}}\n'
    )
    project.write("".join(pin.format(number=each, commit=commit) for each in range(4)))
    (tmp_path / "ssh").write_text(f"#!/bin/sh\necho $$ >>{tmp_path}/pids\nexec sleep 60\n")
    (tmp_path / "ssh").chmod(0o755)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(tmp_path / "ssh"))
    monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "ssh")
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "tools")}
    code = "import sys; from imagepins.cli.bump import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "--outdated", "--pins", str(project.pins)]
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE) as process:
        pids = _pids_of_four(tmp_path / "pids")
        process.send_signal(number)
        started = time.monotonic()
        assert process.wait(20) == 130
    assert time.monotonic() - started < 8
    # They were all sent a signal; a grandchild's end is waited for by nobody but the kernel.
    while [pid for pid in pids if _is_running(pid)]:
        assert time.monotonic() - started < 10
        time.sleep(0.02)


def _is_running(pid: str) -> bool:
    """Whether the process runs; one that ended and that nobody has asked for yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _pids_of_four(file: Path) -> list[str]:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        pids = file.read_text().split() if file.exists() else []
        if len(pids) == 4:
            return pids
        time.sleep(0.05)
    raise AssertionError("not all look-ups began")
