"""What came of each target → table on stderr, rows and JSON on stdout, Markdown for a CI summary."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from imagepins.build.one import Outcome
from imagepins.columns import aligned
from imagepins.plan.graph import Node

PRESENT, BUILT, FAILED, SKIPPED = "present", "built", "failed", "skipped"
HEADINGS = ("target", "state", "time", "cached", "size", "digest")
HELD = "held back"
"""Built, and good, but neither tagged nor pushed, as another target of an atomic build failed."""


@dataclass(frozen=True)
class Result:
    """What came of one target: its state, the reference it is found under, and why it failed."""

    node: Node
    state: str
    ref: str = ""
    digest: str | None = None
    size: int | None = None
    outcome: Outcome | None = None
    message: str = ""


def as_json(results: Sequence[Result]) -> list[dict[str, Any]]:
    """The results as plain values."""
    return [
        {
            "target": each.node.name,
            "state": each.state,
            "content": each.node.content,
            "ref": each.ref or None,
            "digest": each.digest,
            "size": each.size,
            "seconds": round(each.outcome.seconds, 1) if each.outcome else None,
            "cached_steps": each.outcome.events.cache_hits[0] if each.outcome else None,
            "steps": each.outcome.events.cache_hits[1] if each.outcome else None,
            "cause": each.outcome.cause.name if each.outcome and each.outcome.cause else None,
            "message": each.message or None,
        }
        for each in results
    ]


def table(results: Sequence[Result]) -> str:
    """One aligned line per target."""
    return "\n".join(aligned([[heading.upper() for heading in HEADINGS], *map(_row, results)]))


def markdown(results: Sequence[Result]) -> str:
    """A table for GITHUB_STEP_SUMMARY, the messages of failures below."""
    from imagepins.markup import fenced, inert, markdown_table

    parts = [markdown_table(HEADINGS, [[inert(cell) or "-" for cell in _row(each)] for each in results], left=2)]
    parts += [fenced(each.message.splitlines()) for each in results if each.message]
    return "\n\n".join(parts) + "\n"


def _row(result: Result) -> tuple[str, ...]:
    hits, steps = result.outcome.events.cache_hits if result.outcome else (0, 0)
    cause = result.outcome.cause if result.outcome else None
    return (
        result.node.name,
        f"{result.state}: {cause.name}" if cause else result.state,
        f"{result.outcome.seconds:.1f} s" if result.outcome else "",
        f"{hits}/{steps}" if result.outcome else "",
        f"{result.size / 1e6:.0f} MB" if result.size else "",
        (result.digest or "")[:19],
    )
