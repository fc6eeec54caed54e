"""Nodes and what is there → what a build would do, and why."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from imagepins.build.choose import Found
from imagepins.build.local import Local, look
from imagepins.build.state import LastBuild, read_state
from imagepins.columns import aligned
from imagepins.errors import EngineError
from imagepins.labels import INPUTS
from imagepins.plan.content import changed_inputs
from imagepins.plan.destination import Destination
from imagepins.plan.graph import Node, incomplete_pins
from imagepins.registry.answers import Absent, Answer, Present, Unknown


@dataclass(frozen=True)
class Forecast:
    """What a build would do with one target. ``local`` and ``registry`` are present, absent, unknown or not asked.

    ``is_built`` tells whether a build would build it; None where that is not known. ``incomplete`` names pins without
    an immutable id, for which a build of it would be refused.
    """

    node: Node
    order: int
    is_wanted: bool
    local: str
    registry: str
    is_built: bool | None
    why: str
    moved: tuple[str, ...]
    last: LastBuild | None
    incomplete: tuple[str, ...] = ()


def forecast(
    nodes: Sequence[Node], wanted: Sequence[str], place: Destination, state: Path, *, explain: bool
) -> list[Forecast]:
    """What a build of ``wanted`` would do, in its order. Neither engine nor registry has to answer."""
    local, is_silent = _local(nodes)
    refs = {node.name: ref for node in nodes if (ref := place.asked_for(node))}
    answers: dict[str, Answer] = {}
    if refs:
        from imagepins.build.remote import ask

        replies = ask(refs.values())
        answers = {name: replies[ref] for name, ref in refs.items()}
    found = Found(local, answers)
    state_before = read_state(state)
    needed = _needed(nodes, wanted, found)
    by_name = {node.name: node for node in nodes}
    rows = []
    for order, node in enumerate(nodes, 1):
        is_needed = node.name in needed
        moved = _moved(node, local, refs.get(node.name)) if explain and is_needed else ()
        is_open = is_silent or isinstance(answers.get(node.name), Unknown)
        incomplete = incomplete_pins(node, by_name)
        rows.append(
            Forecast(
                node,
                order,
                node.name in wanted,
                "unknown" if is_silent else "present" if local.built(node) else "absent",
                _said(answers.get(node.name)),
                (None if is_open else True) if is_needed and not incomplete else False,
                _why(node, found, incomplete, is_silent=is_silent) if is_needed else "",
                moved,
                state_before.get(node.name),
                incomplete,
            )
        )
    return rows


def forecast_json(rows: Sequence[Forecast]) -> dict[str, Any]:
    """The forecast as plain values."""
    return {
        "targets": [
            {
                "name": row.node.name,
                "image": str(row.node.target.image),
                "variant": str(row.node.target.variant),
                "hash": row.node.content,
                "content_tag": row.node.content_tag,
                "tags": [str(tag) for tag in row.node.target.tags],
                "parents": sorted(set(row.node.parents.values())),
                "level": row.node.level,
                "order": row.order,
                "weight": str(row.node.target.weight),
                "wanted": row.is_wanted,
                "local": row.local,
                "registry": row.registry,
                "build": row.is_built,
                "why": row.why or None,
                "incomplete": list(row.incomplete),
                "moved": list(row.moved),
                "inputs": dict(row.node.inputs),
                "last": {"seconds": row.last.seconds, "size": row.last.size} if row.last else None,
            }
            for row in rows
        ]
    }


def forecast_table(rows: Sequence[Forecast]) -> str:
    """One aligned line per target, what moved indented below."""
    cells = [("", "TARGET", "HASH", "LOCAL", "REGISTRY", "LAST", "SIZE", "WHY"), *(_cells(row) for row in rows)]
    header, *lines = aligned(cells)
    out = [header]
    for row, line in zip(rows, lines, strict=True):
        out += [line, *(f"      {moved}" for moved in row.moved)]
    return "\n".join([*out, _sum(rows)])


def _sum(rows: Sequence[Forecast]) -> str:
    count, unknown = (sum(row.is_built is state for row in rows) for state in (True, None))
    told = [f"{count} of {len(rows)} targets to build"] if count else []
    told += [f"{unknown} of {len(rows)} unknown"] if unknown else []
    refused = [row for row in rows if row.why and row.incomplete]
    if refused:
        pins = ", ".join(dict.fromkeys(pin for row in refused for pin in row.incomplete))
        told += [f"{len(refused)} of {len(rows)} cannot be built until tools/bump_pin has found {pins}"]
    return ", ".join(told) or "nothing to build"


def _cells(row: Forecast) -> tuple[str, ...]:
    last = row.last
    return (
        str(row.order),
        row.node.name,
        row.node.content[:12],
        row.local,
        row.registry,
        f"{last.seconds:.0f} s" if last else "",
        f"{last.size / 1e6:.0f} MB" if last and last.size else "",
        row.why or "-",
    )


def _local(nodes: Sequence[Node]) -> tuple[Local, bool]:
    """What the engine holds, and whether it keeps silent about it."""
    try:
        return look(nodes, with_tagged=True), False
    except EngineError:
        return Local({}), True


def _said(answer: Answer | None) -> str:
    if isinstance(answer, Unknown):
        return f"unknown ({answer.reason})"
    return "not asked" if answer is None else "present" if isinstance(answer, Present) else "absent"


def _needed(nodes: Sequence[Node], wanted: Sequence[str], found: Found) -> set[str]:
    from imagepins.build.choose import to_build

    return {node.name for node in to_build(nodes, wanted, found, push=False, force=False)}


def _why(node: Node, found: Found, incomplete: Sequence[str], *, is_silent: bool) -> str:
    answer = found.registry.get(node.name)
    if incomplete:
        return f"cannot be built: {len(incomplete)} of its pins not known yet"
    if isinstance(answer, Unknown):
        return "nobody knows whether it is there; a build would stop"
    if is_silent:
        return "nobody knows whether it is here, as no engine answers; see tools/engine status"
    if found.local.tagged(node):
        return "its tag stands for other content"
    return "not in the registry" if isinstance(answer, Absent) else "not built here"


def _moved(node: Node, local: Local, ref: str | None) -> tuple[str, ...]:
    """Inputs that differ from those of the image that has the node's tag now, here or in the registry."""
    before = local.last_inputs(node)
    if before is None and ref:
        from imagepins.build.remote import labels

        tag = ref.rpartition(":")[0] + ":" + node.target.tags[0].rpartition(":")[2]
        before = _parsed(labels(tag, node.target.platform).get(INPUTS, ""))
    return tuple(changed_inputs(before, node.inputs)) if before is not None else ("no earlier build is known",)


def _parsed(text: str) -> dict[str, str] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return {str(key): str(item) for key, item in value.items()} if isinstance(value, dict) else None
