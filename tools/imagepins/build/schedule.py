"""Nodes → builds side by side, within limits, parents first, with another try where the failure allows one."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from threading import Event

from imagepins.build.causes import wait_seconds
from imagepins.build.one import Outcome, failed
from imagepins.build.options import Limits
from imagepins.errors import BuildFailed, EngineError
from imagepins.plan.graph import Node
from imagepins.process import stopped_by

HEAVY = "heavy"


@dataclass(frozen=True)
class Attempt:
    """One try at a node: not before a time of the monotonic clock, and with nothing beside it where ``alone``.

    ``last`` is what came of the try before it.
    """

    node: Node
    number: int = 1
    not_before: float = 0.0
    alone: bool = False
    last: Outcome | None = None


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
                        running[pool.submit(self._work, attempt.node, stop)] = attempt
                    waiting = self._still_wanted(waiting + self._collect(running))
            except BaseException:
                stop.set()
                raise
        return self.outcomes

    def _work(self, node: Node, stop: Event) -> Outcome:
        with stopped_by(stop):
            return self.work(node, stop)

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
            # A try that will not come leaves the failure before it as what came of the node.
            self.outcomes.update({each.node.name: each.last for each in waiting if each.last})
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
        ended = [
            (running.pop(future), future) for future in wait(running, timeout=0.5, return_when=FIRST_COMPLETED).done
        ]
        tries = [(attempt, _outcome(attempt.node, future)) for attempt, future in ended]
        final = {attempt.node.name: outcome for attempt, outcome in tries if not _may_retry(attempt, outcome)}
        self.outcomes.update(final)
        return [self._next(attempt, outcome) for attempt, outcome in tries if attempt.node.name not in final]

    def _next(self, attempt: Attempt, outcome: Outcome) -> Attempt:
        """The try after ``outcome``, announced if it will come."""
        pause = wait_seconds(outcome.events.final_error, attempt.number)
        if self.limits.keep_going or not any(each.cause for each in self.outcomes.values()):
            self.retrying(attempt.node, outcome, pause)
        alone = outcome.cause is not None and outcome.cause.alone
        return Attempt(attempt.node, attempt.number + 1, time.monotonic() + pause, alone, outcome)


def _outcome(node: Node, future: Future[Outcome]) -> Outcome:
    """What came of a try; what one node ran into is told as its failure, and not as the end of all."""
    try:
        return future.result()
    except (BuildFailed, EngineError, OSError) as error:
        return failed(node, error)


def _may_retry(attempt: Attempt, outcome: Outcome) -> bool:
    return outcome.cause is not None and attempt.number <= outcome.cause.retries
