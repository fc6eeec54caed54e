"""A pin that is where it should be already → the move that brought it there, found in the history of pins.yaml."""

from dataclasses import replace
from functools import partial
from pathlib import Path

from imagepins import process
from imagepins.bump.compose import compose
from imagepins.bump.move import Options
from imagepins.bump.run import Outcome, Request, bump, propose
from imagepins.errors import PinsError, UsageError
from imagepins.gitrepo.command import own_environment
from imagepins.pins.load import load, loads
from imagepins.pins.model import PinSet
from imagepins.process import ProcessFailed

MOST_VERSIONS = 200
"""How many versions of pins.yaml are looked at; a bump is described within days of being made."""


def described_move(pins_path: Path, request: Request, options: Options) -> Outcome:
    """What a bump would do, or, for pins that are there already, what the last one did. Writes nothing.

    Raises whatever a bump raises, and UsageError where the history knows no other value of the pins.
    """
    outcome = bump(pins_path, request, options, dry_run=True)
    if any(not move.is_noop for move in outcome.proposal.moves):
        return outcome
    names = [str(move.pin) for move in outcome.proposal.moves if not move.skipped]
    now = load(pins_path)
    before = _version_before(pins_path, now, names)
    moved = {name: str(now.pin(name).id) for name in names if before.pin(name).id != now.pin(name).id}
    # What was allowed when the pin moved is not to be refused when that is told.
    moves, failed = propose(before, Request(dict(moved)), options.permissive)
    return Outcome(replace(compose(before, moves, pins_path), contents={}, after=now), (), failed)


def _version_before(pins_path: Path, now: PinSet, names: list[str]) -> PinSet:
    """The newest committed pins.yaml in which one of the pins has another id."""
    # git knows a link by where it leads to: what the file was there.
    real = pins_path.resolve()
    run = partial(process.run, cwd=real.parent, env=own_environment())
    try:
        log = run(["git", "log", f"--max-count={MOST_VERSIONS}", "--format=%H", "--", real.name])
        for commit in log.stdout.split():
            text = run(["git", "show", f"{commit}:./{real.name}"]).stdout
            if (pinset := _readable(text)) and any(_differs(pinset, now, name) for name in names):
                return pinset
    except ProcessFailed as error:
        raise UsageError(f"{pins_path}: nothing moves, and no earlier version can be read: {error.reason}") from error
    raise UsageError(
        f"{', '.join(names) or 'no pin'}: nothing moves, and no earlier version of {pins_path.name} differs"
    )


def _readable(text: str) -> PinSet | None:
    """A version of pins.yaml, or None for one of an older format."""
    try:
        return loads(text)
    except PinsError:
        return None


def _differs(before: PinSet, now: PinSet, name: str) -> bool:
    return name in before.pins and before.pins[name].id != now.pins[name].id
