"""Locks that end with their process, however that ends: of any open file, and of a directory itself.

That of a directory leaves no file behind and works on a read-only tree.
"""

import errno
import fcntl
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event

from imagepins.errors import UsageError

LOCK_SECONDS = 60.0
"""How long to wait for another run before giving up."""

_POLL_SECONDS = 0.02


def acquire(
    handle: int,
    mode: int,
    timeout: float,
    *,
    on_wait: Callable[[], None] | None = None,
    stop: Event | None = None,
) -> bool:
    """Lock the open file ``handle``; whether that was possible within ``timeout`` seconds and before ``stop`` was set.

    ``mode`` is fcntl.LOCK_EX or LOCK_SH. ``on_wait`` is called once where another holds the lock. Raises OSError where
    the file system knows no locks.
    """
    deadline = time.monotonic() + timeout
    while not _is_acquired(handle, mode):
        if on_wait:
            on_wait()
            on_wait = None
        if time.monotonic() > deadline or (stop and stop.is_set()):
            return False
        time.sleep(_POLL_SECONDS)
    return True


@contextmanager
def locked(home: Path, mode: int, timeout: float) -> Iterator[None]:
    """Hold the lock of the directory ``home``; ``mode`` and ``timeout`` as for ``acquire``.

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
    try:
        is_ours = acquire(handle, mode, timeout)
    except OSError as error:
        raise UsageError(f"cannot lock {home}: {error.strerror}") from error
    if not is_ours:
        raise UsageError(f"{home} is locked by {_holder(handle)} for more than {timeout:g} s; end it or try again")


def _is_acquired(handle: int, mode: int) -> bool:
    try:
        fcntl.flock(handle, mode | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EINTR):
            return False
        raise
    return True


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
