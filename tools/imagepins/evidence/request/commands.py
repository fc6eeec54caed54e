"""``bump_pin --describe`` and ``--from-dockerfile``: what the command line asks → text on stdout, exit code."""

import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from imagepins.bump import report
from imagepins.bump.command import carry_out, exit_code, tell
from imagepins.bump.commit import subject
from imagepins.bump.move import Options
from imagepins.bump.run import Request
from imagepins.errors import CheckFailed, RefError, UsageError
from imagepins.evidence.request.describe import Attached, describe, read_verified
from imagepins.evidence.request.lastmove import described_move
from imagepins.process import ProcessFailed, run

if TYPE_CHECKING:
    from imagepins.evidence.request.upstream import Upstream

OPEN_SECONDS = 120.0


def run_describe(
    pins_path: Path,
    request: Request,
    options: Options,
    *,
    compare: Sequence[str] = (),
    verified: Sequence[Path] = (),
    open_request: bool = False,
) -> int:
    """Print the body of the pull request for a bump that is to be made, or was made last; nothing is written.

    ``compare`` are result files of a benchmark, the base first; ``verified`` what ``image verify --json`` printed. With
    ``open_request`` the body is handed to ``gh pr create`` as well. Raises whatever a bump raises, and UsageError.
    """
    attached = Attached(_comparison(compare), tuple(read_verified(path) for path in verified))
    if open_request and not shutil.which("gh"):
        raise UsageError("--open needs the program gh, which is not on PATH; paste the text of --describe instead")
    outcome = described_move(pins_path, request, options)
    body = describe(outcome, attached)
    sys.stdout.write(body)
    if open_request:
        sys.stdout.write(_open(pins_path.resolve().parent, subject(outcome.proposal.moves), body))
    return exit_code(outcome)


def run_from_dockerfile(
    pins_path: Path,
    source: Path,
    names: Sequence[str],
    options: Options,
    *,
    apply: bool = False,
    dry_run: bool = False,
    as_json: bool = False,
    commit: bool = False,
    branch: str | None = None,
) -> int:
    """Print pins beside an upstream Dockerfile's ARGs; with ``apply`` take its values over for ``names`` (none: all).

    Values go through the checks of any other bump. All pins that differ are moved together, or, without names, those
    that can be: the exit code then tells that some could not.
    """
    import json

    from imagepins.evidence.request.upstream import compare_dockerfile, upstream_json, upstream_markdown
    from imagepins.pins.load import load

    pinset = load(pins_path)
    for name in names:
        pinset.pin(name)
    found = compare_dockerfile(pinset, _read(source), file=str(source))
    refs = _refs(found, names, apply=apply)
    if not as_json:
        sys.stdout.write(upstream_markdown(found))
    outcome, made, root = None, None, pins_path.parent
    if apply and refs:
        request = Request(refs, is_lenient=not names)
        outcome, made = carry_out(pins_path, request, options, dry_run=dry_run, commit=commit, branch=branch)
    if as_json:
        bumped = report.as_json(outcome, root, dry_run=dry_run, commit=made) if outcome else None
        sys.stdout.write(json.dumps({**upstream_json(found), "bump": bumped}, indent=2) + "\n")
    elif outcome:
        sys.stdout.write("\n")
        tell(outcome, root, dry_run=dry_run, as_json=False, commit=made)
    return exit_code(outcome) if outcome else 0


def _refs(found: "Upstream", names: Sequence[str], *, apply: bool) -> dict[str, str | None]:
    """Pins to move and upstream's values. Raises RefError for a named pin whose value cannot be taken over."""
    rows = {str(row.pin.name): row for row in found.rows}
    for name in names if apply else ():
        if name not in rows:
            raise RefError(f"{found.file} has no ARG for pin '{name}'")
        if not rows[name].can_apply and rows[name].state != "same":
            raise RefError(f"pin '{name}' cannot be taken over from {found.file}: {rows[name].state}")
    return {name: row.ref for name, row in rows.items() if row.can_apply and (not names or name in names)}


def _comparison(files: Sequence[str]) -> str:
    if not files:
        return ""
    from imagepins.evidence.figures.files import Question, as_markdown, compare_files

    return as_markdown(compare_files(files, Question()))


def _open(root: Path, title: str, body: str) -> str:
    """Hand title and body to gh and return what it prints: the address. Raises CheckFailed with its own words."""
    env = {**os.environ, "GH_PROMPT_DISABLED": "1", "GIT_TERMINAL_PROMPT": "0"}
    with tempfile.NamedTemporaryFile("w", suffix=".md", encoding="utf-8") as file:
        file.write(body)
        file.flush()
        argv = ["gh", "pr", "create", "--title", title, "--body-file", file.name]
        try:
            return run(argv, cwd=root, env=env, timeout=OPEN_SECONDS).stdout
        except ProcessFailed as error:
            raise CheckFailed(f"gh did not open the pull request: {error.output.strip() or error.reason}") from error


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not UTF-8 text; a Dockerfile is expected") from None
