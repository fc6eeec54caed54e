"""``tools/image compare``, ``bench``, ``diff`` and ``bisect``."""

import json
from collections.abc import Sequence
from pathlib import Path

import click

from imagepins.cli import json_option
from imagepins.errors import UsageError


@click.command()
@click.argument("sources", nargs=-1, required=True, metavar="BASE [CANDIDATE]...")
@click.option("--by", metavar="file|FIELD", help="What tells sides apart: the file, or a recorded field such as tag.")
@click.option("--warmup", type=click.IntRange(0), default=0, help="Leave out the first N runs of each side.")
@click.option("--drop", multiple=True, metavar="FIELD=GLOB", help="Leave out runs by a recorded field: tag=warm*.")
@click.option("--metric", "metrics", multiple=True, metavar="FIGURE", help="Show these instead of the headline figures.")
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
    metrics: tuple[str, ...],
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
    from imagepins.evidence.interference import is_interference
    from imagepins.evidence.sides import Rule, read_text

    text = read_text(sources[0])
    if text is not None and is_interference(text):
        if by or warmup or drop or metrics or svg:
            raise UsageError("interference rows are compared as they stand: only --json and --fail-if apply to them")
        return _compare_interference(sources, limits, as_json=as_json)
    rule = Rule(warmup, tuple(_field_glob(each) for each in drop))
    return _compare_runs(sources, by, rule, metrics, limits, force=force, svg=svg, title=title, as_json=as_json)
