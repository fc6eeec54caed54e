"""Result files as a command line names them → the comparison that fits what they hold."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from imagepins.errors import UsageError
from imagepins.evidence.figures.comparison import Comparison, check_figures, compare_sides
from imagepins.evidence.figures.interference import (
    Interference,
    compare_interference,
    interference_markdown,
    is_interference,
)
from imagepins.evidence.figures.metrics import HEADLINE
from imagepins.evidence.figures.report import comparison_markdown
from imagepins.evidence.figures.sides import Rule, make_sides, open_source, parse_source


@dataclass(frozen=True)
class Question:
    """What of serving benchmarks is compared, and how: see the options of ``tools/image compare``."""

    by: str | None = None
    rule: Rule = field(default_factory=Rule)
    figures: tuple[str, ...] = ()
    force: bool = False


def compare_files(sources: Sequence[str], asked: Question) -> Comparison | Interference:
    """Compare files, folders or ``NAME=FILE``, the base first: runs of benchmarks, or rows of interference.

    Raises UsageError where they cannot be compared, or ``asked`` is about runs and they hold rows.
    """
    read = [open_source(each) for each in sources]
    if is_interference(read[0]):
        if asked != Question(force=asked.force):
            raise UsageError("rows of interference are compared as they stand; only --json and --fail-if apply to them")
        return compare_interference(read)
    names = check_figures(asked.figures) or HEADLINE
    sides, flaws = make_sides([parse_source(each) for each in read], by=asked.by, rule=asked.rule)
    return compare_sides(sides, metrics=names, force=asked.force, flaws=flaws)


def as_markdown(found: Comparison | Interference) -> str:
    """A comparison of either kind as Markdown."""
    return interference_markdown(found) if isinstance(found, Interference) else comparison_markdown(found)
