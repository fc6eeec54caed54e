"""An interrupt of many look-ups at once."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest


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
    (tmp_path / "ssh").write_text(f"#!/bin/sh\necho $$ >>{tmp_path}/pids\nexec sleep 600\n")
    (tmp_path / "ssh").chmod(0o755)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(tmp_path / "ssh"))
    monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "ssh")
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "tools")}
    code = "import sys; from imagepins.cli.bump import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "--outdated", "--pins", str(project.pins)]
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE) as process:
        pids = _pids_of_four(tmp_path / "pids")
        process.send_signal(number)
        assert process.wait(120) == 130
    # They were all sent a signal; a grandchild's end is waited for by nobody but the kernel.
    deadline = time.monotonic() + 120
    while [pid for pid in pids if _is_running(pid)]:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _is_running(pid: str) -> bool:
    """Whether the process runs; one that ended and that nobody has asked for yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _pids_of_four(file: Path) -> list[str]:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        pids = file.read_text().split() if file.exists() else []
        if len(pids) == 4:
            return pids
        time.sleep(0.05)
    raise AssertionError("not all look-ups began")
