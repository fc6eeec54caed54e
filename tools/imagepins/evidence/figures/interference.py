"""Slowdown of decode while KV-cache copies run, per shape of copy → a table that does not hide the tail.

A row of the input is one JSON object: ``M`` (columns), ``direction`` (h2d, d2h), ``blocks``, and ``slowdown_percent``
as ``{"median": ..., "mean": ..., "p99": ...}``; or, instead of the last, the latencies ``alone_ms`` and
``with_copies_ms`` of the same form. One file a side; or one file whose rows hold ``baseline`` and ``candidate``, each
with one of these.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from imagepins.errors import UsageError
from imagepins.evidence.figures.comparison import signed
from imagepins.evidence.figures.load import normal_value, show_value
from imagepins.evidence.figures.records import iter_objects
from imagepins.evidence.figures.sides import Source
from imagepins.markup import inert, markdown_table

FINE_PERCENT = 10.0
"""A slowdown up to this looks fine; a median below it with a mean or p99 above it is called out."""

STATISTICS = ("median", "mean", "p99")
Key = tuple[str, str, str]
Slowdown = tuple[float, float, float]
"""Per cent by which decode is slower while copies run: median, mean, p99."""


@dataclass(frozen=True)
class Row:
    """One shape of copy, with the slowdown of both sides; None where a side did not measure it."""

    key: Key
    base: Slowdown | None
    other: Slowdown | None


@dataclass(frozen=True)
class Interference:
    """The rows of two sides, and remarks: tails that the median hides, broken lines, rows of one side only."""

    base_name: str
    other_name: str
    rows: tuple[Row, ...]
    remarks: tuple[str, ...]


def is_interference(source: Source) -> bool:
    """Whether the first object of ``source`` is a row of this shape rather than a run of a serving benchmark."""
    objects = (item for _, text in source.texts for _, item in iter_objects(text) if isinstance(item, dict))
    first = next(objects, {})
    return {"direction", "blocks"} <= first.keys()


def compare_interference(sources: Sequence[Source]) -> Interference:
    """Join the rows of one source with both sides, or of two sources, by shape.

    Raises UsageError where no shape was measured on both sides.
    """
    if not 1 <= len(sources) <= 2:
        raise UsageError("interference rows are compared from one file with both sides, or from two files")
    measured: dict[str, dict[Key, list[Slowdown]]] = {"baseline": {}, "candidate": {}}
    flaws: list[str] = []
    for side, source in zip(("baseline", "candidate"), sources, strict=False):
        for file, text in source.texts:
            _collect(measured, side, file, text, both=len(sources) == 1, flaws=flaws)
    base, other = ({key: _mean(values) for key, values in measured[side].items()} for side in ("baseline", "candidate"))
    rows = tuple(Row(key, base.get(key), other.get(key)) for key in {**base, **other})
    lacking = [f"{_shape(row)}: measured on one side only" for row in rows if row.base is None or row.other is None]
    if len(lacking) == len(rows):
        raise UsageError("\n".join(["nothing to compare: no row was measured on both sides", *lacking, *flaws]))
    names = [source.name for source in sources] if len(sources) == 2 else ["baseline", "candidate"]
    tails = [sentence for row in rows for sentence in _hidden(row, names)]
    return Interference(names[0], names[1], rows, (*tails, *lacking, *flaws))


def interference_markdown(found: Interference) -> str:
    """One row per shape, both sides side by side; a median that hides its tail is marked and told below."""
    header = ["M", "direction", "blocks", *(f"{inert(found.base_name)} {name}" for name in STATISTICS)]
    header += [f"{inert(found.other_name)} {name}" for name in STATISTICS]
    rows = [[*map(inert, row.key), *_shown(row.base), *_shown(row.other)] for row in found.rows]
    parts = [markdown_table(header, rows, left=2)]
    parts.append("Slowdown of decode while copies run; (!) marks a tail that the median hides.")
    if found.remarks:
        parts.append("\n".join(f"- {inert(remark)}" for remark in found.remarks))
    return "\n\n".join(parts) + "\n"


def interference_json(found: Interference, broken: Sequence[str] = ()) -> dict[str, Any]:
    """The same as a JSON value; slowdowns in per cent."""
    names = ("M", "direction", "blocks")
    rows = [
        {**dict(zip(names, row.key, strict=True)), "base": _named(row.base), "candidate": _named(row.other)}
        for row in found.rows
    ]
    sides = {"base": found.base_name, "candidate": found.other_name}
    return {"schema": 1, **sides, "rows": rows, "remarks": list(found.remarks), "broken_limits": list(broken)}


def hides_tail(slowdown: Slowdown) -> bool:
    """Whether the median looks fine while mean or p99 do not."""
    median, *rest = slowdown
    return median < FINE_PERCENT and any(value >= FINE_PERCENT for value in rest)


def _collect(
    measured: dict[str, dict[Key, list[Slowdown]]], side: str, file: str, text: str, *, both: bool, flaws: list[str]
) -> None:
    for line, item in iter_objects(text):
        if isinstance(item, str):
            flaws.append(f"{file}:{line}: {item}")
            continue
        parts = {name: item.get(name) for name in measured} if both else {side: item}
        for name, part in parts.items():
            slowdown = _slowdown(part)
            if isinstance(slowdown, str):
                flaws.append(f"{file}:{line}: {name if both else 'row'} {slowdown}")
            else:
                measured[name].setdefault(_key(item), []).append(slowdown)


def _slowdown(part: object) -> Slowdown | str:
    if not isinstance(part, Mapping):
        return "is missing: give a second file, or rows with baseline and candidate"
    if (percent := _three(part.get("slowdown_percent", part))) is not None:
        return percent
    alone, copies = _three(part.get("alone_ms")), _three(part.get("with_copies_ms"))
    if alone is None or copies is None or min(alone) <= 0:
        return "has neither slowdown_percent nor alone_ms and with_copies_ms, with median, mean and p99 as numbers"
    median, mean, p99 = (100 * (slow / fast - 1) for fast, slow in zip(alone, copies, strict=True))
    return median, mean, p99


def _three(value: object) -> Slowdown | None:
    if not isinstance(value, Mapping):
        return None
    numbers = [value.get(name) for name in STATISTICS]
    found = [float(n) for n in numbers if isinstance(n, int | float) and not isinstance(n, bool) and abs(n) < 1e9]
    return (found[0], found[1], found[2]) if len(found) == 3 else None


def _key(item: Mapping[str, Any]) -> Key:
    parts = (item.get("M", item.get("columns", "-")), item.get("direction", "-"), item.get("blocks", "-"))
    columns, direction, blocks = (show_value(normal_value(part)).lower() for part in parts)
    return columns, direction, blocks


def _mean(values: Sequence[Slowdown]) -> Slowdown:
    median, mean, p99 = (statistics.fmean(column) for column in zip(*values, strict=True))
    return median, mean, p99


def _hidden(row: Row, names: Sequence[str]) -> list[str]:
    sentences = []
    for name, slowdown in zip(names, (row.base, row.other), strict=True):
        if slowdown and hides_tail(slowdown):
            median, mean, p99 = map(signed, slowdown)
            sentences.append(f"{name}, {_shape(row)}: {median} median looks fine; {mean} mean and {p99} p99 do not")
    return sentences


def _shape(row: Row) -> str:
    return f"M {row.key[0]}, {row.key[1]}, {row.key[2]} blocks"


def _shown(slowdown: Slowdown | None) -> list[str]:
    if slowdown is None:
        return ["-"] * len(STATISTICS)
    mark = " (!)" if hides_tail(slowdown) else ""
    median, mean, p99 = slowdown
    return [signed(median), signed(mean) + (mark if mean >= FINE_PERCENT else ""), signed(p99) + mark]


def _named(slowdown: Slowdown | None) -> dict[str, float] | None:
    return dict(zip(STATISTICS, slowdown, strict=True)) if slowdown else None
