"""One run at a time."""

import subprocess
import sys
from pathlib import Path

import pytest

from imagepins.engine.lock import only_one
from imagepins.errors import UsageError

HOLD = """
import sys
from pathlib import Path
from imagepins.engine.lock import only_one
with only_one("x", print, directory=Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def hold(directory: Path) -> "subprocess.Popen[str]":
    """Hold the lock in another process until its standard input is closed; returns once that has it."""
    argv = [sys.executable, "-c", HOLD, str(directory)]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    assert process.stdout.readline() == "held\n"
    return process


def test_second_run_waits_for_the_first_and_says_so_once(tmp_path: Path) -> None:
    said: list[str] = []
    with hold(tmp_path) as first:

        def end_first(text: str) -> None:
            said.append(text)
            assert first.stdin
            first.stdin.close()

        with only_one("x", end_first, directory=tmp_path):
            assert said == ["another run is at it, waiting for it to end"]


def test_lock_of_a_killed_run_is_free(tmp_path: Path, said: list[str]) -> None:
    with hold(tmp_path) as process:
        process.kill()
        process.wait()
    with only_one("x", said.append, directory=tmp_path):
        assert said == []


def test_wait_ends_with_an_error(tmp_path: Path, said: list[str]) -> None:
    with hold(tmp_path) as process:
        expected = pytest.raises(UsageError, match=r"another run has held .* for 0\.2 s; end it and try again")
        with expected, only_one("x", said.append, directory=tmp_path, timeout=0.2):
            pass
        process.kill()


def test_locks_of_other_names_do_not_wait(tmp_path: Path, said: list[str]) -> None:
    with only_one("x", said.append, directory=tmp_path), only_one("y", said.append, directory=tmp_path):
        assert said == []
