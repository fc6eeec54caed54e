"""What is built when, and what a failure means for the rest."""

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event, Lock
from types import SimpleNamespace
from typing import Any, cast

import pytest

from imagepins.build.causes import MEMORY, NETWORK, STEP, Cause
from imagepins.build.events import Events
from imagepins.build.one import Outcome
from imagepins.build.options import Limits
from imagepins.build.schedule import Scheduler
from imagepins.errors import BuildFailed, EngineError
from imagepins.plan.graph import Node
from waiting import PATIENCE, wait_for

GOOD = Outcome(Events(), None, 0.0)


def node(name: str, *parents: str, weight: str = "light") -> Node:
    """As much of a node as the scheduler looks at."""
    target = SimpleNamespace(weight=weight)
    return cast("Node", SimpleNamespace(name=name, parents=dict(zip(parents, parents, strict=True)), target=target))


def bad(cause: Cause) -> Outcome:
    """A failure of that class; the wait before another try is none."""
    events = Events()
    events.error_lines.append("ERROR: retry in 0ms")
    return Outcome(events, cause, 0.0)


@dataclass
class Record:
    """Stands in for builds and records what ran beside what.

    Builds named in ``together`` go on once all of them run; one in ``after`` goes on once the build it maps to has an
    outcome.
    """

    answers: dict[str, list[Outcome]] = field(default_factory=dict)
    began: list[str] = field(default_factory=list)
    beside: dict[str, set[str]] = field(default_factory=dict)
    running: set[str] = field(default_factory=set)
    most: int = 0
    lock: Lock = field(default_factory=Lock)
    together: set[str] = field(default_factory=set)
    after: dict[str, str] = field(default_factory=dict)
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    def work(self, built: Node, _stop: Event) -> Outcome:
        """Run for as long as the test needs and give the next answer."""
        with self.lock:
            self.began.append(built.name)
            self.running.add(built.name)
            for name in self.running:
                self.beside.setdefault(name, set()).update(self.running)
            self.most = max(self.most, len(self.running))
        if built.name in self.together:
            wait_for(lambda: self.together <= self.beside[built.name], what=f"all of {self.together} at once")
        if built.name in self.after:
            wait_for(lambda: self.after[built.name] in self.outcomes, what=f"the end of {self.after[built.name]}")
        with self.lock:
            self.running.remove(built.name)
            answers = self.answers.get(built.name, [])
            return answers.pop(0) if answers else GOOD


def run(record: Record, *nodes: Node, **limits: Any) -> dict[str, str]:
    """Names and classes of what was tried."""
    scheduler = Scheduler(record.work, lambda *_: None, Limits(**limits), record.outcomes)
    return {name: outcome.cause.name if outcome.cause else "ok" for name, outcome in scheduler.run(nodes).items()}


def test_children_wait_for_all_their_parents() -> None:
    record = Record()
    run(record, node("a"), node("b"), node("c", "a", "b"))
    assert record.began[-1] == "c"
    assert record.beside["c"] == {"c"}


def test_independent_targets_run_side_by_side_up_to_the_limit() -> None:
    record = Record(together={"0", "1"})
    run(record, *(node(str(n)) for n in range(6)), jobs=2)
    assert record.most == 2
    assert len(record.began) == 6


def test_one_job_means_one_at_a_time() -> None:
    record = Record()
    run(record, *(node(str(n)) for n in range(3)), jobs=1)
    assert all(names == {name} for name, names in record.beside.items())


def test_heavy_targets_run_one_at_a_time_beside_light_ones() -> None:
    record = Record(together={"h1", "l1"})
    run(record, node("h1", weight="heavy"), node("h2", weight="heavy"), node("l1"), node("l2"))
    assert "h2" not in record.beside["h1"]
    assert "l1" in record.beside["h1"]


def test_a_failure_starts_nothing_new_and_what_runs_ends() -> None:
    record = Record({"a": [bad(STEP)]}, together={"a", "b"}, after={"b": "a"})
    found = run(record, node("a"), node("b"), node("c", "a"), node("d", "b"), jobs=2)
    assert found == {"a": "step failed", "b": "ok"}


def test_keep_going_builds_all_but_what_stands_behind_the_failure() -> None:
    record = Record({"b": [bad(STEP)]})
    nodes = (node("a"), node("b"), node("c"), node("d", "b"), node("e", "d"), node("f", "a"))
    found = run(record, *nodes, keep_going=True)
    assert found == {"a": "ok", "b": "step failed", "c": "ok", "f": "ok"}


