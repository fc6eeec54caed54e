"""Name → a lock that one run on this machine holds at a time."""

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from imagepins.engine.progress import Say
from imagepins.errors import EngineError

WAIT_SECONDS = 900.0
_POLL_SECONDS = 0.1


@contextmanager
def only_one(name: str, say: Say, *, directory: Path | None = None, timeout: float = WAIT_SECONDS) -> Iterator[None]:
    """Hold the lock ``name``; wait at most ``timeout`` seconds for another run that holds it.

    The kernel drops the lock with its holder, however that ends. The file stays: removing it would let two runs hold
    locks on two files of one name. Raises EngineError when the wait is over.
    """
    path = (directory or _directory()) / f"imagepins-{name}-{os.getuid()}.lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        _acquire(descriptor, path, say, timeout)
        yield
    finally:
        os.close(descriptor)


def _acquire(descriptor: int, path: Path, say: Say, timeout: float) -> None:
    deadline = time.monotonic() + timeout
    told = False
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise EngineError(f"another run has held {path} for {timeout:g} s; end it and try again") from None
            if not told:
                say("another run is at it, waiting for it to end")
                told = True
            time.sleep(_POLL_SECONDS)
        else:
            return


def _directory() -> Path:
    shared = Path("/run/lock")
    return shared if os.access(shared, os.W_OK) else Path(tempfile.gettempdir())
