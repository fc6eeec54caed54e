"""Nodes and what engine and registry hold → which of them have to be built."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from imagepins.build.local import Local, look, tag
from imagepins.build.results import PRESENT, Result
from imagepins.engine.usable import require_engine
from imagepins.errors import NetworkError, PinsError
from imagepins.pins.model import PinSet
from imagepins.plan.destination import Destination
from imagepins.plan.graph import Node
from imagepins.registry.answers import Answer, Present, Unknown


@dataclass(frozen=True)
class Found:
    """What is there: in the local engine, and in the registry by node name (not asked: no entry)."""

    local: Local
    registry: Mapping[str, Answer] = field(default_factory=dict)

    def where(self, node: Node, *, push: bool) -> str | None:
        """``local`` or ``registry`` where the node's content is there already; a push looks at the registry alone."""
        if not push and self.local.built(node):
            return "local"
        answer = self.registry.get(node.name)
        return "registry" if isinstance(answer, Present) else None


def choose(
    nodes: Sequence[Node], wanted: Sequence[str], place: Destination, *, push: bool, force: bool
) -> tuple[list[Node], Found]:
    """What has to be built, and what is there.

    Raises EngineError, UsageError for a push to nowhere, NetworkError where a registry's answer stays open.
    """
    for node in nodes if push else ():
        place.refs(node)
    found = find(nodes, place, push=push)
    if not force:
        refuse_unknown(found, nodes)
    return to_build(nodes, wanted, found, push=push, force=force), found


def settle(nodes: Iterable[Node], found: Found, place: Destination, *, push: bool) -> list[Result]:
    """Let the tags of ``nodes``, whose content is there, stand for it."""
    return [_settle(node, found, place, push=push) for node in nodes]


def find(nodes: Sequence[Node], destination: Destination, *, push: bool) -> Found:
    """Ask the local engine, then the registry for what that does not have.

    Raises EngineError where no engine answers, NetworkError where a registry that was asked gave no clear answer.
    """
    if push:
        local = Local({})
    else:
        require_engine()
        local = look(nodes)
    asked = [node for node in nodes if not local.built(node)]
    refs = {node.name: ref for node in asked if (ref := destination.asked_for(node, push=push))}
    if not refs:
        return Found(local)
    from imagepins.build.remote import ask

    answers = ask(refs.values())
    return Found(local, {name: answers[ref] for name, ref in refs.items()})


def refuse_unknown(found: Found, nodes: Iterable[Node]) -> None:
    """Raise NetworkError where the registry left open whether a node's content is there."""
    open_answers = [(node, found.registry[node.name]) for node in nodes if node.name in found.registry]
    lines = [f"{node.name}: {answer.reason}" for node, answer in open_answers if isinstance(answer, Unknown)]
    if lines:
        told = "\n  ".join(lines)
        raise NetworkError(
            f"the registry does not say whether these are there, so nothing is built and nothing skipped:\n  {told}\n"
            "try again later, log in with docker login, or build without looking with --force"
        )


def refuse_incomplete(pinset: PinSet, nodes: Iterable[Node]) -> None:
    """Raise PinsError naming each pin without its immutable id."""
    pins = {pin.name: pin for node in nodes for pin in node.target.all_pins.values() if not pin.is_complete}
    if pins:
        raise PinsError("\n".join(f"{pinset.place(pin.name)}: {pin.name} {pin.gap}" for pin in pins.values()))


def to_build(nodes: Sequence[Node], wanted: Sequence[str], found: Found, *, push: bool, force: bool) -> list[Node]:
    """Wanted nodes that are not there, and their parents that are not there, in build order.

    ``force`` takes all wanted nodes, whether they are there or not.
    """
    by_name = {node.name: node for node in nodes}
    chosen = {name for name in wanted if force or not found.where(by_name[name], push=push)}
    queue = [parent for name in chosen for parent in by_name[name].parents.values()]
    while queue:
        parent = queue.pop()
        if parent not in chosen and not found.where(by_name[parent], push=push):
            chosen.add(parent)
            queue.extend(by_name[parent].parents.values())
    return [node for node in nodes if node.name in chosen]


def _settle(node: Node, found: Found, place: Destination, *, push: bool) -> Result:
    if built := None if push else found.local.built(node):
        for name in found.local.missing_tags(node):
            tag(node.content_tag, name)
        return Result(node, PRESENT, node.content_tag, built.id, built.size)
    ref, answer = place.content_ref(node) or "", found.registry[node.name]
    digest = answer.digest if isinstance(answer, Present) else None
    if push and digest:
        _settle_remote(ref, digest, [each for each in place.refs(node) if each != ref])
    return Result(node, PRESENT, ref, digest)


def _settle_remote(ref: str, digest: str, names: Sequence[str]) -> None:
    from imagepins.build.remote import ask, retag

    answers = ask(names)
    moved = [name for name in names if getattr(answers[name], "digest", None) != digest]
    if unknown := [answer.reason for answer in answers.values() if isinstance(answer, Unknown)]:
        raise NetworkError(f"{ref}: its tags cannot be checked: {unknown[0]}")
    if moved:
        retag(f"{ref}@{digest}", moved)
