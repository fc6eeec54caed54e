"""``tools/image bench``."""

from pathlib import Path

import click

from imagepins.cli import json_option, pins_option
from imagepins.cli.compare import show, show_comparison


@click.command()
@click.argument("image")
@click.option("--ref", "refs", multiple=True, help="Measure this image (default: the tag); twice for two.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Folder for results and logs.")
@click.option("--runs", type=click.IntRange(1), help="Measured runs of each side, instead of the recipe's.")
@click.option("--warmup", type=click.IntRange(0), help="Warm-up runs of each side, instead of the recipe's.")
@click.option("--volume", "volumes", multiple=True, metavar="HOST:PATH[:ro]", help="Mount a folder, such as models.")
@click.option("--pass-env", multiple=True, metavar="NAME", help="Pass a variable on, its value unseen: HF_TOKEN.")
@click.option("--network", default="bridge", show_default=True, help="Network of the container.")
@click.option("--fail-if", "limits", multiple=True, metavar="LIMIT", help="Exit 1 if it holds: 'p99_itl_ms > +5%'.")
@click.option("--svg", type=click.Path(path_type=Path, dir_okay=False), help="Write a plot to this file as well.")
@json_option
@pins_option
def bench(
    image: str,
    *,
    refs: tuple[str, ...],
    out: Path | None,
    runs: int | None,
    warmup: int | None,
    volumes: tuple[str, ...],
    pass_env: tuple[str, ...],
    network: str,
    limits: tuple[str, ...],
    svg: Path | None,
    as_json: bool,
    pins_path: Path,
) -> int:
    """Run the benchmark recipe of IMAGE and compare its sides.

    A side is an image (--ref) in one of the recipe's environments. Each gets a container of its own, one after the
    other; the first side is the base. Results, logs and what the image was proven to hold stay in the folder --out.
    """
    from imagepins.evidence.bench.measure import Machine
    from imagepins.evidence.bench.suite import Suite, default_folder, run_suite
    from imagepins.evidence.figures.comparison import compare_sides
    from imagepins.evidence.figures.limits import parse_limits
    from imagepins.evidence.figures.report import side_json, side_markdown
    from imagepins.evidence.figures.sides import Rule, make_sides
    from imagepins.pins.load import load

    wanted = parse_limits(limits)
    pinset = load(pins_path)
    machine = Machine(volumes=volumes, pass_env=pass_env, network=network)
    comparing = "--fail-if" if limits else "--svg" if svg else ""
    suite = Suite(image, refs, out or default_folder(pins_path, image), runs, warmup, machine, comparing)
    sources = run_suite(pinset, suite, tell=lambda text: click.echo(text, err=True))
    sides, flaws = make_sides(sources, by="file", rule=Rule(), least=1)
    if len(sides) == 1:
        show(side_json(sides[0]) if as_json else side_markdown(sides[0]))
        return 0
    comparison = compare_sides(sides, flaws=flaws)
    return show_comparison(comparison, wanted, svg=svg, title=f"Benchmark of {image}", as_json=as_json)
