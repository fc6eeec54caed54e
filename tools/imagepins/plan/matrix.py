"""Nodes → a CI matrix: what to build, in levels so that children wait for parents, in chunks that GitHub takes.

GitHub runs at most 256 jobs of a matrix, none at all of a larger one (gradbench/gradbench#577), and passes on at most
1 MiB of outputs per job, counted in UTF-16.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from imagepins.errors import UsageError
from imagepins.plan.graph import Node
from imagepins.render.workflows import LEVELS

MAX_JOBS = 256
MAX_OUTPUT_BYTES = 1024 * 1024


def entry(node: Node, runners: Mapping[str, str]) -> dict[str, Any]:
    """What a job needs to know of one target; ``runners`` maps weights to runner labels."""
    return {
        "name": node.name,
        "image": str(node.target.image),
        "variant": str(node.target.variant),
        "slug": node.slug,
        "hash": node.content,
        "runner": runners.get(node.target.weight, runners["light"]),
        "weight": str(node.target.weight),
        "parents": sorted(node.parents.values()),
        "level": node.level,
        "tags": [str(tag) for tag in node.target.tags],
    }


def changed(now: Sequence[Node], before: Mapping[str, str]) -> list[Node]:
    """Nodes whose content hash is not the one in ``before`` (hashes by target), new ones included."""
    return [node for node in now if before.get(node.name) != node.content]


def chunks(entries: Sequence[Mapping[str, Any]], size: int = MAX_JOBS) -> list[dict[str, Any]]:
    """Matrices of at most ``size`` entries each, in order; together they hold every entry once."""
    if not 1 <= size <= MAX_JOBS:
        raise UsageError(f"--chunk {size}: GitHub takes 1 to {MAX_JOBS} jobs in a matrix")
    return [{"include": list(entries[start : start + size])} for start in range(0, len(entries), size)]


def one_matrix(entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """All entries in one matrix. Raises UsageError with the count per axis where GitHub would run none of them."""
    if len(entries) > MAX_JOBS:
        axes = {axis: len(Counter(str(each[axis]) for each in entries)) for axis in ("image", "variant", "level")}
        counted = ", ".join(f"{count} {axis}s" for axis, count in axes.items())
        raise UsageError(
            f"{len(entries)} jobs ({counted}), and GitHub runs none of a matrix above {MAX_JOBS}; "
            f"--chunk {MAX_JOBS} splits them into several"
        )
    return {"include": list(entries)}


def line(value: object) -> str:
    """``value`` as JSON on one line of ASCII."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True)


def github_outputs(entries: Sequence[Mapping[str, Any]], size: int = MAX_JOBS) -> str:
    """Lines for GITHUB_OUTPUT: ``any`` and, per level, ``any_N`` and ``level_N``, a list of matrices.

    Levels are numbered without gaps, so that one level of jobs after the other has something to do. Raises
    UsageError for more levels, or more text, than a workflow takes.
    """
    levels = sorted({each["level"] for each in entries})
    if len(levels) > LEVELS:
        raise UsageError(f"{len(levels)} levels of images, and .github/workflows/images.yml has jobs for {LEVELS}")
    lines = [f"any={_yes(bool(entries))}"]
    for number in range(LEVELS):
        wanted = levels[number] if number < len(levels) else None
        parts = chunks([each for each in entries if each["level"] == wanted], size)
        lines += [f"any_{number}={_yes(bool(parts))}", f"level_{number}={line(parts)}"]
    text = "\n".join(lines) + "\n"
    if 2 * len(text) > MAX_OUTPUT_BYTES:
        raise UsageError(
            f"{len(entries)} jobs take {2 * len(text)} bytes of outputs, and GitHub passes on {MAX_OUTPUT_BYTES}; "
            "ask for fewer images at a time"
        )
    return text


def _yes(value: bool) -> str:
    return "true" if value else "false"
