"""``tools/image compare``."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from imagepins.cli import json_option
from imagepins.errors import UsageError

if TYPE_CHECKING:
    from imagepins.evidence.figures.comparison import Comparison
    from imagepins.evidence.figures.interference import Interference
    from imagepins.evidence.figures.limits import Limit


@click.command()
@click.argument("sources", nargs=-1, required=True, metavar="BASE [CANDIDATE]...")
@click.option("--by", metavar="file|FIELD", help="What tells sides apart: the file, or a recorded field such as tag.")
@click.option("--warmup", type=click.IntRange(0), default=0, show_default=True, help="Leave out first runs of sides.")
@click.option("--drop", multiple=True, metavar="FIELD=GLOB", help="Leave out runs by a recorded field: tag=warm*.")
@click.option("--keep", multiple=True, metavar="FIELD=GLOB", help="Leave out all other runs: max_concurrency=64.")
@click.option("--figure", "figures", multiple=True, metavar="FIGURE", help="Show these instead of the usual five.")
@click.option("--fail-if", "limits", multiple=True, metavar="LIMIT", help="Exit 1 if it holds: 'p99_itl_ms > +5%'.")
@click.option("--force", is_flag=True, help="Compare runs of different loads, and say so.")
@click.option("--svg", type=click.Path(path_type=Path, dir_okay=False), help="Write a plot to this file as well.")
@click.option("--title", default="Serving benchmark", show_default=True, help="Title of the plot.")
@json_option
def compare(
    sources: tuple[str, ...],
    *,
    by: str | None,
    warmup: int,
    drop: tuple[str, ...],
    keep: tuple[str, ...],
    figures: tuple[str, ...],
    limits: tuple[str, ...],
    force: bool,
    svg: Path | None,
    title: str,
    as_json: bool,
) -> int:
    """Compare result files of serving benchmarks.

    BASE and each CANDIDATE is a result file of sglang.bench_serving or vllm bench serve, a folder of such files, or
    NAME=FILE. One file alone is split by its runs' tags. Files of interference rows (M, direction, blocks) are told by
    their content.
    """
    from imagepins.evidence.figures.files import Question, compare_files
    from imagepins.evidence.figures.interference import Interference
    from imagepins.evidence.figures.limits import parse_limits
    from imagepins.evidence.figures.sides import Rule

    rule = Rule(warmup, tuple(map(_field_glob, drop)), tuple(map(_field_glob, keep)))
    found = compare_files(sources, Question(by, rule, figures, force))
    if not isinstance(found, Interference):
        return show_comparison(found, parse_limits(limits), svg=svg, title=title, as_json=as_json)
    if svg:
        raise UsageError("rows of interference make no plot; leave --svg out")
    return _show_interference(found, limits, as_json=as_json)


def show_comparison(
    result: "Comparison", limits: "Sequence[Limit]", *, svg: Path | None, title: str, as_json: bool
) -> int:
    """Print a comparison and write its plot; the exit code is 1 where a limit is broken."""
    from imagepins.evidence.figures import report
    from imagepins.evidence.figures.limits import broken_limits
    from imagepins.evidence.figures.plot import comparison_svg
    from imagepins.writing import write_text

    if svg:
        write_text(svg, comparison_svg(result, title=title))
        click.echo(f"wrote {svg}", err=True)
    broken = broken_limits(result, limits)
    show(report.comparison_json(result, broken) if as_json else report.comparison_markdown(result))
    return tell_broken(broken)


def _show_interference(found: "Interference", limits: Sequence[str], *, as_json: bool) -> int:
    from imagepins.evidence.figures.interference import interference_json, interference_markdown
    from imagepins.evidence.figures.limits import broken_slowdowns, parse_slowdown_limits

    broken = broken_slowdowns(found, parse_slowdown_limits(limits))
    show(interference_json(found, broken) if as_json else interference_markdown(found))
    return tell_broken(broken)


def _field_glob(text: str) -> tuple[str, str]:
    field, equals, glob = text.partition("=")
    if not (field and equals):
        raise UsageError(f"{text!r}: expected FIELD=GLOB, such as tag=warm*")
    return field, glob


def show(result: object) -> None:
    """Print Markdown as it is, anything else as strict JSON."""
    import json

    click.echo(result if isinstance(result, str) else json.dumps(result, indent=2, allow_nan=False), nl=False)
    if not isinstance(result, str):
        click.echo()


def tell_broken(broken: Sequence[str]) -> int:
    """Tell broken limits on stderr and return the exit code."""
    for sentence in broken:
        click.echo(sentence, err=True)
    return 1 if broken else 0
