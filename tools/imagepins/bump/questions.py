"""``--check`` and ``--outdated``: what is printed, and the exit code."""

import datetime
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from imagepins.bump.move import Options
from imagepins.bump.source import read_pins
from imagepins.columns import counted
from imagepins.errors import CheckFailed, NetworkError, UsageError
from imagepins.files import shared
from imagepins.pins.model import PinSet
from imagepins.pins.schema import nearest


def tell_check(pins_path: Path, *, as_json: bool) -> int:
    """Print what ``--check`` finds; 1 where something is to be put right."""
    from imagepins.bump.check import check

    problems = check(pins_path, datetime.date.today())
    failures = sum(problem.is_failure for problem in problems)
    if as_json:
        print_json({"problems": [asdict(problem) for problem in problems], "failures": failures})
    else:
        for problem in problems:
            sys.stdout.write(f"{problem.place}: {'' if problem.is_failure else 'warning: '}{problem.message}\n")
            sys.stdout.write(problem.diff)
        sys.stderr.write(f"{failures} to put right, {len(problems) - failures} to know of\n")
    return 1 if failures else 0


def tell_outdated(pins_path: Path, name: str | None, group: str | None, options: Options, *, as_json: bool) -> int:
    """Print what ``--outdated`` finds; 1 where a person is needed, 4 where a server did not answer."""
    from imagepins.bump.outdated import outdated
    from imagepins.bump.status import statuses_as_text

    with shared(pins_path):
        pinset = read_pins(pins_path, None)
    names = [name] if name else list(members(pinset, group)) if group else list(map(str, pinset.pins))
    found = outdated(pinset, names, options, datetime.date.today())
    needs = [status for status in found if status.attention]
    unknown = [status for status in found if status.unknown]
    if as_json:
        print_json({"pins": [{**asdict(each), "words": each.words} for each in found], "attention": len(needs)})
    else:
        sys.stdout.write(statuses_as_text(found))
        sys.stderr.write(f"{counted(len(found), 'pin')}, {len(needs)} need attention, {len(unknown)} not known\n")
    if needs:
        return CheckFailed.exit_code
    return NetworkError.exit_code if unknown and not options.offline else 0


def members(pinset: PinSet, group: str) -> tuple[str, ...]:
    """Names of the pins of a group. Raises UsageError, with the nearest name, where there is no such group."""
    if group not in pinset.groups:
        raise UsageError(f"{pinset.path}: no group '{group}'{nearest(group, pinset.groups)}")
    return tuple(map(str, pinset.groups[group]))


def print_json(document: Mapping[str, Any]) -> None:
    """The one form in which all of bump_pin's JSON leaves."""
    sys.stdout.write(json.dumps(document, indent=2) + "\n")
