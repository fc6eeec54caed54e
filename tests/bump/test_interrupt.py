"""An interrupt of many look-ups at once."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from waiting import PATIENCE, is_running, pids_in, wait_for


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
    (tmp_path / "ssh").write_text(f"#!/bin/sh\necho $$ >>{tmp_path}/pids\nexec sleep 100000\n")
    (tmp_path / "ssh").chmod(0o755)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(tmp_path / "ssh"))
    monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "ssh")
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "tools")}
    code = "import sys; from imagepins.cli.bump import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "--outdated", "--pins", str(project.pins)]
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE) as process:
        wait_for(lambda: len(pids_in(tmp_path / "pids")) == 4, what="all look-ups")
        process.send_signal(number)
        assert process.wait(PATIENCE) == 130
    # They were all sent a signal; a grandchild's end is waited for by nobody but the kernel.
    wait_for(lambda: not any(map(is_running, pids_in(tmp_path / "pids"))), what="the end of their children")
