"""Commits in order and what is known of some → which to try next, or which is the first bad one. Pure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """What a trial of a commit gave. SKIP: it does not build, or the command said that it cannot tell (125)."""

    GOOD = "good"
    BAD = "bad"
    SKIP = "skip"


@dataclass(frozen=True)
class Span:
    """Commits, oldest first, of which the last is bad, and the one before the first is good."""

    commits: tuple[str, ...]


@dataclass(frozen=True)
class Found:
    """The commits of which one is the first bad one: a single one, unless those before it could not be tried."""

    suspects: tuple[str, ...]


def next_commit(span: Span, known: Mapping[str, Verdict]) -> str | Found:
    """The commit to try next: the middle of what is open, or its nearest neighbour that was not skipped."""
    low, high = _open_range(span.commits, known)
    candidates = [at for at in range(low + 1, high) if span.commits[at] not in known]
    if not candidates:
        return Found(span.commits[low + 1 : high + 1])
    middle = (low + high) / 2
    return span.commits[min(candidates, key=lambda at: (abs(at - middle), at))]


def trials_left(span: Span, known: Mapping[str, Verdict]) -> int:
    """How many commits have to be tried at most, if none is skipped."""
    low, high = _open_range(span.commits, known)
    return math.ceil(math.log2(high - low)) if high > low else 0


def _open_range(commits: Sequence[str], known: Mapping[str, Verdict]) -> tuple[int, int]:
    """Indices of the last good commit (-1: the one before the span) and of the first bad one behind it."""
    bad = [at for at, commit in enumerate(commits) if known.get(commit) is Verdict.BAD]
    high = min([*bad, len(commits) - 1])
    good = [at for at, commit in enumerate(commits[:high]) if known.get(commit) is Verdict.GOOD]
    return max([*good, -1]), high
