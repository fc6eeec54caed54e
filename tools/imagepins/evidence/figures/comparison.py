"""Sides → comparison: per figure the means, the change in per cent, its 95 % interval and a verdict."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from imagepins.errors import UsageError
from imagepins.evidence.figures.load import load_differences, load_remarks
from imagepins.evidence.figures.measured import image_remarks
from imagepins.evidence.figures.metrics import HEADLINE, Metric, find_metric, require_metric
from imagepins.evidence.figures.sides import Side
from imagepins.evidence.figures.stats import Sample, margin

TAIL_PERCENT = 5.0
"""A p99 that is worse by more than this is called out when the median does not show it."""


class Verdict(StrEnum):
    """What the change of a figure means, given the spread of the runs."""

    BETTER = "better"
    WORSE = "worse"
    NOISE = "within noise"
    SAME = "no change"
    BETTER_UNSURE = "better, spread unknown"
    WORSE_UNSURE = "worse, spread unknown"
    MISSING = "not recorded"


@dataclass(frozen=True)
class Change:
    """One figure of one candidate against the base.

    ``percent`` and ``margin_percent`` (half width of the 95 % interval) are in per cent of the base's mean; None
    where a side lacks the figure, the base is 0, or no run was repeated. ``why_missing`` tells the first case.
    """

    metric: Metric
    base: Sample | None
    other: Sample | None
    percent: float | None
    margin_percent: float | None
    verdict: Verdict
    why_missing: str = ""


@dataclass(frozen=True)
class Candidate:
    """A side beside the base, with a Change for each figure asked for."""

    side: Side
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class Comparison:
    """The base, the candidates, and remarks a reader must see before believing the table."""

    base: Side
    candidates: tuple[Candidate, ...]
    remarks: tuple[str, ...]

    @property
    def metrics(self) -> tuple[Metric, ...]:
        return tuple(change.metric for change in self.candidates[0].changes)


def compare_sides(
    sides: Sequence[Side], *, metrics: Sequence[str] = HEADLINE, force: bool = False, flaws: Sequence[str] = ()
) -> Comparison:
    """Compare each further side with the first.

    Raises UsageError when the runs measured different loads, naming each field; with ``force`` they are remarks.
    """
    base, *others = sides
    runs = [run for side in sides for run in side.runs]
    differences = [str(difference) for difference in load_differences(runs)]
    if differences and not force:
        advice = "the runs measured different loads, so their figures say nothing about the images (--force compares)"
        raise UsageError("\n".join([advice, *differences]))
    wanted = [metric for name in metrics if (metric := find_metric(name))]
    candidates = tuple(Candidate(side, tuple(change_of(base, side, metric) for metric in wanted)) for side in others)
    remarks = [
        *flaws,
        *(f"different loads compared by force: {difference}" for difference in differences),
        *(note for side in sides for note in side.notes),
        *load_remarks(runs),
        *image_remarks(sides),
        *_derived(sides, wanted),
        *(remark for candidate in candidates for remark in hidden_tails(base, candidate.side)),
    ]
    return Comparison(base, candidates, tuple(remarks))


def check_figures(names: Sequence[str]) -> tuple[str, ...]:
    """``names`` as typed, once each of them is known; raises UsageError with the nearest name otherwise."""
    for name in names:
        require_metric(name)
    return tuple(names)


def change_of(base: Side, other: Side, metric: Metric) -> Change:
    """How ``metric`` of ``other`` differs from that of ``base``."""
    one, two = sample_of(base, metric), sample_of(other, metric)
    if one is None or two is None:
        reason = "; ".join(_why_missing(side, metric.key) for side in (base, other) if not sample_of(side, metric))
        return Change(metric, one, two, None, None, Verdict.MISSING, reason)
    width = margin(one, two)
    difference = two.mean - one.mean
    verdict = _verdict(difference, width, higher_is_better=metric.higher_is_better)
    if one.mean == 0:
        return Change(metric, one, two, None, None, verdict)
    percent = 100 * difference / one.mean
    return Change(metric, one, two, percent, None if width is None else abs(100 * width / one.mean), verdict)


def sample_of(side: Side, metric: Metric) -> Sample | None:
    """What the runs of a side measured of ``metric``; None where not every run has it.

    A mean over only some of the runs would compare different sets of runs without saying so.
    """
    values = tuple(run.metrics[metric.key] for run in side.runs if metric.key in run.metrics)
    return Sample(values) if len(values) == len(side.runs) else None


def hidden_tails(base: Side, other: Side) -> list[str]:
    """Latencies whose median looks fine while their p99 does not: the case a single headline figure hides."""
    found = []
    for family in ("ttft", "tpot", "itl", "e2e_latency"):
        pair = [metric for stat in ("median", "p99") if (metric := find_metric(f"{stat}_{family}_ms"))]
        median, p99 = (change_of(base, other, metric) for metric in pair)
        if median.percent is None or p99.percent is None or p99.verdict is Verdict.NOISE:
            continue
        if median.percent < TAIL_PERCENT < p99.percent:
            figures = f"{signed(median.percent)} median, {signed(p99.percent)} p99"
            found.append(f"{other.name}: the median {family.upper()} hides a worse tail ({figures})")
    return found


def signed(percent: float) -> str:
    """A change as shown everywhere: one decimal below 100 per cent, none above, never "-0.0"."""
    digits = 0 if abs(percent) >= 99.95 else 1
    return f"{round(percent, digits) + 0.0:+.{digits}f} %"


def _why_missing(side: Side, key: str) -> str:
    lacking = [run for run in side.runs if key not in run.metrics]
    named = [run.missing[key] for run in lacking if key in run.missing]
    if named:
        return named[0]
    if len(lacking) < len(side.runs):
        return f"{side.name}: {key} stands in only {len(side.runs) - len(lacking)} of {len(side.runs)} runs"
    return f"{side.name}: {key} is not recorded"


def _verdict(difference: float, width: float | None, *, higher_is_better: bool) -> Verdict:
    if difference == 0:
        return Verdict.SAME
    better = (difference > 0) == higher_is_better
    if width is None:
        return Verdict.BETTER_UNSURE if better else Verdict.WORSE_UNSURE
    if abs(difference) <= width:
        return Verdict.NOISE
    return Verdict.BETTER if better else Verdict.WORSE


def _derived(sides: Sequence[Side], metrics: Sequence[Metric]) -> list[str]:
    keys = {metric.key for metric in metrics}
    return [
        f"{side.name}: total_throughput is not recorded by this release; it is input plus output throughput"
        for side in sides
        if any(run.derived & keys for run in side.runs)
    ]
