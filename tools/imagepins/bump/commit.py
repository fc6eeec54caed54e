"""Written files → one commit of exactly those, on the branch at hand or on a new one.

The user's own git configuration applies: signing, hooks, identity. Their other changes, staged or not, stay theirs.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from imagepins import process
from imagepins.bump.move import Move
from imagepins.errors import CheckFailed, UsageError
from imagepins.gitrepo.resolve import short_name
from imagepins.markup import defuse

if TYPE_CHECKING:
    from imagepins.bump.run import Outcome

COMMIT_SECONDS = 300.0
"""Hooks of the user may run linters and tests."""


def prepare_branch(root: Path, branch: str | None) -> None:
    """Refuse early what would fail after the files are written: no repository, a branch that exists. UsageError."""
    if _git(root, "rev-parse", "--is-inside-work-tree", check=False).stdout.strip() != "true":
        raise UsageError(f"{root} is not in a git repository; leave out --commit and --branch")
    for state in ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply"):
        found = Path(_git(root, "rev-parse", "--git-path", state).stdout.strip())
        if (root / found).exists():
            raise UsageError(f"a {state.split('_')[0].lower()} is under way in {root}; finish it first")
    if branch is None:
        return
    if branch.startswith("-") or _git(root, "check-ref-format", "--branch", branch, check=False).code != 0:
        raise UsageError(f"'{branch}' cannot be the name of a branch")
    if _git(root, "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}", check=False).code == 0:
        raise UsageError(f"branch {branch} exists already; name another")


def check_clean(root: Path, paths: Sequence[Path]) -> None:
    """Refuse to commit a file in which the user has changes of their own. Raises UsageError."""
    status = process.run(
        ["git", "status", "--porcelain", "--untracked-files=no", "--", *map(str, paths)], cwd=root
    ).stdout
    if status.strip():
        names = ", ".join(line[3:] for line in status.splitlines())
        raise UsageError(f"{names}: changed and not committed; commit or stash that first, or leave out --commit")


def commit_files(root: Path, outcome: "Outcome", branch: str | None) -> str:
    """Commit what ``outcome`` wrote and return the new commit. Raises CheckFailed with what git or a hook said."""
    paths = [str(path) for path in outcome.written]
    moves = outcome.proposal.moves
    try:
        if branch is not None:
            _git(root, "switch", "--quiet", "--create", branch)
        _git(root, "add", "--", *paths)
        # --only takes these files and leaves whatever else is staged as it is.
        arguments = ["commit", "--quiet", "--only", "--file=-", "--", *paths]
        message = f"{subject(moves)}\n\n{body(moves)}"
        process.run(["git", *arguments], cwd=root, env=_environment(), stdin=message, timeout=COMMIT_SECONDS)
    except process.ProcessFailed as error:
        raise CheckFailed(f"the files are written, but not committed: {error.output.strip() or error}") from error
    return _git(root, "rev-parse", "HEAD").stdout.strip()


def subject(moves: Sequence[Move]) -> str:
    """``Update rccl to 1c0ab425abda (v2.32.3)``; without a tag the commit's date."""
    moved = [move for move in moves if not move.is_noop]
    if len(moved) == 1:
        return f"Update {moved[0].pin} to {_identity(moved[0])}"
    named = f"Update {', '.join(move.pin for move in moved)}"
    return named if len(named) <= 72 else f"Update {len(moved)} pins"


def body(moves: Sequence[Move]) -> str:
    """What moved from where to where, and the log, whose subjects must neither mention nor close anything of ours."""
    return "\n\n".join("\n".join(_lines(move)) for move in moves if not move.is_noop) + "\n"


def _lines(move: Move) -> list[str]:
    lines = [f"{move.pin}: {move.old.id or 'nothing'} -> {move.new.id}"]
    if move.old.version != move.new.version and move.kind == "git":
        lines.append(f"version {move.old.version or 'unknown'} -> {move.new.version or 'unknown'}")
    if move.relation:
        under = "" if move.under_path is None else f", {move.under_path} under the pin's path"
        lines.append(move.relation.words + under)
    if move.reached_from:
        lines.append(f"part of {short_name(move.reached_from)}")
    lines += [f"{move.pull.words}"] if move.pull else []
    lines += ["", *(f"* {commit.sha[:12]} {defuse(commit.subject)}" for commit in move.log)] if move.log else []
    lines += ["", move.compare_url] if move.compare_url else []
    return lines


def _identity(move: Move) -> str:
    identity = move.new.id or ""
    if move.kind == "git":
        return f"{identity[:12]} ({move.new.tag or (move.new.date or 'date unknown')[:10]})"
    if move.kind == "image":
        return f"{move.new.tag} ({identity.removeprefix('sha256:')[:12]})"
    return identity[:12] if move.kind == "url" else identity


def _git(root: Path, *arguments: str, check: bool = True) -> process.Completed:
    return process.run(["git", *arguments], cwd=root, env=_environment(), check=check, timeout=60)


def _environment() -> dict[str, str]:
    # An editor or a passphrase prompt must not wait for somebody who is not there.
    return {**os.environ, "GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true", "LC_ALL": "C"}
