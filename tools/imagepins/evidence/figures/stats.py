"""Repeated measurements → mean, spread, and whether two sets of them differ by more than their noise.

Serving benchmarks are repeated three or five times, not thirty. So the test is Welch's (the sides need not scatter
alike), with Student's factor for few runs and a 95 % interval; it says "within noise" when the interval of the
difference contains zero. With one run there is no spread, and nothing here pretends otherwise.
"""

import math
import statistics
from dataclasses import dataclass

# Two-sided 95 % factors of Student's t for 1 to 30 degrees of freedom (any statistics handbook).
_T95 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)


@dataclass(frozen=True)
class Sample:
    """Measurements of one figure on one side, never empty."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Rounded once, from the exact sum: fmean of three times 52.64 is not 52.64, and reads as a change."""
        return statistics.mean(self.values)

    @property
    def deviation(self) -> float | None:
        """Standard deviation of single runs; None for one run, which has no known spread."""
        return statistics.stdev(self.values) if len(self.values) > 1 else None


def margin(base: Sample, other: Sample) -> float | None:
    """Half width of the 95 % interval of ``other.mean - base.mean``; None where neither side was repeated.

    With one side repeated and the other run once, the single run is assumed to scatter like the repeated side.
    """
    spreads = [(sample.deviation, len(sample.values)) for sample in (base, other)]
    known = [(deviation, count) for deviation, count in spreads if deviation is not None]
    if not known:
        return None
    if len(known) == 1:
        deviation, count = known[0]
        return _t95(count - 1) * deviation * math.sqrt(1 + 1 / count)
    parts = [deviation**2 / count for deviation, count in known]
    error = sum(parts)
    if error == 0:
        return 0.0
    shares = [(part / error, count) for part, (_, count) in zip(parts, known, strict=True)]
    freedom = 1 / sum(share**2 / (count - 1) for share, count in shares)
    return _t95(freedom) * math.sqrt(error)


def _t95(freedom: float) -> float:
    """Student's factor, rounded towards caution between and beyond the tabled degrees of freedom."""
    return _T95[min(int(freedom + 1e-9), len(_T95)) - 1]
