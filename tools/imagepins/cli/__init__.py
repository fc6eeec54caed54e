"""What the three commands share: options, the one error handler, commands that load only when called."""

import importlib
import io
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from itertools import takewhile
from pathlib import Path
from typing import Any

import click

from imagepins.errors import EXIT_INTERRUPTED, ImagePinsError
from imagepins.pins.text import masked
from imagepins.terminal import guarded

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


_ENDS = (click.ClickException, click.Abort, KeyboardInterrupt, ImagePinsError, OSError)
"""Ways to end other than by returning; anything else is a fault of this tool and shows its traceback."""


def run_command(command: click.Command, argv: Sequence[str] | None, *, name: str, obj: object = None) -> int:
    """Run ``command`` and return its exit code; errors are told on stderr, in one place and without a traceback.

    ``obj`` is handed to commands that ask for it. A command returns its code, or None for 0. SIGTERM and SIGHUP end it
    as an interrupt does, so that clean-up runs. With ``--json`` stdout gets one JSON document, whole: what the command
    printed, or, where it ended before it printed any, ``{"error": ..., "exit_code": ...}``. Nothing that is written
    steers the terminal, whoever wrote it.
    """
    _listen_to_signals()
    _open_closed_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A name in letters that the terminal's encoding lacks must not end a command that has done its work. In a log
        # of both streams lines stand as they were written, as on a terminal.
        sys.stdout.reconfigure(errors="backslashreplace", line_buffering=True)
    arguments = list(sys.argv[1:] if argv is None else argv)
    with guarded():
        try:
            if "--json" in takewhile(lambda each: each != "--", arguments):
                return _with_one_document(command, arguments, name, obj)
            code = _call(command, arguments, name, obj)
            sys.stdout.flush()
        except _ENDS as error:
            return _tell(error, name)[0]
    return code


def _with_one_document(command: click.Command, arguments: list[str], name: str, obj: object) -> int:
    held = io.StringIO()
    try:
        with redirect_stdout(held):
            code = _call(command, arguments, name, obj)
    except _ENDS as error:
        code, message = _tell(error, name)
        if not held.getvalue():
            import json

            held.write(json.dumps({"error": message, "exit_code": code}, indent=2) + "\n")
    sys.stdout.write(held.getvalue())
    sys.stdout.flush()
    return code


def _call(command: click.Command, arguments: list[str], name: str, obj: object) -> int:
    try:
        code = command.main(args=arguments, prog_name=name, standalone_mode=False, obj=obj)
    except RuntimeError as error:
        # So Python 3.11 tells an interrupt that comes while a class is made, as imports make them.
        if isinstance(error.__cause__, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        raise
    return code if isinstance(code, int) else 0


def _tell(error: BaseException, name: str) -> tuple[int, str]:
    """Tell ``error``, one of ``_ENDS``, on stderr; its exit code and what it says."""
    match error:
        case click.ClickException():
            error.show(sys.stderr)
            return 2, error.format_message()
        case BrokenPipeError():
            # The reader of stdout went away; Python would complain once more when it flushes at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1, ""
        case ImagePinsError():
            code, message = error.exit_code, masked("\n".join((str(error), *getattr(error, "__notes__", ()))))
        case OSError():
            code, message = 1, _words(error)
        case _:
            code, message = EXIT_INTERRUPTED, "interrupted"
    click.echo(f"{name}: {message}", err=True)
    return code, message


def _words(error: OSError) -> str:
    if not error.strerror:
        return str(error)
    return f"{error.filename}: {error.strerror}" if error.filename else error.strerror


def _open_closed_streams() -> None:
    """Let what is written to a stream that was closed at the start, as daemons have them, go nowhere."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - as long as the process lasts


def _listen_to_signals() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, _interrupt)
    # A shell starts background jobs with SIGINT ignored, and whoever sends one means it.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _interrupt(_signal: int, _frame: object) -> None:
    raise KeyboardInterrupt
