"""A lock on a directory itself: it leaves no file behind, ends with its process, and works on a read-only tree."""

import errno
import fcntl
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from imagepins.errors import UsageError

LOCK_SECONDS = 60.0
"""How long to wait for another run before giving up."""

_POLL_SECONDS = 0.05


@contextmanager
def locked(home: Path, mode: int, timeout: float) -> Iterator[None]:
    """Hold the lock of ``home``; ``mode`` is fcntl.LOCK_EX or LOCK_SH, ``timeout`` in seconds.

    Raises UsageError when another process keeps it for longer, naming that process.
    """
    try:
        handle = os.open(home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise UsageError(f"cannot open {home}: {error.strerror}") from error
    try:
        _acquire(handle, home, mode, timeout)
        yield
    finally:
        os.close(handle)


def _acquire(handle: int, home: Path, mode: int, timeout: float) -> None:
    deadline = time.monotonic() + timeout
    while True:
        try:
            fcntl.flock(handle, mode | fcntl.LOCK_NB)
            return
        except OSError as error:
            if error.errno not in (errno.EWOULDBLOCK, errno.EINTR):
                raise UsageError(f"cannot lock {home}: {error.strerror}") from error
        if time.monotonic() > deadline:
            raise UsageError(f"{home} is locked by {_holder(handle)} for more than {timeout:g} s; end it or try again")
        time.sleep(_POLL_SECONDS)


def _holder(handle: int) -> str:
    """Who holds the flock on ``handle``, as far as /proc/locks tells."""
    inode = os.fstat(handle).st_ino
    with suppress(OSError):
        for line in Path("/proc/locks").read_text().splitlines():
            found = re.search(rf"FLOCK\s+\S+\s+\S+\s+(\d+)\s+\S+:{inode}\s", line)
            if found:
                command = Path(f"/proc/{found[1]}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                return f"process {found[1]} ({command.strip()})"
    return "another process"
