"""``tools/bump_pin``: move pins, see how far they are behind, check the pin file. Only click is imported at start."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from imagepins.cli import json_option, pins_option, run_command
from imagepins.errors import UsageError

FILE = click.Path(path_type=Path, dir_okay=False)


class _Command(click.Command):
    """A command whose --compare takes every word up to the next option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, _spread(args, "--compare"))


def _spread(words: Sequence[str], option: str) -> list[str]:
    """The words with ``option`` before each that follows it, as an option that may be repeated is read."""
    spread: list[str] = []
    is_taking = False
    for word in words:
        if word.startswith("-"):
            is_taking = word == option
        elif is_taking and spread[-1] != option:
            spread.append(option)
        spread.append(word)
    return spread


@click.command(cls=_Command, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("name", required=False)
@click.argument("ref", required=False)
@click.argument("more", nargs=-1, metavar="")
@click.option("--group", metavar="GROUP", help="Move every pin of the group, or none.")
@click.option("--all", "everything", is_flag=True, help="Move every pin to what it tracks.")
@click.option("--outdated", is_flag=True, help="Tell how far each pin is from what it tracks; write nothing.")
@click.option("--check", is_flag=True, help="Check pin file and rendered files offline; write nothing.")
@click.option("--dry-run", is_flag=True, help="Show report and diff; write nothing but the user's cache.")
@json_option
@click.option("--commit", is_flag=True, help="Make one git commit of what was written.")
@click.option("--branch", metavar="BRANCH", help="Make that commit on a new branch (implies --commit).")
@click.option("--force", is_flag=True, help="Move even where nothing under the pin's path changed.")
@click.option("--allow-unreachable", is_flag=True, help="Take a commit no tracked ref contains; the pin records it.")
@click.option("--allow-downgrade", is_flag=True, help="Move backwards or sideways in history, or to an older version.")
@click.option("--allow-moved-tag", is_flag=True, help="Follow the tracked tag to the commit upstream moved it to.")
@click.option("--break-alias", is_flag=True, help="Give a pin whose value is an alias (*name) a value of its own.")
@click.option("--min-age", type=click.IntRange(0, 3650), metavar="DAYS", help="Take no git commit younger than that.")
@click.option("--reason", metavar="TEXT", help="Reason to record with --allow-unreachable.")
@click.option("--offline", is_flag=True, help="Ask no server; the report says what was not checked.")
@click.option("--describe", is_flag=True, help="Print the body of the pull request; write nothing.")
@click.option("--compare", multiple=True, metavar="FILES...", help="With --describe: results to compare, base first.")
@click.option("--verified", multiple=True, type=FILE, help="With --describe: what image verify --json printed.")
@click.option("--open", "open_request", is_flag=True, help="With --describe: open the pull request by gh.")
@click.option("--from-dockerfile", type=FILE, help="Compare with the ARGs of an upstream Dockerfile; NAME... or all.")
@click.option("--apply", is_flag=True, help="With --from-dockerfile: take its values over.")
@pins_option
def bump_pin(more: tuple[str, ...], **options: Any) -> int:
    """Move the pin NAME of pins.yaml to REF and render the Dockerfiles again: all files, or none.

    REF is a commit, a short sha, a branch, a tag, pull/N or a pasted URL of one; for other kinds of pin a tag, a URL
    or a version. Without REF the pin follows what it tracks.
    """
    return _run(more, options.pop("pins_path"), options)


def _run(more: tuple[str, ...], pins_path: Path, options: dict[str, Any]) -> int:
    from imagepins.bump import command

    options = dict(options)
    describing = {key: options.pop(key) for key in ("compare", "verified", "open_request")}
    describe, source, apply = (options.pop(key) for key in ("describe", "from_dockerfile", "apply"))
    _check_combination(more, describe=describe, source=source, apply=apply, attached=any(describing.values()))
    if source:
        from imagepins.cli.sync import from_dockerfile

        return from_dockerfile(pins_path, source, more, apply=apply, **options)
    if describe:
        from imagepins.cli.sync import describe as describe_bump

        return describe_bump(pins_path, **describing, **options)
    return command.run(pins_path, **options)


def _check_combination(
    more: tuple[str, ...], *, describe: bool, source: Path | None, apply: bool, attached: bool
) -> None:
    if describe and source:
        raise UsageError("--describe and --from-dockerfile are two questions; ask one at a time")
    if attached and not describe:
        raise UsageError("--compare, --verified and --open belong to --describe")
    if apply and not source:
        raise UsageError("--apply belongs to --from-dockerfile")
    if more and not source:
        raise UsageError(f"one pin and one ref at a time, not also {' '.join(more)}; see --group and --all")


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of ``tools/bump_pin``; returns the exit code."""
    return run_command(bump_pin, argv, name="bump_pin")
