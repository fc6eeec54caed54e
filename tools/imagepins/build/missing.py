"""Nodes, revision and registry → the nodes that a CI run has to build."""

from collections.abc import Sequence
from pathlib import Path

from imagepins.build.choose import Found, refuse_unknown
from imagepins.build.local import Local
from imagepins.plan.destination import Destination
from imagepins.plan.graph import Node, incomplete_pins
from imagepins.plan.matrix import changed
from imagepins.plan.since import hashes_at
from imagepins.registry.answers import Absent


def to_list(
    root: Path, pins_name: str, nodes: Sequence[Node], wanted: Sequence[str], place: Destination, *, since: str | None
) -> list[Node]:
    """Wanted nodes that changed since a revision or that the registry lacks; all of them where neither is given.

    A parent that the registry lacks is added, as its child could not be built without it. Raises RefError for an
    unknown revision, NetworkError where the registry's answer stays open.
    """
    chosen = [node for node in nodes if node.name in wanted]
    refs = {node.name: ref for node in nodes if (ref := place.asked_for(node))}
    if since is None and not refs:
        return chosen
    before = hashes_at(root, pins_name, since) if since is not None else {node.name: node.content for node in chosen}
    moved = {node.name for node in changed(chosen, before or {})}
    absent = _absent(nodes, refs)
    listed = {node.name for node in chosen if node.name in moved | absent}
    queue = list(listed)
    by_name = {node.name: node for node in nodes}
    while queue:
        for parent in by_name[queue.pop()].parents.values():
            if parent in absent and parent not in listed:
                listed.add(parent)
                queue.append(parent)
    return [node for node in nodes if node.name in listed]


def buildable(nodes: Sequence[Node], listed: Sequence[Node]) -> tuple[list[Node], list[str]]:
    """Of ``listed``, what can be built, and a line for each that cannot, as a pin of it or below has no id yet."""
    by_name = {node.name: node for node in nodes}
    good: list[Node] = []
    refused: list[str] = []
    for node in listed:
        if pins := incomplete_pins(node, by_name):
            refused.append(f"{node.name} is left out: {', '.join(pins)} not known yet, see tools/bump_pin")
        else:
            good.append(node)
    return good, refused


def _absent(nodes: Sequence[Node], refs: dict[str, str]) -> set[str]:
    if not refs:
        return set()
    from imagepins.build.remote import ask

    answers = ask(refs.values())
    found = Found(Local({}), {name: answers[ref] for name, ref in refs.items()})
    refuse_unknown(found, nodes)
    return {name for name, answer in found.registry.items() if isinstance(answer, Absent)}
