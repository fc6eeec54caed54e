"""Processes end with everything they started."""

import sys
import time
from pathlib import Path

import pytest

from imagepins import process
from imagepins.process import ProcessFailed


def test_output_and_code_are_returned() -> None:
    done = process.run(["sh", "-c", "echo out; echo err >&2; exit 3"], check=False)
    assert (done.code, done.stdout, done.stderr) == (3, "out\n", "err\n")


def test_failure_names_command_code_and_output() -> None:
    with pytest.raises(ProcessFailed, match=r"sh -c 'echo why >&2; exit 3': exit code 3\nwhy"):
        process.run(["sh", "-c", "echo why >&2; exit 3"])


def test_missing_program_is_told() -> None:
    with pytest.raises(ProcessFailed, match="no-such-program is not there"):
        process.run(["no-such-program"])


def test_stdin_is_never_inherited() -> None:
    assert process.run(["cat"]).stdout == ""
    assert process.run(["cat"], stdin="text").stdout == "text"


def test_invalid_utf8_does_not_stop_the_reader() -> None:
    assert process.run([sys.executable, "-c", r"import os; os.write(1, b'a\xffb')"]).stdout == "a\ufffdb"


@pytest.mark.parametrize("how", ["run", "stream"])
def test_time_limit_ends_the_whole_group(tmp_path: Path, how: str) -> None:
    argv = ["sh", "-c", f"(sleep 2; touch {tmp_path}/late) & sleep 60"]
    with pytest.raises(ProcessFailed, match=r"no end after 0\.2 s"):
        process.run(argv, timeout=0.2) if how == "run" else process.stream(argv, print, timeout=0.2)
    time.sleep(2.2)
    assert not (tmp_path / "late").exists()


def test_child_left_behind_by_a_finished_process_is_ended(tmp_path: Path) -> None:
    process.run(["sh", "-c", f"(sleep 1; touch {tmp_path}/late) >/dev/null 2>&1 &"])
    time.sleep(1.3)
    assert not (tmp_path / "late").exists()


def test_stream_hands_over_lines_as_they_come_and_the_code() -> None:
    lines: list[str] = []
    code = process.stream(["sh", "-c", "echo a; echo b >&2; printf c; exit 4"], lines.append, timeout=10)
    assert (code, lines) == (4, ["a", "b", "c"])
