"""``tools/bump_pin --describe`` and ``--from-dockerfile``: what the command line asks → one call into ``evidence``."""

from pathlib import Path
from typing import Any

from imagepins.bump.command import make_options, make_request
from imagepins.bump.usage import PERMISSIONS, refuse
from imagepins.errors import UsageError
from imagepins.evidence.request.commands import run_describe, run_from_dockerfile


def describe(
    pins_path: Path, *, compare: tuple[str, ...], verified: tuple[Path, ...], open_request: bool, **asked: Any
) -> int:
    """Print the body of the pull request. Raises UsageError for options that would write or print something else."""
    refuse(asked, "--describe", ("outdated", "check", "dry_run", "as_json", "commit", "branch"))
    if not (asked["name"] or asked["group"] or asked["everything"]):
        raise UsageError("name the pin whose move is to be described, or say --group or --all")
    options = make_options(**{key: asked[key] for key in PERMISSIONS})
    request = make_request(pins_path, asked["name"], asked["ref"], asked["group"], everything=asked["everything"])
    return run_describe(pins_path, request, options, compare=compare, verified=verified, open_request=open_request)


def from_dockerfile(pins_path: Path, source: Path, more: tuple[str, ...], *, apply: bool, **asked: Any) -> int:
    """Compare with an upstream Dockerfile, or take its values over: for the pins that are named, or all."""
    refuse(asked, "--from-dockerfile", ("group", "outdated", "check"))
    names = [name for name in (asked["name"], asked["ref"], *more) if name]
    if not apply:
        refuse(asked, "--from-dockerfile without --apply", ("commit", "branch"))
    return run_from_dockerfile(
        pins_path,
        source,
        names,
        make_options(**{key: asked[key] for key in PERMISSIONS}),
        apply=apply,
        **{key: asked[key] for key in ("dry_run", "as_json", "commit", "branch")},
    )
