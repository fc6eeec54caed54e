"""One function over many things at once, ending at once when the person interrupts."""

import queue
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
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

    def work() -> None:
        with suppress(queue.Empty):
            while not stop.is_set():
                index = todo.get_nowait()
                try:
                    found[index] = function(items[index])
                except Exception as error:  # noqa: BLE001 - raised in the caller's thread
                    errors.append(error)

    threads = [Thread(target=work, daemon=True) for _ in range(min(AT_ONCE, len(items)))]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    except BaseException:
        stop.set()
        _wait_a_little(threads)
        raise
    if errors:
        raise errors[0]
    return [found[index] for index in range(len(items))]


def _wait_a_little(threads: list[Thread]) -> None:
    deadline = time.monotonic() + GRACE_SECONDS
    for thread in threads:
        if thread.ident is not None:
            thread.join(max(0.0, deadline - time.monotonic()))
