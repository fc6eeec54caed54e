"""What the three commands share: options, the one error handler, commands that load only when called."""

import importlib
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from imagepins.errors import EXIT_INTERRUPTED, ImagePinsError

REPOSITORY = Path(__file__).resolve().parents[3]


def default_pins() -> Path:
    """pins.yaml of the working directory or its nearest parent that has one, else the tool's own."""
    here = Path.cwd()
    candidates = [directory / "pins.yaml" for directory in (here, *here.parents)]
    return next((path for path in candidates if path.is_file()), REPOSITORY / "pins.yaml")


pins_option = click.option(
    "--pins",
    "pins_path",
    type=click.Path(path_type=Path, dir_okay=False),
    default=default_pins,
    show_default="pins.yaml here or above",
    help="The pin file.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


class LazyGroup(click.Group):
    """A group that imports a command's module when the command is called or listed."""

    def __init__(self, *args: Any, lazy: Mapping[str, str] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.lazy = dict(lazy or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *self.lazy})

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self.lazy:
            return super().get_command(ctx, name)
        module, _, attribute = self.lazy[name].partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)  # noqa: S101 - the table of this package
        return command


def run_command(command: click.Command, argv: Sequence[str] | None, *, name: str, obj: object = None) -> int:
    """Run ``command`` and return its exit code; errors are told on stderr, in one place and without a traceback.

    ``obj`` is handed to commands that ask for it. A command returns its code, or None for 0. SIGTERM and SIGHUP end it
    as an interrupt does, so that clean-up runs.
    """
    _listen_to_signals()
    try:
        arguments = None if argv is None else list(argv)
        code = command.main(args=arguments, prog_name=name, standalone_mode=False, obj=obj)
        sys.stdout.flush()
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        error.show(sys.stderr)
        return 2
    except (KeyboardInterrupt, click.Abort):
        click.echo(f"{name}: interrupted", err=True)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader of stdout went away; Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (ImagePinsError, OSError) as error:
        click.echo(f"{name}: {_words(error)}", err=True)
        return error.exit_code if isinstance(error, ImagePinsError) else 1
    return code if isinstance(code, int) else 0


def _words(error: ImagePinsError | OSError) -> str:
    if isinstance(error, ImagePinsError) or not error.strerror:
        return str(error)
    return f"{error.filename}: {error.strerror}" if error.filename else error.strerror


def _listen_to_signals() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, _interrupt)
    # A shell starts background jobs with SIGINT ignored, and whoever sends one means it.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _interrupt(_signal: int, _frame: object) -> None:
    raise KeyboardInterrupt
