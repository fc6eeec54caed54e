"""One function over many things at once, ending at once when the person interrupts."""

import math
import queue
import time
from collections.abc import Callable, Sequence
from threading import Event, Thread
from typing import TypeVar

from imagepins.process import stop_of_thread, stopped_by

AT_ONCE = 16
_WAKE_SECONDS = 0.1
GRACE_SECONDS = 6.0
"""How long an interrupt waits for children of the threads to be ended."""

Item = TypeVar("Item")
Found = TypeVar("Found")
Other = TypeVar("Other")


def both(one: Callable[[], Found], other: Callable[[], Other]) -> tuple[Found, Other]:
    """Results of two functions that run side by side; errors and interrupts as in ``parallel``."""
    first: list[Found] = []
    second: list[Other] = []
    calls: list[Callable[[], None]] = [lambda: first.append(one()), lambda: second.append(other())]
    parallel(lambda call: call(), calls)
    return first[0], second[0]


def parallel(
    function: Callable[[Item], Found], items: Sequence[Item], stop: Event | None = None, *, at_once: int = AT_ONCE
) -> list[Found]:
    """``function`` of every item, in their order. An error is raised once all have ended, with others as its notes.

    On an interrupt ``stop`` is set, which ends the processes of all threads, also of those that a thread runs in
    parallel itself, and nobody waits for other things they do: the threads are daemons, which a pool's are not. Raises
    KeyboardInterrupt where ``stop`` was set before all had begun.
    """
    stop = stop or stop_of_thread() or Event()
    todo: queue.SimpleQueue[int] = queue.SimpleQueue()
    found: dict[int, Found] = {}
    errors: dict[int, BaseException] = {}
    for index in range(len(items)):
        todo.put(index)

    def work(ended: Event) -> None:
        try:
            with stopped_by(stop):
                while not stop.is_set():
                    index = todo.get_nowait()
                    try:
                        found[index] = function(items[index])
                    except Exception as error:  # noqa: BLE001 - raised in the caller's thread
                        errors[index] = error
        except queue.Empty:
            pass
        finally:
            ended.set()

    # Not by Thread.join, which takes a thread for ended when an interrupt comes in between (python/cpython#90882).
    all_ended: list[Event] = []
    try:
        for _ in range(min(at_once, len(items))):
            all_ended.append(Event())
            Thread(target=work, args=all_ended[-1:], daemon=True).start()
        _wait(all_ended)
    except BaseException:
        stop.set()
        _wait(all_ended, GRACE_SECONDS)
        raise
    if errors:
        raise _joined([errors[index] for index in sorted(errors)])
    if len(found) < len(items):
        raise KeyboardInterrupt
    return [found[index] for index in range(len(items))]


def _joined(errors: Sequence[BaseException]) -> BaseException:
    first, *others = errors
    for other in others:
        first.add_note(str(other))
    return first


def _wait(all_ended: Sequence[Event], seconds: float = math.inf) -> None:
    deadline = time.monotonic() + seconds
    for ended in all_ended:
        # In short waits: Python tells of a signal that another thread got, or that came just before a wait, only once
        # the wait is over.
        while not ended.wait(_WAKE_SECONDS) and time.monotonic() < deadline:
            pass
