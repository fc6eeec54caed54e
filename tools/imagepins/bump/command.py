"""Options of ``tools/bump_pin`` → the one thing they ask for."""

import os
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from imagepins.bump.move import Options, Request
from imagepins.bump.questions import members, print_json, tell_check, tell_outdated
from imagepins.bump.source import read_pins
from imagepins.bump.usage import PERMISSIONS, check_usage
from imagepins.errors import UsageError
from imagepins.gitrepo.cache import cache_root
from imagepins.gitrepo.hosting import Hosting
from imagepins.gitrepo.url import parse_mirrors
from imagepins.terminal import to_stderr

if TYPE_CHECKING:
    from imagepins.bump.commit import BumpCommit
    from imagepins.bump.run import Outcome


def run(pins_path: Path, **asked: Any) -> int:
    """Do what was asked, by the names of the options in Python, and return the exit code."""
    check_usage(asked)
    options = make_options(**{key: asked[key] for key in PERMISSIONS})
    name, group, as_json, dry_run = asked["name"], asked["group"], asked["as_json"], asked["dry_run"]
    if asked["check"]:
        return tell_check(pins_path, as_json=as_json)
    if asked["outdated"]:
        return tell_outdated(pins_path, name, group, options, as_json=as_json)
    request = make_request(pins_path, name, asked["ref"], group, everything=asked["everything"])
    commit, branch = asked["commit"], asked["branch"]
    outcome, made = carry_out(pins_path, request, options, dry_run=dry_run, commit=commit, branch=branch)
    tell(outcome, pins_path.parent, dry_run=dry_run, as_json=as_json, commit=made)
    return exit_code(outcome)


def make_options(
    *,
    force: bool = False,
    allow_unreachable: bool = False,
    allow_downgrade: bool = False,
    allow_moved_tag: bool = False,
    break_alias: bool = False,
    min_age: int | None = None,
    reason: str | None = None,
    offline: bool = False,
) -> Options:
    """What the command line allows, with this user's cache and mirrors."""
    return Options(
        cache=cache_root(),
        mirrors=parse_mirrors(os.environ.get("IMAGEPINS_MIRRORS", "")),
        offline=offline,
        force=force,
        allow_unreachable=allow_unreachable,
        allow_downgrade=allow_downgrade,
        allow_moved_tag=allow_moved_tag,
        break_alias=break_alias,
        min_age_days=min_age,
        reason=reason,
        hosting=Hosting.of_user(to_stderr),
    )


def carry_out(
    pins_path: Path, request: Request, options: Options, *, dry_run: bool, commit: bool, branch: str | None
) -> "tuple[Outcome, BumpCommit | None]":
    """Move the pins and, where asked for, commit that; a dry run tells, and refuses, what the commit would."""
    from imagepins.bump.run import bump

    if not commit and branch is None:
        return bump(pins_path, request, options, dry_run=dry_run), None
    from imagepins.bump.checkout import check_committable, commit_files, only_committer, prepare_branch
    from imagepins.bump.commit import BumpCommit, message

    root = pins_path.parent
    prepare_branch(root, branch)
    with nullcontext() if dry_run else only_committer(root):
        check = partial(check_committable, root)
        outcome = bump(pins_path, request, options, dry_run=dry_run, before_write=check)
        if not outcome.proposal.contents:
            return outcome, None
        sha = commit_files(pins_path, outcome, branch) if outcome.written else None
    return outcome, BumpCommit(message(outcome.proposal.moves), branch, sha)


def exit_code(outcome: "Outcome") -> int:
    """0, or the worst exit code of what could not be moved."""
    return max((error.exit_code for _, error in outcome.failed), default=0)


def make_request(pins_path: Path, name: str | None, ref: str | None, group: str | None, *, everything: bool) -> Request:
    """The pins that are meant, each with its ref. Raises UsageError for a group or member that is not there."""
    if name and not group:
        return Request({name: ref})
    pinset = read_pins(pins_path, None)
    if everything:
        return Request(dict.fromkeys(map(str, pinset.pins)), is_lenient=True)
    refs: Mapping[str, str | None] = dict.fromkeys(members(pinset, group or ""))
    if name and name not in refs:
        raise UsageError(f"{pinset.path}: pin '{name}' is not in group '{group}' ({', '.join(refs)})")
    return Request({**refs, name: ref} if name else refs)


def tell(outcome: "Outcome", root: Path, *, dry_run: bool, as_json: bool, commit: "BumpCommit | None") -> None:
    """Print the report of a bump."""
    from imagepins.bump import report

    if as_json:
        print_json(report.as_json(outcome, root, dry_run=dry_run, commit=commit))
        return
    sys.stdout.write(report.as_text(outcome, root, dry_run=dry_run) + "\n")
    if dry_run:
        sys.stdout.write(report.diff(outcome, root))
    if commit:
        sys.stdout.write(report.committed(commit))
