"""A process of its own that makes one container, hands over what it collected, and removes the container.

It is forked before anything is loaded, so that importing the engine's SDK (0.1 s) runs beside reading pins.yaml. And it
outlives its parent: when that is interrupted or killed, the pipe between them closes, and the container is removed.
"""

from __future__ import annotations

import json
import os
import select
import signal
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn, Self

from imagepins.errors import EngineError, ImagePinsError, RefError

if TYPE_CHECKING:
    from docker import APIClient

    from imagepins.verify.container import Run


REMOVAL_SECONDS = 60.0
"""How long a run that has answered may take to remove its container."""

INTERRUPTED_SECONDS = 5.0
"""The same for one that has not. A container that is still there then is a leftover, which the next run removes."""

SILENCE_SECONDS = 5.0
"""After how long without a container the engine is asked whether it answers at all."""


class Keeper:
    """The process. Use as a context manager: leaving it waits until the container is gone."""

    def __init__(self) -> None:
        from_parent, self._to_child = os.pipe()
        self._from_child, to_parent = os.pipe()
        with warnings.catch_warnings():
            # The child of a process with threads, as pytest-xdist makes them, uses none of what they may have locked.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._pid = os.fork()
        if self._pid == 0:
            os.close(self._to_child)
            os.close(self._from_child)
            _be_keeper(from_parent, to_parent)
        os.close(from_parent)
        os.close(to_parent)
        self._has_run = self._has_answered = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def tell(self, run: dict[str, Any]) -> None:
        """Tell what to run: the fields of ``container.Run`` without the source, which the keeper reads itself."""
        self._has_run = True
        # A keeper that is gone already has said why.
        with suppress(BrokenPipeError):
            _write(self._to_child, run)

    def answer(self) -> dict[str, Any]:
        """The document of the run. Raises NoAnswer, RefError (no such image) or EngineError."""
        answer = _read(self._from_child)
        self._has_answered = True
        if answer is None:
            raise EngineError("the process that speaks to the engine died; run the command again")
        if "error" in answer:
            raise _error_of(answer)
        document: dict[str, Any] = answer["document"]
        return document

    def close(self) -> None:
        """End the run, if it is still on, and wait until its container is removed.

        What takes longer than that may, as with an engine that hangs, is killed. An interrupt shortens the wait.
        """
        if self._pid < 0:
            return
        pid, self._pid = self._pid, -1
        os.close(self._to_child)
        if not self._has_run:
            # It has made nothing yet, so there is nothing to wait for.
            os.kill(pid, signal.SIGKILL)
        try:
            _wait_for_end(self._from_child, REMOVAL_SECONDS if self._has_answered else INTERRUPTED_SECONDS)
        except KeyboardInterrupt:
            _wait_for_end(self._from_child, INTERRUPTED_SECONDS)
            raise
        finally:
            os.kill(pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)
            os.close(self._from_child)


def _wait_for_end(descriptor: int, seconds: float) -> None:
    """Wait until the other side of a pipe is closed, as the end of its process closes it."""
    deadline = time.monotonic() + seconds
    while select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))[0]:
        if not os.read(descriptor, 1 << 20):
            return


def _be_keeper(read: int, write: int) -> NoReturn:
    """The child's whole life."""
    code = 1
    try:
        # The terminal sends its interrupt to the whole group; here only the pipe's end counts.
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        _keep(read, lambda answer: _write(write, answer))
        code = 0
    finally:
        os._exit(code)


def _keep(read: int, tell: Callable[[dict[str, Any]], None]) -> None:
    from imagepins.verify.client import connect, translate
    from imagepins.verify.container import Run
    from imagepins.verify.source import collector_source

    run: Run | None = None
    try:
        client = connect()
        asked = _read(read)
        if asked is None:
            return
        run = Run(source=collector_source(), **asked)
        created = _watch_silence(tell)
        _observe(client, run, lambda document: tell({"document": document}), _ended(read), created)
    except BaseException as error:  # noqa: BLE001 - told to the parent, which raises it
        translated = translate(error, run.ref if run else "")
        with suppress(BrokenPipeError):
            tell(_plain(translated))


def _watch_silence(tell: Callable[[dict[str, Any]], None]) -> threading.Event:
    """End this process where the engine turns out to hang, until the event that is given back is set."""
    created = threading.Event()

    def watch() -> None:
        from imagepins.engine.usable import find_problem

        while not created.wait(SILENCE_SECONDS):
            problem = find_problem()
            if problem and not created.is_set():
                with suppress(BrokenPipeError):
                    tell(_plain(EngineError(problem.text)))
                # The other thread waits for the engine, and nothing can wake it.
                os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    return created


def _observe(
    client: APIClient,
    run: Run,
    tell: Callable[[dict[str, Any]], None],
    ended: threading.Event,
    created: threading.Event,
) -> None:
    """Run, and run again where the engine refused for a reason that need not end it."""
    from imagepins.verify.client import connect, has_no_device, is_too_new
    from imagepins.verify.container import observe

    try:
        observe(client, run, tell, ended, created)
    except Exception as error:
        if is_too_new(error):
            return _observe(connect("auto"), run, tell, ended, created)
        if has_no_device(error) and run.devices:
            return _observe(client, replace(run, devices=()), tell, ended, created)
        raise


def _ended(read: int) -> threading.Event:
    """An event that is set when the parent closes its end or dies."""
    event = threading.Event()

    def watch() -> None:
        os.read(read, 1)
        event.set()

    threading.Thread(target=watch, daemon=True).start()
    return event


def _plain(error: BaseException) -> dict[str, Any]:
    kind = type(error).__name__ if isinstance(error, ImagePinsError) else "EngineError"
    text = str(error) if isinstance(error, ImagePinsError) else f"{type(error).__name__}: {error}"
    return {"error": kind, "message": text, "outcome": getattr(error, "outcome", "")}


def _error_of(answer: dict[str, Any]) -> ImagePinsError:
    from imagepins.verify.outcome import NoAnswer

    if answer["error"] == "NoAnswer":
        return NoAnswer(answer["outcome"], answer["message"])
    return RefError(answer["message"]) if answer["error"] == "RefError" else EngineError(answer["message"])


def _write(descriptor: int, value: dict[str, Any]) -> None:
    data = json.dumps(value).encode() + b"\n"
    while data:
        data = data[os.write(descriptor, data) :]


def _read(descriptor: int) -> dict[str, Any] | None:
    """One line of JSON; None at the end of the pipe."""
    data = bytearray()
    while not data.endswith(b"\n"):
        block = os.read(descriptor, 1 << 20)
        if not block:
            return None
        data += block
    value: dict[str, Any] = json.loads(data)
    return value
