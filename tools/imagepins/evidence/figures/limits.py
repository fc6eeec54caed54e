"""``--fail-if 'p99_itl_ms > +5%'`` → whether a comparison breaks a limit.

The grammar is ``FIGURE OPERATOR NUMBER[%]``: with ``%`` the number is a change against the base, without it a value
of the candidate in the unit of the file (milliseconds, tokens per second). Several limits may stand in one text,
joined by ``or`` or a comma. For interference the figures are median, mean and p99 of the candidate's slowdown.
"""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from imagepins.errors import UsageError
from imagepins.evidence.figures.comparison import Change, Comparison, Verdict, change_of, signed
from imagepins.evidence.figures.interference import STATISTICS, Interference
from imagepins.evidence.figures.metrics import require_metric
from imagepins.evidence.figures.sides import Side

_OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
_LIMIT = re.compile(
    r"(?P<name>[A-Za-z][\w.]*)\s*(?P<operator>[<>]=?)\s*(?P<number>[+-]?(?:\d+\.?\d*|\.\d+))\s*(?P<unit>%?)"
)


@dataclass(frozen=True)
class Limit:
    """One limit, ``text`` as typed; ``relative`` ones are in per cent."""

    text: str
    name: str
    operator: str
    number: float
    relative: bool

    def holds(self, value: float) -> bool:
        return _OPERATORS[self.operator](value, self.number)


def parse_limits(texts: Sequence[str]) -> list[Limit]:
    """Read every ``--fail-if``; raises UsageError with the grammar or the nearest known figure."""
    limits = _split(texts)
    for limit in limits:
        require_metric(limit.name)
    return limits


def broken_limits(comparison: Comparison, limits: Sequence[Limit]) -> list[str]:
    """One sentence for each candidate that breaks a limit, or for which the limit cannot be judged.

    A figure that is missing breaks its limit: a check that passes because nothing was measured proves nothing.
    """
    return [
        sentence
        for candidate in comparison.candidates
        for limit in limits
        if (sentence := _broken(comparison, candidate.side, limit))
    ]


def parse_slowdown_limits(texts: Sequence[str]) -> list[Limit]:
    """Read every ``--fail-if`` of an interference table, such as ``p99 > 50%``. Raises UsageError."""
    limits = _split(texts)
    for limit in limits:
        if limit.name not in STATISTICS or not limit.relative:
            raise UsageError(f"--fail-if {limit.text!r}: expected {', '.join(STATISTICS)} and a slowdown: 'p99 > 50%'")
    return limits


def broken_slowdowns(found: Interference, limits: Sequence[Limit]) -> list[str]:
    """One sentence for each row whose candidate breaks a limit or was not measured."""
    sentences = []
    for row in found.rows:
        shape = f"{found.other_name}, M {row.key[0]}, {row.key[1]}, {row.key[2]} blocks"
        for limit in limits:
            if row.other is None:
                sentences.append(f"{shape}: {limit.text} cannot be judged: not measured")
            elif limit.holds(value := row.other[STATISTICS.index(limit.name)]):
                sentences.append(f"{shape}: {limit.text} holds: {limit.name} is {signed(value)}")
    return sentences


def _split(texts: Sequence[str]) -> list[Limit]:
    return [_limit(part.strip()) for text in texts for part in re.split(r",|\bor\b", text)]


def _limit(text: str) -> Limit:
    if not (match := _LIMIT.fullmatch(text)):
        raise UsageError(f"--fail-if {text!r}: expected FIGURE OPERATOR NUMBER[%], such as 'p99_itl_ms > +5%'")
    if match["number"][0] in "+-" and not match["unit"]:
        raise UsageError(f"--fail-if {text!r}: a signed number is a change, which is given in per cent: add %")
    return Limit(text, match["name"], match["operator"], float(match["number"]), bool(match["unit"]))


def _broken(comparison: Comparison, side: Side, limit: Limit) -> str | None:
    metric = require_metric(limit.name)
    change = change_of(comparison.base, side, metric)
    found = _found(change, limit)
    if found is None:
        reason = change.why_missing or f"{comparison.base.name} has {metric.key} = 0"
        return f"{side.name}: {limit.text} cannot be judged: {reason}"
    if not limit.holds(found):
        return None
    shown = signed(found) if limit.relative else f"{found:.6g}"
    unsure = " (within noise)" if change.verdict is Verdict.NOISE else ""
    return f"{side.name}: {limit.text} holds: {metric.key} is {shown}{unsure}"


def _found(change: Change, limit: Limit) -> float | None:
    if limit.relative:
        return change.percent
    return change.other.mean if change.other else None
