"""One function over many things at once, ending at once when the person interrupts."""

import queue
import time
from collections.abc import Callable, Sequence
from threading import Event, Thread
from typing import TypeVar

AT_ONCE = 16
GRACE_SECONDS = 6.0
"""How long an interrupt waits for children of the threads to be ended."""

Item = TypeVar("Item")
Found = TypeVar("Found")


def parallel(function: Callable[[Item], Found], items: Sequence[Item], stop: Event) -> list[Found]:
    """``function`` of every item, in their order. An error of one is raised once all have ended.

    On an interrupt ``stop`` is set for those who watch it, and nobody waits for the others: the threads are daemons,
    which a pool's are not.
    """
    todo: queue.SimpleQueue[int] = queue.SimpleQueue()
    found: dict[int, Found] = {}
    errors: list[BaseException] = []
    for index in range(len(items)):
        todo.put(index)

    def work(ended: Event) -> None:
        try:
            while not stop.is_set():
                index = todo.get_nowait()
                try:
                    found[index] = function(items[index])
                except Exception as error:  # noqa: BLE001 - raised in the caller's thread
                    errors.append(error)
        except queue.Empty:
            pass
        finally:
            ended.set()

    # Not by Thread.join, which takes a thread for ended when an interrupt comes in between (python/cpython#90882).
    all_ended: list[Event] = []
    try:
        for _ in range(min(AT_ONCE, len(items))):
            all_ended.append(Event())
            Thread(target=work, args=all_ended[-1:], daemon=True).start()
        for ended in all_ended:
            ended.wait()
    except BaseException:
        stop.set()
        _wait_a_little(all_ended)
        raise
    if errors:
        raise errors[0]
    return [found[index] for index in range(len(items))]


def _wait_a_little(all_ended: list[Event]) -> None:
    deadline = time.monotonic() + GRACE_SECONDS
    for ended in all_ended:
        ended.wait(max(0.0, deadline - time.monotonic()))
