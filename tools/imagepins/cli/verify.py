"""``tools/image verify`` and ``inspect``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from imagepins.cli import json_option, pins_option
from imagepins.errors import RefError
from imagepins.terminal import unguarded
from imagepins.verify.keeper import Keeper

if TYPE_CHECKING:
    from imagepins.verify.findings import Report

FILE = click.Path(path_type=Path, dir_okay=False)
SECONDS = click.IntRange(1, 86400)


@click.command()
@click.argument("images", metavar="[IMAGE]...", nargs=-1)
@click.option("--ref", help="Verify this image instead of the one that bears the target's tag.")
@click.option(
    "--against",
    type=click.Choice(["pins", "image"]),
    default="pins",
    show_default=True,
    help="Judge by pins.yaml, or by the pins stored in the image.",
)
@click.option("--strict", is_flag=True, help="Let findings and unproven pins fail too.")
@click.option("--gpu", is_flag=True, help="Pass the GPUs through and run the checks that need one.")
@click.option("--require-gpu", is_flag=True, help="Fail where the checks that need a GPU cannot run.")
@click.option("--junit", type=FILE, help="Write JUnit XML to this file.")
@click.option("--summary", type=FILE, help="Append Markdown to this file, for example $GITHUB_STEP_SUMMARY.")
@click.option("--save", type=FILE, help="Save what the image shows, to be judged later.")
@click.option("--from", "saved", type=FILE, help="Judge what was saved; needs no engine.")
@click.option("--timeout", type=SECONDS, default=300, show_default=True, help="Seconds to collect in.")
@click.option("--load-timeout", type=SECONDS, default=120, show_default=True, help="Seconds for each thing loaded.")
@json_option
@pins_option
@click.pass_obj
def verify(  # noqa: PLR0917 - the options of a command
    started: Keeper | None,
    /,
    images: tuple[str, ...],
    pins_path: Path,
    strict: bool,
    junit: Path | None,
    summary: Path | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Prove that what a process in IMAGE loads is what is pinned.

    IMAGE is the name of an image, or image/variant; all images where none is named. Exit code 1: a check failed.
    """
    from imagepins.pins.load import load
    from imagepins.verify.run import Options, unanswered, verify_all

    reports = []
    with started or Keeper() as keeper:
        pins = load(pins_path)
        targets = pins.select(images)
        try:
            for report in verify_all(pins, targets, Options(**options), keeper):
                reports.append(report)
                if not as_json:
                    _show(report)
        except RefError as error:
            missing = unanswered(targets[0], options["ref"], "no-image", str(error))
            _write([missing], strict=strict, junit=junit, summary=summary, as_json=as_json)
            raise
    _write(reports, strict=strict, junit=junit, summary=summary, as_json=as_json)
    return 0 if all(report.is_good(strict=strict) for report in reports) else 1


def _show(report: Report) -> None:
    """Print a report: the table, then everything that is not fine in full."""
    from imagepins.verify import reports
    from imagepins.verify.findings import Status

    if report.checks and sys.stdout.isatty():
        from rich.console import Console

        Console(file=unguarded(sys.stdout)).print(reports.table(report))
    elif report.checks:
        click.echo(reports.plain_table(report))
    for check in report.checks:
        if check.status not in (Status.PASSED, Status.SKIPPED):
            click.echo(f"\n{reports.explain(report, check)}")
    for note in (*report.differences, *report.notes):
        click.echo(f"note: {reports.visible(note)}")
    click.echo(f"\n{reports.headline(report)}")


def _write(reports: list[Report], *, strict: bool, junit: Path | None, summary: Path | None, as_json: bool) -> None:
    from imagepins.verify import reports as render
    from imagepins.writing import append_text, write_text

    if as_json:
        click.echo(render.as_json(reports, strict=strict))
        for report in reports:
            click.echo(render.headline(report), err=True)
    if junit:
        write_text(junit, render.as_junit(reports, strict=strict))
    if summary:
        append_text(summary, render.as_markdown(reports))


@click.command()
@click.argument("ref", metavar="REF")
@json_option
def inspect(ref: str, *, as_json: bool) -> None:
    """Tell the pins of any image: one of the engine, or one of a registry, of which no layer is pulled."""
    import json

    from imagepins.verify.inspect import as_document, as_text
    from imagepins.verify.inspect import inspect as look

    found = look(ref)
    click.echo(json.dumps(as_document(found), indent=2) if as_json else as_text(found))
