"""Runs → the load they measured, and the fields in which two loads differ.

A figure means nothing without its load: the same image under half the concurrency looks like a better image.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from imagepins.evidence.figures.records import LARGEST, Run

INPUT_TOLERANCE = 0.02
OUTPUT_TOLERANCE = 0.05
"""Share by which mean lengths may differ: random lengths scatter a little, and answers may end early."""
COMPLETED_TOLERANCE = 0.01
"""Share by which the number of completed requests may differ: one lost request in a thousand is a remark."""

_FIELDS: Mapping[str, tuple[str, ...]] = {
    "model": ("model_id", "model", "server_info.model_path"),
    "dataset": ("dataset_name",),
    "max_concurrency": ("max_concurrency",),
    "request_rate": ("request_rate",),
    "burstiness": ("burstiness",),
    "num_prompts": ("num_prompts",),
    "random_input_len": ("random_input_len",),
    "random_output_len": ("random_output_len",),
    "random_range_ratio": ("random_range_ratio",),
    "sharegpt_output_len": ("sharegpt_output_len",),
    "ramp_up_strategy": ("ramp_up_strategy",),
}
_TOLERANT = {
    "mean input tokens per request": INPUT_TOLERANCE,
    "mean output tokens per request": OUTPUT_TOLERANCE,
    "completed": COMPLETED_TOLERANCE,
}

_ABSENT = object()
"""A field that is not there; one that is null is a value of its own: no limit, no fixed length."""

Value = str | float
Load = Mapping[str, Value]


@dataclass(frozen=True)
class Difference:
    """One field in which two runs were loaded differently, with the place of each."""

    field: str
    base: Value
    other: Value
    base_place: str
    other_place: str

    def __str__(self) -> str:
        values = f"{show_value(self.base)} ({self.base_place}) and {show_value(self.other)} ({self.other_place})"
        return f"{self.field} differs: {values}"


def load_of(run: Run) -> Load:
    """What is recorded about the load of ``run``; a field that is not recorded is absent."""
    load: dict[str, Value] = {}
    for name, spellings in _FIELDS.items():
        found = [value for spelling in spellings if (value := _look_up(run.fields, spelling)) is not _ABSENT]
        if found:
            load[name] = normal_value(found[0])
    completed = _number(run.fields.get("completed"))
    if completed > 0 or run.fields.get("completed") == 0:
        load["completed"] = completed
    if completed > 0:
        for name, key in (("input", "total_input_tokens"), ("output", "total_output_tokens")):
            if (total := _number(run.fields.get(key))) > 0:
                load[f"mean {name} tokens per request"] = total / completed
    return load


def load_differences(runs: Sequence[Run]) -> list[Difference]:
    """Every field in which a run's load differs from the first run that records it; one per field."""
    return _differences(runs, lambda field, one, other: not _same(field, one, other))


def load_remarks(runs: Sequence[Run]) -> list[str]:
    """What cannot be compared or differs within tolerance: unrecorded fields, lost requests."""
    loads = [load_of(run) for run in runs]
    remarks = [
        f"{field} is not recorded by {_few(lacking)}"
        for field in _FIELDS
        if 0
        < len(lacking := [run.place for run, load in zip(runs, loads, strict=True) if field not in load])
        < len(runs)
    ]
    if not any("model" in load for load in loads):
        remarks.append("no file records the model: that it is the same one is taken on trust")
    remarks += [f"{run.place}: {count:g} requests failed" for run in runs if (count := _lost(run)) > 0]
    slight = _differences(runs, lambda field, one, other: field == "completed" and one != other)
    return remarks + [str(difference) for difference in slight if _same("completed", difference.base, difference.other)]


def _lost(run: Run) -> float:
    """Requests that gave no answer; releases that do not count them still tell what was asked and what was answered."""
    if "failed" in run.fields or "completed" not in run.fields:
        return _number(run.fields.get("failed"))
    return _number(run.fields.get("num_prompts")) - _number(run.fields.get("completed"))


def show_value(value: Value) -> str:
    return value if isinstance(value, str) else f"{value:.10g}"


def _differences(runs: Sequence[Run], differs: Callable[[str, Value, Value], bool]) -> list[Difference]:
    first: dict[str, tuple[Value, Run]] = {}
    found: dict[str, Difference] = {}
    for run in runs:
        for field, value in load_of(run).items():
            base, base_run = first.setdefault(field, (value, run))
            if field not in found and differs(field, base, value):
                found[field] = Difference(field, base, value, base_run.place, run.place)
    return list(found.values())


def _same(field: str, one: Value, other: Value) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    return math.isclose(one, other, rel_tol=_TOLERANT.get(field, 1e-9))


def _look_up(fields: Mapping[str, object], spelling: str) -> object:
    value: object = fields
    for part in spelling.split("."):
        value = value.get(part, _ABSENT) if isinstance(value, Mapping) else _ABSENT
    return value


def normal_value(value: object) -> Value:
    """5 and 5.0 are one load, and so are vLLM's "inf" and SGLang's Infinity."""
    if value is None:
        return "null"
    try:
        number = float(str(value))
    except ValueError:
        return str(value)
    return "nan" if math.isnan(number) else number


def _number(value: object) -> float:
    """A count as recorded; 0 for what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= LARGEST:
        return 0.0
    return float(value)


def _few(places: Sequence[str]) -> str:
    return ", ".join(places[:3]) + (f" and {len(places) - 3} more" if len(places) > 3 else "")
