"""Nodes and options → built images: what is there is skipped, the rest built, told and remembered."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event

from imagepins.build import local as local_images
from imagepins.build.builder import Builder, check_builder
from imagepins.build.display import Display, display
from imagepins.build.failure import describe_failure
from imagepins.build.labels import read_source
from imagepins.build.local import Local
from imagepins.build.one import Outcome, Settings, bake_name, build_one
from imagepins.build.schedule import Limits, Scheduler
from imagepins.build.secrets import build_secrets
from imagepins.build.state import LastBuild, write_state
from imagepins.build.workspace import Workspace
from imagepins.errors import PinsError
from imagepins.pins.model import PinSet, Target
from imagepins.plan.graph import Node, ancestors


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the user asked of a build run. ``time_limit`` is in seconds and for one target."""

    builder: str | None = None
    push: bool = False
    force: bool = False
    no_cache: bool = False
    network: str = ""
    attest: tuple[str, ...] = ()
    time_limit: float = 6 * 3600.0
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True)
class Result:
    """What came of one target: ``present``, ``built``, ``failed`` or ``skipped``, and the message of a failure."""

    node: Node
    state: str
    outcome: Outcome | None = None
    message: str = ""


def refuse_incomplete(pinset: PinSet, targets: Iterable[Target]) -> None:
    """Raise PinsError naming each pin without its immutable id."""
    pins = {pin.name: pin for target in targets for pin in target.all_pins.values() if not pin.is_complete}
    missing = {"git": "commit", "image": "digest", "url": "sha256"}
    if pins:
        lines = [
            f"{pinset.place(pin.name)}: {pin.name} has no {missing.get(pin.kind, 'version')} yet; "
            f"run tools/bump_pin {pin.name}"
            for pin in pins.values()
        ]
        raise PinsError("\n".join(lines))


def build(pinset: PinSet, root: Path, nodes: Sequence[Node], wanted: Sequence[str], options: Options) -> list[Result]:
    """Build ``wanted`` of ``nodes`` and such parents as are not there. ``nodes`` holds all of them, parents first."""
    local = local_images.look(nodes)
    by_name = {node.name: node for node in nodes}
    todo = _to_build(by_name, wanted, local, force=options.force)
    for node in nodes:
        if node not in todo:
            for tag in local.missing_tags(node):
                local_images.tag(node.content_tag, tag)
    present = [Result(node, "present") for node in nodes if node.name in wanted and node not in todo]
    if not todo:
        return present
    refuse_incomplete(pinset, [node.target for node in todo])
    return [*present, *_build_all(pinset, root, todo, by_name, local, options)]


def _to_build(by_name: Mapping[str, Node], wanted: Sequence[str], local: Local, *, force: bool) -> list[Node]:
    """Wanted nodes that are not there, and parents of those that are not there, parents first."""
    chosen = {name for name in wanted if force or not local.built(by_name[name])}
    for name in list(chosen):
        queue = list(by_name[name].parents.values())
        while queue:
            parent = queue.pop()
            if not local.built(by_name[parent]):
                chosen.add(parent)
                queue.extend(by_name[parent].parents.values())
    return [node for node in by_name.values() if node.name in chosen]


def _build_all(
    pinset: PinSet, root: Path, todo: Sequence[Node], by_name: Mapping[str, Node], local: Local, options: Options
) -> Iterator[Result]:
    builder = check_builder(options.builder)
    with build_secrets(pinset.mirrors) as secrets, display() as shown:
        settings = Settings(
            workspace=Workspace(root / "build"),
            source=read_source(root, pinset.path),
            builder=builder,
            secrets=secrets,
            network=options.network,
            push=options.push,
            no_cache=options.no_cache,
            attest=options.attest,
            time_limit=options.time_limit,
        )
        run = _Run(pinset, root, todo, by_name, local, settings, shown)
        outcomes = Scheduler(run.work, run.retrying, options.limits).run(todo)
    write_state(root / "build" / "state.json", run.remembered)
    for node in todo:
        outcome = outcomes.get(node.name)
        if outcome is None:
            yield Result(node, "skipped", message="not built after a failure")
        elif outcome.cause:
            log = settings.workspace.log(node)
            message = describe_failure(pinset, root, node, outcome.events, outcome.cause, log)
            yield Result(node, "failed", outcome, message)
        else:
            yield Result(node, "built", outcome)


@dataclass
class _Run:
    pinset: PinSet
    root: Path
    todo: Sequence[Node]
    by_name: Mapping[str, Node]
    local: Local
    settings: Settings
    shown: Display
    remembered: dict[str, LastBuild] = field(default_factory=dict)
    references: dict[str, str] = field(default_factory=dict)

    def work(self, node: Node, stop: Event) -> Outcome:
        """Build one node whose parents are there."""
        self.shown.started(node.name)
        linked: dict[str, Node] = {}
        parents: dict[str, str] = {}
        for parent in ancestors(node, self.by_name):
            reference = self._reference(parent)
            parents[parent.name] = reference or f"target:{bake_name(parent)}"
            linked |= {} if reference else {parent.name: parent}
        outcome = build_one(
            node,
            self.settings,
            linked,
            parents,
            on_event=lambda events: self.shown.progress(node.name, events),
            stop=stop,
        )
        self._remember(node, outcome)
        return outcome

    def retrying(self, node: Node, outcome: Outcome, pause: float) -> None:
        """Say why there is another try."""
        cause = outcome.cause.name if outcome.cause else ""
        self.shown.ended(node.name, f"{cause}: {outcome.events.final_error.splitlines()[0]}; again in {pause:g} s")

    def _reference(self, parent: Node) -> str | None:
        """What stands for a parent that is there; None where the builder has to make it from its cache."""
        if parent.name in self.references:
            return self.references[parent.name]
        return f"docker-image://{parent.content_tag}" if self.settings.builder.sees_local_images else None

    def _remember(self, node: Node, outcome: Outcome) -> None:
        if outcome.cause:
            self.shown.ended(node.name, f"failed after {outcome.seconds:.1f} s")
            return
        digest = outcome.metadata.get("containerimage.digest")
        hits, steps = outcome.events.cache_hits
        self.remembered[node.name] = LastBuild(round(outcome.seconds, 1), None, digest)
        self.shown.ended(node.name, f"built in {outcome.seconds:.1f} s, {hits} of {steps} steps cached")