def test_a_class_that_allows_it_is_tried_again_and_others_are_not() -> None:
    record = Record({"a": [bad(NETWORK), bad(NETWORK), GOOD], "b": [bad(STEP), GOOD]})
    found = run(record, node("a"), node("b"), keep_going=True)
    assert found == {"a": "ok", "b": "step failed"}
    assert record.began.count("a") == 3
    assert record.began.count("b") == 1


def test_tries_end_after_as_many_as_the_class_allows() -> None:
    record = Record({"a": [bad(NETWORK)] * 10})
    assert run(record, node("a")) == {"a": "network"}
    assert record.began.count("a") == 1 + NETWORK.retries


def test_out_of_memory_is_tried_again_with_nothing_beside_it() -> None:
    record = Record({"a": [bad(MEMORY), GOOD]})
    record_of_second: list[set[str]] = []

    def work(built: Node, stop: Event) -> Outcome:
        if built.name == "a" and record.began.count("a") == 1:
            record_of_second.append(set(record.running))
        return record.work(built, stop)

    found = Scheduler(work, lambda *_: None, Limits(jobs=4)).run(
        [node("a"), node("b"), node("c"), node("d"), node("e")]
    )
    assert not found["a"].cause
    assert record_of_second == [set()]


def test_a_retry_is_told_with_its_pause() -> None:
    told: list[tuple[str, float]] = []
    record = Record({"a": [bad(NETWORK)]})
    Scheduler(record.work, lambda built, _, pause: told.append((built.name, pause)), Limits()).run([node("a")])
    assert told == [("a", 0.0)]


def test_an_interrupt_stops_what_runs_and_is_passed_on() -> None:
    record = Record(together={"a", "b"})
    was_stopped: list[bool] = []

    def interrupt(built: Node, stop: Event) -> Outcome:
        outcome = record.work(built, stop)
        if built.name == "b":
            raise KeyboardInterrupt
        was_stopped.append(stop.wait(PATIENCE))
        return outcome

    with pytest.raises(KeyboardInterrupt):
        Scheduler(interrupt, lambda *_: None, Limits()).run([node("a"), node("b")])
    assert was_stopped == [True]


@pytest.mark.parametrize(
    "error", [BuildFailed("a: no definition"), EngineError("a: no bake"), OSError(28, "No space left on device", "f")]
)
def test_what_one_node_runs_into_is_its_failure_and_the_others_go_on(error: Exception) -> None:
    record = Record()

    def work(built: Node, stop: Event) -> Outcome:
        if built.name == "a":
            raise error
        return record.work(built, stop)

    found = Scheduler(work, lambda *_: None, Limits(keep_going=True)).run([node("a"), node("b", "a"), node("c")])
    assert {name: outcome.cause.name if outcome.cause else "ok" for name, outcome in found.items()} == {
        "a": "failed",
        "c": "ok",
    }
    assert found["a"].events.final_error == str(error).removeprefix("a: ")


def test_a_retry_that_will_not_come_leaves_the_failure_before_it() -> None:
    later = bad(NETWORK)
    later.events.error_lines[:] = ["ERROR: retry in 60s"]
    record = Record({"a": [later], "b": [bad(STEP)]})
    told = Event()

    def work(built: Node, stop: Event) -> Outcome:
        if built.name == "b":
            assert told.wait(PATIENCE)
        return record.work(built, stop)

    found = Scheduler(work, lambda *_: told.set(), Limits()).run([node("a"), node("b")])
    assert {name: outcome.cause and outcome.cause.name for name, outcome in found.items()} == {
        "a": "network",
        "b": "step failed",
    }


def test_a_retry_is_not_announced_once_another_target_has_failed() -> None:
    told: list[str] = []
    record = Record({"a": [bad(NETWORK)], "b": [bad(STEP)]}, after={"a": "b"})
    scheduler = Scheduler(record.work, lambda built, *_: told.append(built.name), Limits(), record.outcomes)
    found = scheduler.run([node("a"), node("b")])
    assert told == []
    assert set(found) == {"a", "b"}


def test_an_error_of_the_tool_itself_is_not_swallowed() -> None:
    def broken(built: Node, stop: Event) -> Outcome:
        raise ValueError(built.name)

    failing: Callable[[Node, Event], Outcome] = broken
    with pytest.raises(ValueError, match="a"):
        Scheduler(failing, lambda *_: None, Limits()).run([node("a")])
