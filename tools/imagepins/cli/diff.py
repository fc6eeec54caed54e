"""``tools/image diff``."""

from pathlib import Path

import click

from imagepins.cli import json_option, pins_option
from imagepins.cli.compare import show


@click.command()
@click.argument("base", metavar="A")
@click.argument("other", metavar="B")
@click.option("--semantic", is_flag=True, help="Leave out what no process sees: times, bytecode, logs, build labels.")
@click.option("--image", metavar="IMAGE", help="Which image of pins.yaml they are, where their labels do not tell.")
@click.option("--no-files", is_flag=True, help="Do not compare file by file.")
@click.option("--exit-code", is_flag=True, help="Exit 1 where anything differs.")
@json_option
@pins_option
def diff(
    base: str,
    other: str,
    *,
    semantic: bool,
    image: str | None,
    no_files: bool,
    exit_code: bool,
    as_json: bool,
    pins_path: Path,
) -> int:
    """Compare two images: pins, versions found, packages, libraries, environment, labels, layers and files.

    A and B are images of the engine, images of a registry (compared as far as it tells without a pull), or documents
    saved by verify --save: paths with a slash, or names that end in .json.
    """
    from imagepins.evidence.images.difference import difference
    from imagepins.evidence.images.report import difference_json, difference_markdown
    from imagepins.evidence.images.snapshot import Wanted, take
    from imagepins.pins.load import load

    pinset = load(pins_path)
    wanted = Wanted(image=image, files=not no_files, content=semantic)
    found = difference(*(take(source, pinset, wanted) for source in (base, other)), semantic=semantic)
    show(difference_json(found) if as_json else difference_markdown(found))
    return 1 if exit_code and not found.is_empty else 0
