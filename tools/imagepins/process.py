"""argv → finished process. The only module that starts processes.

Every child gets its own process group, which is killed as a whole on a time limit, on an interrupt and on any error,
so that nothing outlives the call. Nothing is ever passed through a shell, and standard input is never the terminal.
"""

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread, local

from imagepins.errors import ImagePinsError

GRACE_SECONDS = 5.0
"""How long a group may take to end after SIGTERM before SIGKILL."""

_WATCH_SECONDS = 0.1
_of_thread = local()


@dataclass(frozen=True)
class Completed:
    """A process that ended: its argv, exit code (negative: killed by that signal) and decoded output."""

    argv: tuple[str, ...]
    code: int
    stdout: str
    stderr: str


class ProcessFailed(ImagePinsError):
    """A process could not be started, was stopped, ended with ``code`` other than 0, or ran out of time."""

    def __init__(
        self,
        argv: Sequence[str],
        reason: str,
        *,
        code: int | None = None,
        output: str = "",
        is_timeout: bool = False,
    ) -> None:
        super().__init__(f"{shlex.join(argv)}: {reason}" + (f"\n{output.strip()}" if output.strip() else ""))
        self.code = code
        self.is_timeout = is_timeout
        self.reason = reason
        self.output = output


@contextmanager
def stopped_by(stop: Event) -> Iterator[None]:
    """Every process that this thread starts within ends when another thread sets ``stop``, as if each were given it."""
    before = stop_of_thread()
    _of_thread.stop = stop
    try:
        yield
    finally:
        _of_thread.stop = before


def stop_of_thread() -> Event | None:
    """The event of the innermost ``stopped_by`` that this thread is in."""
    return getattr(_of_thread, "stop", None)


def run(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = 60.0,
    stdin: str | bytes | None = None,
    check: bool = True,
    stop: Event | None = None,
) -> Completed:
    """Run ``argv`` to its end and return its output, decoded as UTF-8 with replacement.

    ``env`` replaces the environment where given; ``timeout`` is in seconds. Raises ProcessFailed when the program is
    missing, when time runs out or another thread sets ``stop``, and, if ``check``, when the exit code is not 0.
    """
    stop = stop or stop_of_thread()
    process = _start(argv, cwd, env, stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE)
    try:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        out, err = _output(process, data, timeout, stop)
    except subprocess.TimeoutExpired:
        raise _ended(argv, timeout, stop) from None
    finally:
        end_group(process)
    done = Completed(tuple(argv), process.returncode, _text(out), _text(err))
    if check and done.code != 0:
        raise ProcessFailed(argv, f"exit code {done.code}", code=done.code, output=done.stderr or done.stdout)
    return done


def _output(
    process: subprocess.Popen[bytes], data: bytes | None, timeout: float, stop: Event | None
) -> tuple[bytes, bytes]:
    deadline = time.monotonic() + timeout
    while True:
        try:
            # In short waits: Python tells of a signal that came just before one once that is over.
            return process.communicate(data, timeout=min(_WATCH_SECONDS, max(0.0, deadline - time.monotonic())))
        except subprocess.TimeoutExpired:
            if (stop and stop.is_set()) or time.monotonic() >= deadline:
                raise
            data = None  # is on its way already


def stream(
    argv: Sequence[str],
    on_line: Callable[[str], None],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float,
    stop: Event | None = None,
) -> int:
    """Run ``argv``, hand each line of its joined stdout and stderr to ``on_line``, and return the exit code.

    ``timeout`` is in seconds; when it has passed, and when another thread sets ``stop``, the whole process group is
    ended. Raises ProcessFailed for both, and when the program is missing.
    """
    stop = stop or stop_of_thread()
    process = _start(argv, cwd, env, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT)
    ended = Event()
    causes: list[ProcessFailed] = []

    def watch() -> None:
        deadline = time.monotonic() + timeout
        while not ended.wait(_WATCH_SECONDS):
            if time.monotonic() > deadline or (stop and stop.is_set()):
                causes.append(_ended(argv, timeout, stop))
                _kill_group(process)
                return

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        assert process.stdout is not None  # noqa: S101 - PIPE was asked for
        for raw in process.stdout:
            on_line(_text(raw).rstrip("\r\n"))
        process.wait()
    finally:
        ended.set()
        watcher.join()
        end_group(process)
    if causes:
        raise causes[0]
    return process.returncode


def _ended(argv: Sequence[str], timeout: float, stop: Event | None) -> ProcessFailed:
    """The error of a process that was ended from here: another thread stopped it, or its time was over."""
    if stop and stop.is_set():
        return ProcessFailed(argv, "stopped")
    return ProcessFailed(argv, f"no end after {timeout:g} s", is_timeout=True)


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End ``process`` and everything in its group, SIGTERM, then SIGKILL after GRACE_SECONDS; close its pipes."""
    _kill_group(process)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe:
            with suppress(BrokenPipeError):
                pipe.close()


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_SECONDS)
    # Children that ignored SIGTERM, or outlived a leader that ended by itself, are still in the group.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _start(
    argv: Sequence[str], cwd: Path | None, env: Mapping[str, str] | None, *, stdin: int, stderr: int = subprocess.PIPE
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            list(argv), cwd=cwd, env=env, stdin=stdin, stdout=subprocess.PIPE, stderr=stderr, start_new_session=True
        )
    except FileNotFoundError as error:
        raise ProcessFailed(argv, f"{error.filename} is not there") from error
    except OSError as error:
        raise ProcessFailed(argv, str(error)) from error


def _text(raw: bytes | None) -> str:
    return (raw or b"").decode(errors="replace")
