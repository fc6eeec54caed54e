"""``tools/engine status|up|base``: argv → one call, exit code."""

from collections.abc import Sequence

import click

from imagepins.cli import json_option, run_command
from imagepins.errors import EngineError


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def engine() -> None:
    """Look at, make and fill the Docker engine that images are built with."""


@engine.command()
@json_option
def status(*, as_json: bool) -> None:
    """Say what is there of an engine and what is missing; exit code 6 where none is usable."""
    from imagepins.engine.report import describe
    from imagepins.engine.status import read_status

    found = read_status()
    if as_json:
        _print_json(found.to_json())
    else:
        click.echo(describe(found))
    if found.problem:
        raise EngineError(found.problem)


@engine.command()
def up() -> None:
    """Make a usable engine: nothing to do where one answers, else install and start one (Debian, Ubuntu, root)."""
    from imagepins.engine.usable import find_problem

    if find_problem() is None:
        return
    from imagepins.engine.progress import start_progress
    from imagepins.engine.provision import make_usable

    make_usable(start_progress())


@engine.command()
@json_option
def base(*, as_json: bool) -> None:
    """Provide debian:trixie-slim: pulled where a registry answers, made with debootstrap otherwise."""
    from dataclasses import asdict

    from imagepins.engine.base import ensure_base
    from imagepins.engine.progress import start_progress

    found = ensure_base(start_progress())
    if as_json:
        _print_json(asdict(found))
    else:
        click.echo(f"{found.ref} from {found.origin}, {found.digest or found.id}")


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of ``tools/engine``: run the command line ``argv`` and return its exit code."""
    return run_command(engine, argv, name="engine")


def _print_json(document: object) -> None:
    import json

    click.echo(json.dumps(document, indent=2))
