"""Processes end with everything they started."""

import signal
import sys
import time
import uuid
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread, get_ident

import pytest

from imagepins import process
from imagepins.process import ProcessFailed
from waiting import PATIENCE, wait_for


def test_output_and_code_are_returned() -> None:
    done = process.run(["sh", "-c", "echo out; echo err >&2; exit 3"], check=False)
    assert (done.code, done.stdout, done.stderr) == (3, "out\n", "err\n")


def test_failure_names_command_code_and_output() -> None:
    with pytest.raises(ProcessFailed, match=r"sh -c 'echo why >&2; exit 3': exit code 3\nwhy"):
        process.run(["sh", "-c", "echo why >&2; exit 3"])


def test_missing_program_is_told() -> None:
    with pytest.raises(ProcessFailed, match="no-such-program is not there") as failed:
        process.run(["no-such-program"])
    assert not failed.value.is_timeout


def test_stdin_is_never_inherited() -> None:
    assert process.run(["cat"]).stdout == ""
    assert process.run(["cat"], stdin="text").stdout == "text"


def test_invalid_utf8_does_not_stop_the_reader() -> None:
    assert process.run([sys.executable, "-c", r"import os; os.write(1, b'a\xffb')"]).stdout == "a\ufffdb"


@pytest.fixture
def long_sleep() -> str:
    """A command that lasts, told from all others by its number of seconds."""
    return f"sleep 6{uuid.uuid4().int % 10**12}"


def wait_until_gone(command: str) -> None:
    """Fail unless no process runs ``command``: each was sent a signal, and the kernel ends it when it gets to it."""
    deadline = time.monotonic() + 60
    while any(command in _command_line(path) for path in Path("/proc").glob("[0-9]*/cmdline")):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _command_line(path: Path) -> str:
    with suppress(OSError):
        return path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return ""


@pytest.mark.parametrize("how", ["run", "stream"])
def test_time_limit_ends_the_whole_group(long_sleep: str, how: str) -> None:
    argv = ["sh", "-c", f"(trap '' TERM; {long_sleep}) & {long_sleep}"]
    with pytest.raises(ProcessFailed, match=r"no end after 0\.5 s") as failed:
        process.run(argv, timeout=0.5) if how == "run" else process.stream(argv, print, timeout=0.5)
    assert failed.value.is_timeout
    wait_until_gone(long_sleep)


def test_interrupt_that_another_thread_got_ends_the_process(long_sleep: str, tmp_path: Path) -> None:
    begun, is_gone = tmp_path / "begun", Event()

    def interrupt() -> None:
        wait_for(begun.exists, what="the process")
        signal.pthread_kill(get_ident(), signal.SIGINT)
        wait_until_gone(long_sleep)
        is_gone.set()

    other = Thread(target=interrupt)
    other.start()
    with pytest.raises(KeyboardInterrupt):
        process.run(["sh", "-c", f"touch {begun}; {long_sleep}"], timeout=PATIENCE)
    other.join()
    assert is_gone.is_set()


def test_child_left_behind_by_a_finished_process_is_ended(long_sleep: str) -> None:
    process.run(["sh", "-c", f"{long_sleep} >/dev/null 2>&1 &"])
    wait_until_gone(long_sleep)


def test_stream_hands_over_lines_as_they_come_and_the_code() -> None:
    lines: list[str] = []
    code = process.stream(["sh", "-c", "echo a; echo b >&2; printf c; exit 4"], lines.append, timeout=10)
    assert (code, lines) == (4, ["a", "b", "c"])
