"""Comparison → Markdown for people and pull requests, JSON for machines."""

import math
from collections.abc import Sequence
from typing import Any

from imagepins.evidence.figures.comparison import Change, Comparison, Verdict, sample_of, signed
from imagepins.evidence.figures.load import load_of, show_value
from imagepins.evidence.figures.metrics import HEADLINE, Metric, find_metric
from imagepins.evidence.figures.sides import Side
from imagepins.evidence.figures.stats import Sample
from imagepins.markup import inert, markdown_table


def comparison_markdown(comparison: Comparison) -> str:
    """Per candidate a table of figures, changes and verdicts; then the load and every remark."""
    parts = []
    for candidate in comparison.candidates:
        header = ["figure", inert(comparison.base.name), inert(candidate.side.name), "change", "verdict"]
        parts.append(markdown_table(header, [_row(change) for change in candidate.changes]))
    parts.append(_footing(comparison))
    if comparison.remarks:
        parts.append("\n".join(f"- {inert(remark)}" for remark in comparison.remarks))
    return "\n\n".join(parts) + "\n"


def comparison_json(comparison: Comparison, broken: Sequence[str] = ()) -> dict[str, Any]:
    """The comparison as a strict JSON value (no NaN, no Infinity); ``broken`` are the limits that were broken."""
    return {
        "schema": 1,
        "base": _side_json(comparison.base),
        "candidates": [
            {**_side_json(candidate.side), "changes": [_change_json(change) for change in candidate.changes]}
            for candidate in comparison.candidates
        ],
        "remarks": list(comparison.remarks),
        "broken_limits": list(broken),
    }


def side_markdown(side: Side) -> str:
    """The usual figures of one side alone."""
    rows = [[metric.label, show_figure(sample_of(side, metric), metric)] for metric in _headline()]
    notes = "\n".join(f"- {inert(note)}" for note in side.notes)
    table = markdown_table(["figure", inert(side.name)], rows)
    return f"{table}\n\nMean of {_count(len(side.runs), 'run')}.\n" + (f"\n{notes}\n" if notes else "")


def side_json(side: Side) -> dict[str, Any]:
    """The same as a JSON value."""
    figures = {metric.key: _sample_json(sample_of(side, metric)) for metric in _headline()}
    return {"schema": 1, **_side_json(side), "figures": figures, "remarks": list(side.notes)}


def show_figure(sample: Sample | None, metric: Metric) -> str:
    """A mean in the unit of ``metric`` with the spread of its runs, as in ``22.47 ±0.13``."""
    if sample is None:
        return "-"
    mean = sample.mean / metric.per_unit
    digits = 0 if abs(mean) >= 1000 else 2 if abs(mean) >= 0.1 else 5
    spread = "" if sample.deviation is None else f" ±{sample.deviation / metric.per_unit:.{digits}f}"
    return f"{mean:.{digits}f}{spread}"


def show_change(change: Change) -> str:
    """A change in per cent with the half width of its 95 % interval, as in ``-9.3 % ±1.2``."""
    if change.percent is None:
        return "-"
    shown = signed(change.percent)
    return shown if change.margin_percent is None else f"{shown} ±{change.margin_percent:.1f}"


def _headline() -> list[Metric]:
    return [metric for name in HEADLINE if (metric := find_metric(name))]


def _row(change: Change) -> list[str]:
    arrow = "↑" if change.metric.higher_is_better else "↓"
    base, other = (show_figure(sample, change.metric) for sample in (change.base, change.other))
    verdict = f"{change.verdict} ({change.why_missing})" if change.verdict is Verdict.MISSING else str(change.verdict)
    return [f"{change.metric.label} {arrow}", base, other, show_change(change), inert(verdict)]


def _footing(comparison: Comparison) -> str:
    sides = [comparison.base, *(candidate.side for candidate in comparison.candidates)]
    runs = ", ".join(f"{inert(side.name)}: {_count(len(side.runs), 'run')}" for side in sides)
    load = ", ".join(f"{field} {inert(show_value(value))}" for field, value in load_of(comparison.base.runs[0]).items())
    spread = "± beside a figure is the standard deviation of runs, beside a change its 95 % interval."
    if all(len(side.runs) == 1 for side in sides):
        spread = "Single runs: no spread is known, so a small change may be noise."
    return f"↑ higher is better, ↓ lower is better. {spread}\nRuns: {runs}. Load: {load or 'not recorded'}."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _side_json(side: Side) -> dict[str, Any]:
    load = {field: _strict(value) for field, value in load_of(side.runs[0]).items()}
    return {"name": side.name, "runs": [run.place for run in side.runs], "load": load}


def _change_json(change: Change) -> dict[str, Any]:
    return {
        "metric": change.metric.key,
        "better": "higher" if change.metric.higher_is_better else "lower",
        "base": _sample_json(change.base),
        "candidate": _sample_json(change.other),
        "change_percent": change.percent,
        "margin_percent": change.margin_percent,
        "verdict": str(change.verdict),
        **({"why_missing": change.why_missing} if change.why_missing else {}),
    }


def _sample_json(sample: Sample | None) -> dict[str, Any] | None:
    if sample is None:
        return None
    return {"mean": sample.mean, "deviation": sample.deviation, "values": list(sample.values)}


def _strict(value: str | float) -> str | float:
    return value if isinstance(value, str) or math.isfinite(value) else str(value)
