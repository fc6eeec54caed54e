"""Text of a benchmark result file → runs, and the places that hold none.

Read are the files of ``sglang.bench_serving --output-file`` (one object a line) and of ``vllm bench serve`` with
``--save-result`` (one object, no newline) or ``--append-result``; and, since people join files by hand, objects one
behind the other, arrays of objects and indented objects.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from imagepins.evidence.figures.metrics import Metric, find_metric

SMALLEST, LARGEST = 1e-9, 1e15
"""No token rate and no latency in milliseconds is beyond these; such values would only overflow the statistics."""


@dataclass(frozen=True)
class Run:
    """One run of a benchmark: where it stands, everything recorded, and the figures under their canonical names.

    ``missing`` says for a figure that is recorded but unusable why it is; ``derived`` names figures computed from
    others of the same run.
    """

    file: str
    line: int
    fields: Mapping[str, Any]
    metrics: Mapping[str, float]
    missing: Mapping[str, str]
    derived: frozenset[str] = frozenset()

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Parsed:
    """What a file holds: its objects that are runs, and one message (with FILE:LINE) for each part that is not."""

    runs: tuple[Run, ...]
    flaws: tuple[str, ...]


def parse_runs(text: str, *, file: str) -> Parsed:
    """Read every run of a result file; broken parts are named, never guessed at, and do not hide the rest."""
    runs: list[Run] = []
    flaws: list[str] = []
    for line, item in iter_objects(text):
        if isinstance(item, str):
            flaws.append(f"{file}:{line}: {item}")
            continue
        run = _run(item, file=file, line=line)
        if run.metrics or run.missing:
            runs.append(run)
        else:
            flaws.append(f"{file}:{line}: no benchmark record: it holds none of the known figures")
    if not runs and not flaws:
        flaws.append(f"{file}:1: empty: the benchmark wrote no result")
    return Parsed(tuple(runs), tuple(flaws))


def iter_objects(text: str) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """Each JSON object in ``text`` with the line it begins on, or a message in its place where the text is broken."""
    decoder = json.JSONDecoder(object_pairs_hook=_unique)
    text = text.removeprefix("\ufeff")
    at, line = 0, 1
    while at < len(text):
        start = _skip_blanks(text, at)
        line += text.count("\n", at, start)
        if start == len(text):
            return
        try:
            item, at = decoder.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            at = _next_object(text, start)
            reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            yield line, f"not JSON ({reason}): {text[start:at].strip()[:60]!r}"
        else:
            for one in item if isinstance(item, list) else [item]:
                yield line, one if isinstance(one, dict) else f"not an object: {json.dumps(one)[:60]}"
        line += text.count("\n", start, at)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; raises ValueError where a name stands in it twice, as nobody can tell which value was measured."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} stands in it twice")
    return found


def _skip_blanks(text: str, at: int) -> int:
    """Where the next value begins; commas count as blanks, so that a broken array still yields its objects."""
    match = re.compile(r"[\s,]*").match(text, at)
    return match.end() if match else at


def _next_object(text: str, start: int) -> int:
    """Where reading goes on after a broken part: the next line that begins an object in its first column."""
    found = text.find("\n{", start)
    return len(text) if found < 0 else found + 1


def _run(fields: dict[str, Any], *, file: str, line: int) -> Run:
    metrics: dict[str, float] = {}
    missing: dict[str, str] = {}
    for name, value in fields.items():
        if not (metric := find_metric(name)) or metric.key in metrics:
            continue
        if reason := _unusable(value) or _of_nothing(metric, value, fields):
            missing[metric.key] = f"{file}:{line} records {name} as {reason}"
        else:
            metrics[metric.key] = float(value)
    derived = frozenset[str]()
    # Releases before total_throughput existed; the later ones define it as exactly this sum.
    if "total_throughput" not in fields | metrics and {"input_throughput", "output_throughput"} <= metrics.keys():
        metrics["total_throughput"] = metrics["input_throughput"] + metrics["output_throughput"]
        derived = frozenset({"total_throughput"})
    return Run(file, line, fields, metrics, missing, derived)


def _of_nothing(metric: Metric, value: object, fields: Mapping[str, Any]) -> str | None:
    """Why a number measures nothing: what is written where no request, or no second token, ever came."""
    if not isinstance(fields.get("completed"), bool) and fields.get("completed") == 0:
        return f"{value} of no completed request"
    if value == 0 and metric.is_duration:
        return "0, the time of nothing"
    return None


def _unusable(value: object) -> str | None:
    if value is None:
        return "null"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"{str(value)[:20]!r}, which is no number"
    if value == 0 or SMALLEST <= value <= LARGEST:
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return "a negative number" if value < 0 else "a number out of range"
