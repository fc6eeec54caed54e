"""Waiting for a condition: as short as it can be, and long enough for the busiest machine."""

import time
from collections.abc import Callable
from pathlib import Path

PATIENCE = 120.0
"""Seconds after which what was waited for is taken for broken; only a test that fails takes that long."""


def wait_for(condition: Callable[[], object], *, what: str = "", seconds: float = PATIENCE) -> None:
    """Return once the condition holds. Raises AssertionError, which tells ``what``, after ``seconds``."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what or 'it'}"
        time.sleep(0.02)


def is_running(pid: int | str) -> bool:
    """Whether a process runs; one that ended and that nobody has asked for yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def pids_in(file: Path) -> list[str]:
    """Process numbers, one a line, that programs have written to a file so far; half a line does not count."""
    return file.read_text().rpartition("\n")[0].split() if file.exists() else []
