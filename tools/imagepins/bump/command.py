"""Options of ``tools/bump_pin`` → the one thing they ask for."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from imagepins.bump import report
from imagepins.bump.move import Options
from imagepins.bump.run import Outcome, Request, bump, read_pins
from imagepins.errors import UsageError
from imagepins.gitrepo.cache import cache_root
from imagepins.gitrepo.url import parse_mirrors


def run(
    pins_path: Path,
    *,
    name: str | None,
    ref: str | None,
    group: str | None,
    everything: bool,
    outdated: bool,
    check: bool,
    dry_run: bool,
    as_json: bool,
    commit: bool,
    branch: str | None,
    force: bool,
    allow_unreachable: bool,
    allow_downgrade: bool,
    reason: str | None,
    offline: bool,
) -> int:
    """Do what was asked and return the exit code."""
    options = Options(
        cache=cache_root(),
        mirrors=parse_mirrors(os.environ.get("IMAGEPINS_MIRRORS", "")),
        offline=offline,
        force=force,
        allow_unreachable=allow_unreachable,
        allow_downgrade=allow_downgrade,
        reason=reason,
    )
    _check_usage(name, group, everything=everything, outdated=outdated, check=check)
    request = _request(pins_path, name, ref, group, everything=everything)
    outcome = bump(pins_path, request, options, dry_run=dry_run)
    _tell(outcome, pins_path.parent, dry_run=dry_run, as_json=as_json)
    return max((error.exit_code for _, error in outcome.failed), default=0)


def _check_usage(name: str | None, group: str | None, *, everything: bool, outdated: bool, check: bool) -> None:
    if not (name or group or everything or outdated or check):
        raise UsageError("name a pin, or say --group, --all, --outdated or --check; see bump_pin --help")
    if everything and (name or group):
        raise UsageError("--all takes neither a pin nor a group")
    if outdated and check:
        raise UsageError("--outdated and --check are two questions; ask one at a time")


def _request(pins_path: Path, name: str | None, ref: str | None, group: str | None, *, everything: bool) -> Request:
    if name and not group:
        return Request({name: ref})
    pinset = read_pins(pins_path, [name] if name else [])
    if everything:
        return Request(dict.fromkeys(map(str, pinset.pins)), is_lenient=True)
    group = group or ""
    if group not in pinset.groups:
        from imagepins.pins.schema import nearest

        raise UsageError(f"{pinset.path}: no group '{group}'{nearest(group, pinset.groups)}")
    refs: Mapping[str, str | None] = dict.fromkeys(map(str, pinset.groups[group]))
    if name and name not in refs:
        raise UsageError(f"{pinset.path}: pin '{name}' is not in group '{group}' ({', '.join(refs)})")
    return Request({**refs, name: ref} if name else refs)


def _tell(outcome: Outcome, root: Path, *, dry_run: bool, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(report.as_json(outcome, root, dry_run=dry_run), indent=2) + "\n")
        return
    sys.stdout.write(report.as_text(outcome, root, dry_run=dry_run) + "\n")
    if dry_run:
        sys.stdout.write(report.diff(outcome, root))
