"""What is seen while it builds."""

import os
import pty
import re
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.build.conftest import Project

pytestmark = pytest.mark.engine


def test_elsewhere_each_step_is_one_plain_line_on_stderr(project: "Project") -> None:
    project.write({"app": f"FROM debian:trixie-slim\nRUN : {project.prefix} 1\nRUN : {project.prefix} 2\n"})
    ran = project.run("build")
    lines = [line for line in ran.err.splitlines() if line.startswith(f"{project.name('app')}: [")]
    assert [line.partition("] ")[2] for line in lines] == [f"RUN : {project.prefix} {n}" for n in (1, 2)]
    assert "\x1b" not in ran.err
    assert ran.out.count("\n") == 1


def test_a_terminal_shows_image_step_and_elapsed_time_and_is_left_clean(project: "Project") -> None:
    project.write({"app": f"FROM debian:trixie-slim\nRUN : {project.prefix} && sleep 2\n"})
    ours, theirs = pty.openpty()
    env = {**project.environment(), "TERM": "xterm-256color", "COLUMNS": "160"}
    argv = project.argv("build")
    process = subprocess.Popen(argv, cwd=project.root, env=env, stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    shown = b""
    with suppress(OSError):  # the terminal ends with an error once nobody holds its other side
        while block := os.read(ours, 65536):
            shown += block
    os.close(ours)
    assert process.wait(120) == 0
    text = shown.decode()
    assert re.search(rf"{project.name('app')}.*RUN : {project.prefix} && sleep 2.*\d+:\d\d", text)
    assert "built in" in text
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")
