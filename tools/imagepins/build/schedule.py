"""Nodes → builds side by side, within limits, parents first, with another try where the failure allows one."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from threading import Event

from imagepins.build.causes import wait_seconds
from imagepins.build.one import Outcome
from imagepins.build.options import Limits
from imagepins.plan.graph import Node

HEAVY = "heavy"


@dataclass(frozen=True)
class Attempt:
    """One try at a node: not before a time of the monotonic clock, and with nothing beside it where ``alone``."""

    node: Node
    number: int = 1
    not_before: float = 0.0
    alone: bool = False


@dataclass
class Scheduler:
    """Runs ``work`` for each node once its parents are done.

    ``work`` gets the node and an event that is set when everything has to stop. ``retrying`` is told of each further
    try. ``outcomes`` holds what came of each node that was tried; nodes behind a failed parent are not in it.
    """

    work: Callable[[Node, Event], Outcome]
    retrying: Callable[[Node, Outcome, float], None]
    limits: Limits
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    def run(self, nodes: Sequence[Node]) -> Mapping[str, Outcome]:
        """Work off ``nodes``, parents first. On an interrupt running builds are ended before it is passed on."""
        stop = Event()
        waiting = [Attempt(node) for node in nodes]
        running: dict[Future[Outcome], Attempt] = {}
        with ThreadPoolExecutor(max_workers=self.limits.jobs) as pool:
            try:
                while waiting or running:
                    for attempt in self._startable(waiting, list(running.values())):
                        waiting.remove(attempt)
                        running[pool.submit(self.work, attempt.node, stop)] = attempt
                    waiting = self._still_wanted(waiting + self._collect(running))
            except BaseException:
                stop.set()
                raise
        return self.outcomes

    def _startable(self, waiting: list[Attempt], running: list[Attempt]) -> list[Attempt]:
        chosen: list[Attempt] = []
        unfinished = {attempt.node.name for attempt in (*waiting, *running)}
        for attempt in waiting:
            is_ready = attempt.not_before <= time.monotonic() and unfinished.isdisjoint(attempt.node.parents.values())
            if is_ready and self._fits(attempt, [*running, *chosen]):
                chosen.append(attempt)
        return chosen

    def _still_wanted(self, waiting: list[Attempt]) -> list[Attempt]:
        """Leave out what stands behind a failure; all of it unless ``keep_going``."""
        lost = {name for name, outcome in self.outcomes.items() if outcome.cause}
        if lost and not self.limits.keep_going:
            return []
        kept: list[Attempt] = []
        for attempt in waiting:
            if lost.isdisjoint(attempt.node.parents.values()):
                kept.append(attempt)
            else:
                lost.add(attempt.node.name)
        return kept

    def _fits(self, attempt: Attempt, beside: list[Attempt]) -> bool:
        if len(beside) >= self.limits.jobs or any(each.alone for each in beside):
            return False
        if attempt.alone:
            return not beside
        is_heavy = attempt.node.target.weight == HEAVY
        return not is_heavy or sum(each.node.target.weight == HEAVY for each in beside) < self.limits.heavy

    def _collect(self, running: dict[Future[Outcome], Attempt]) -> list[Attempt]:
        """Take in what ended, waiting a little for it; return what shall be tried again."""
        if not running:
            time.sleep(0.1)
            return []
        again: list[Attempt] = []
        for future in wait(running, timeout=0.5, return_when=FIRST_COMPLETED).done:
            attempt = running.pop(future)
            outcome = future.result()
            if outcome.cause and attempt.number <= outcome.cause.retries:
                pause = wait_seconds(outcome.events.final_error, attempt.number)
                self.retrying(attempt.node, outcome, pause)
                later = time.monotonic() + pause
                again.append(replace(attempt, number=attempt.number + 1, not_before=later, alone=outcome.cause.alone))
            else:
                self.outcomes[attempt.node.name] = outcome
        return again
