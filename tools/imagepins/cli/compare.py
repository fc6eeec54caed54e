"""``tools/image compare``."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from imagepins.cli import json_option
from imagepins.errors import UsageError

if TYPE_CHECKING:
    from imagepins.evidence.figures.comparison import Comparison
    from imagepins.evidence.figures.limits import Limit
    from imagepins.evidence.figures.sides import Source


@click.command()
@click.argument("sources", nargs=-1, required=True, metavar="BASE [CANDIDATE]...")
@click.option("--by", metavar="file|FIELD", help="What tells sides apart: the file, or a recorded field such as tag.")
@click.option("--warmup", type=click.IntRange(0), default=0, help="Leave out the first N runs of each side.")
@click.option("--drop", multiple=True, metavar="FIELD=GLOB", help="Leave out runs by a recorded field: tag=warm*.")
@click.option("--keep", multiple=True, metavar="FIELD=GLOB", help="Leave out all other runs: max_concurrency=64.")
@click.option("--figure", "figures", multiple=True, metavar="FIGURE", help="Show these instead of the usual five.")
@click.option("--fail-if", "limits", multiple=True, metavar="LIMIT", help="Exit 1 if it holds: 'p99_itl_ms > +5%'.")
@click.option("--force", is_flag=True, help="Compare runs of different loads, and say so.")
@click.option("--svg", type=click.Path(path_type=Path, dir_okay=False), help="Write a plot to this file as well.")
@click.option("--title", default="Serving benchmark", help="Title of the plot.")
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
    from imagepins.evidence.figures import comparison as comparing
    from imagepins.evidence.figures import limits as limiting
    from imagepins.evidence.figures import sides
    from imagepins.evidence.figures.interference import is_interference
    from imagepins.evidence.figures.metrics import HEADLINE

    read = [sides.open_source(each) for each in sources]
    if is_interference(read[0]):
        if by or warmup or drop or keep or figures or svg:
            raise UsageError("rows of interference are compared as they stand; only --json and --fail-if apply to them")
        return _compare_interference(read, limits, as_json=as_json)
    wanted = limiting.parse_limits(limits)
    rule = sides.Rule(warmup, tuple(map(_field_glob, drop)), tuple(map(_field_glob, keep)))
    found, flaws = sides.make_sides([sides.parse_source(each) for each in read], by=by, rule=rule)
    names = comparing.check_figures(figures) or HEADLINE
    result = comparing.compare_sides(found, metrics=names, force=force, flaws=flaws)
    return show_comparison(result, wanted, svg=svg, title=title, as_json=as_json)


def show_comparison(
    result: "Comparison", limits: "Sequence[Limit]", *, svg: Path | None, title: str, as_json: bool
) -> int:
    """Print a comparison and write its plot; the exit code is 1 where a limit is broken."""
    from imagepins.evidence.figures import report
    from imagepins.evidence.figures.limits import broken_limits
    from imagepins.evidence.figures.plot import comparison_svg

    if svg:
        _write(svg, comparison_svg(result, title=title))
    broken = broken_limits(result, limits)
    show(report.comparison_json(result, broken) if as_json else report.comparison_markdown(result))
    return tell_broken(broken)


def _compare_interference(sources: "Sequence[Source]", limits: Sequence[str], *, as_json: bool) -> int:
    from imagepins.evidence.figures import interference as rows
    from imagepins.evidence.figures.limits import broken_slowdowns, parse_slowdown_limits

    wanted = parse_slowdown_limits(limits)
    found = rows.compare_interference(sources)
    broken = broken_slowdowns(found, wanted)
    show(rows.interference_json(found, broken) if as_json else rows.interference_markdown(found))
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


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    click.echo(f"wrote {path}", err=True)
