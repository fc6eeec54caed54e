"""Name → a lock that one run on this machine holds at a time."""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from imagepins.dirlock import acquire
from imagepins.engine.progress import Say
from imagepins.errors import UsageError

WAIT_SECONDS = 900.0


@contextmanager
def only_one(name: str, say: Say, *, directory: Path | None = None, timeout: float = WAIT_SECONDS) -> Iterator[None]:
    """Hold the lock ``name``; wait at most ``timeout`` seconds for another run that holds it.

    The kernel drops the lock with its holder, however that ends. The file stays: removing it would let two runs hold
    locks on two files of one name. Raises UsageError when the wait is over.
    """
    path = (directory or _directory()) / f"imagepins-{name}-{os.getuid()}.lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        waiting = partial(say, "another run is at it, waiting for it to end")
        if not acquire(descriptor, fcntl.LOCK_EX, timeout, on_wait=waiting):
            raise UsageError(f"another run has held {path} for {timeout:g} s; end it and try again")
        yield
    finally:
        os.close(descriptor)


def _directory() -> Path:
    shared = Path("/run/lock")
    return shared if os.access(shared, os.W_OK) else Path(tempfile.gettempdir())
