"""Work that may hang or crash → its answer, from a child process with a time limit of its own.

The standard modules for this (subprocess, multiprocessing) take longer to import than everything done here.
"""

from __future__ import annotations

import json
import os
import select
import signal
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

ANSWER_LIMIT = 4_000_000


class Child:
    """A running child; ``read`` is where its answer comes from, ``deadline`` when its time is over."""

    def __init__(self, label: dict[str, Any], pid: int, read: int, seconds: float) -> None:
        self.label, self.pid, self.read = label, pid, read
        self.seconds, self.deadline = seconds, time.monotonic() + seconds
        self.answer = b""
        self.is_late = False


def call(label: dict[str, Any], work: Callable[[], Any], seconds: float) -> Child:
    """Fork, and answer with what ``work`` returns."""
    read, write = os.pipe()
    pid = os.fork()
    if pid:
        os.close(write)
        return Child(label, pid, read, seconds)
    code = 1
    try:
        _become_quiet(write)
        _send(write, work())
        code = 0
    except BaseException as error:  # noqa: BLE001 - whatever it is, it must not run on as a second collector
        _send(write, {"error": describe(error)})
    finally:
        os._exit(code)


def execute(label: dict[str, Any], argv: Sequence[str], seconds: float, env: dict[str, str] | None = None) -> Child:
    """Fork and run ``argv``; its answer is what it writes to the descriptor that ``{fd}`` in ``argv`` stands for."""
    read, write = os.pipe()
    pid = os.fork()
    if pid:
        os.close(write)
        return Child(label, pid, read, seconds)
    try:
        _become_quiet(write)
        if "{fd}" in argv:
            os.set_inheritable(write, True)
        else:
            os.dup2(write, 1)
        os.execvpe(argv[0], [str(write) if part == "{fd}" else part for part in argv], env or dict(os.environ))
    except BaseException as error:  # noqa: BLE001 - as above
        _send(write, {"error": describe(error)})
    finally:
        os._exit(127)


def gather(children: list[Child]) -> None:
    """Wait until every child has answered, ended or run out of time; end them all when the collector's own is over."""
    try:
        _wait_for_all(children)
    except BaseException:
        for child in children:
            _end_group(child.pid)
        raise
    for child in children:
        os.close(child.read)


def _wait_for_all(children: list[Child]) -> None:
    waiting = {child.read: child for child in children}
    while waiting:
        left = max(0.0, min(child.deadline for child in waiting.values()) - time.monotonic())
        ready, _, _ = select.select(list(waiting), [], [], left)
        for read in ready:
            block = os.read(read, 65536)
            waiting[read].answer += block
            if not block or len(waiting[read].answer) > ANSWER_LIMIT:
                del waiting[read]
        now = time.monotonic()
        for child in [each for each in waiting.values() if each.deadline <= now]:
            child.is_late = True
            del waiting[child.read]


def _end_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except OSError:
        pass


def result(child: Child) -> dict[str, Any]:
    """End a gathered child and return its label with the answer, or with ``error``."""
    status = 0
    if not child.is_late:
        status = _wait_a_moment(child.pid)
    _end_group(child.pid)
    if child.is_late or status < 0:
        os.waitpid(child.pid, 0)
    answer = _decode(child, status)
    return dict(child.label, **answer)


def describe(error: BaseException) -> str:
    """Type and text of an error, in one line."""
    return f"{type(error).__name__}: {error}".replace("\n", " ")[:500]


def _become_quiet(write: int) -> None:
    os.setsid()
    signal.alarm(0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    null = os.open("/dev/null", os.O_RDWR)
    for standard in (0, 1, 2):
        if standard != write:
            os.dup2(null, standard)


def _send(write: int, value: Any) -> None:
    data = json.dumps(value).encode()
    while data:
        data = data[os.write(write, data) :]


def _wait_a_moment(pid: int) -> int:
    # The pipe closes a moment before the process ends, unless it closed it on purpose and lives on.
    for _ in range(200):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status
        time.sleep(0.002)
    return -1


def _decode(child: Child, status: int) -> dict[str, Any]:
    if child.is_late:
        return {"error": f"no end after {child.seconds:g} s", "is_late": True}
    try:
        # A child of another program may have written before or after its answer.
        value = json.loads(child.answer.decode("utf-8", "backslashreplace"))
        if isinstance(value, dict):
            return value
    except ValueError:
        pass
    if status > 0 and os.WIFSIGNALED(status):
        return {"error": f"killed by signal {os.WTERMSIG(status)}"}
    return {"error": f"no answer (exit code {os.WEXITSTATUS(status) if status > 0 else 0})"}
