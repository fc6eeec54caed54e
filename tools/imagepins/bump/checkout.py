"""Written files → one commit of exactly those, on the branch at hand or on a new one; or everything as it was before.

The user's own git configuration applies: signing, hooks, identity. Their other changes, staged or not, stay theirs.
"""

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from imagepins import process
from imagepins.bump.commit import message
from imagepins.dirlock import locked
from imagepins.errors import CheckFailed, ImagePinsError, UsageError
from imagepins.files import exclusive, replace_all
from imagepins.gitrepo.command import last_words, own_environment

if TYPE_CHECKING:
    from imagepins.bump.compose import Proposal
    from imagepins.bump.run import Outcome

COMMIT_SECONDS = 300.0
"""Hooks of the user may run linters and tests."""

_TEMPLATES = (":(glob)*.j2", ":(glob)images/**/*.j2")
_UNCOMMITTED = "leave out --commit and --branch"
_LEAVE_OUT = f"or {_UNCOMMITTED}"


def prepare_branch(root: Path, branch: str | None) -> None:
    """Refuse early what would fail after the files are written: no repository, a branch that exists. UsageError."""
    asked = _git(root, "rev-parse", "--is-inside-work-tree", check=False)
    if asked.stdout.strip() != "true":
        said = f" ({last_words(asked.stderr)})" if asked.code else ""
        raise UsageError(f"{root} is not in a git repository that commits can be made in{said}; {_UNCOMMITTED}")
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


@contextmanager
def only_committer(root: Path) -> Iterator[None]:
    """Let other runs that commit here wait, which else would take written files for changes of somebody's own.

    Not by the lock on the files: hooks of the commit may want to read them.
    """
    git_dir = Path(_git(root, "rev-parse", "--absolute-git-dir").stdout.rstrip("\n"))
    with locked(git_dir, fcntl.LOCK_EX, 2 * COMMIT_SECONDS):
        yield


def check_committable(root: Path, proposal: "Proposal") -> None:
    """Refuse a commit that would hold more than the bump, or that git would not take. Raises UsageError.

    More than the bump is in it where a file or template has changes of its own, since templates reach the files too,
    and where a rendered file was stale before.
    """
    files = _files(proposal.contents)
    top = Path(os.path.realpath(_git(root, "rev-parse", "--show-toplevel").stdout.rstrip("\n")))
    if outside := [str(path) for path in files if not path.is_relative_to(top)]:
        raise UsageError(f"{', '.join(outside)}: not in the repository {top}; {_UNCOMMITTED}")
    if ignored := _git(root, "check-ignore", "--", *map(str, files), check=False).stdout.split("\n")[:-1]:
        raise UsageError(f"{', '.join(ignored)}: git ignores it; take it out of .gitignore, {_LEAVE_OUT}")
    if changed := [*_changed(root, [f":(literal){path}" for path in files]), *_changed(root, _TEMPLATES)]:
        names = ", ".join(dict.fromkeys(changed))
        raise UsageError(f"{names}: changed and not committed; commit or stash that first, {_LEAVE_OUT}")
    if proposal.stale:
        names = ", ".join(os.path.relpath(path, root) for path in proposal.stale)
        raise UsageError(
            f"{names}: not what pins.yaml and the templates give already; run tools/image render and commit that "
            f"first, {_LEAVE_OUT}"
        )


def commit_files(pins_path: Path, outcome: "Outcome", branch: str | None) -> str:
    """Commit what ``outcome`` wrote and return the new commit.

    Raises CheckFailed with what git or a hook said; files, index and branch are then as they were before the bump.
    """
    root, paths = pins_path.parent, [str(path) for path in outcome.written]
    head = _git(root, "symbolic-ref", "--quiet", "HEAD", check=False).stdout.strip() or _commit(root)
    try:
        if branch is not None:
            _git(root, "switch", "--quiet", "--create", branch)
        _git(root, "add", "--", *paths)
        # --only takes these files and leaves whatever else is staged as it is.
        # No editor has put comments into the message, so no line of it is one.
        arguments = ["commit", "--quiet", "--only", "--cleanup=whitespace", "--file=-", "--", *paths]
        told = message(outcome.proposal.moves)
        process.run(["git", *arguments], cwd=root, env=own_environment(), stdin=told, timeout=COMMIT_SECONDS)
    except BaseException as error:
        left = _undo(pins_path, outcome, head, branch)
        if isinstance(error, process.ProcessFailed):
            said = error.output.strip() or error.reason
            raise CheckFailed(
                f"not committed: {said}\n{left}; mend that and say the same again, {_LEAVE_OUT}"
            ) from error
        raise
    # What a hook added to this commit is in it, but not in the index that --only gives back.
    _git(root, "reset", "--quiet", "--", *paths, check=False)
    return _commit(root)


def _undo(pins_path: Path, outcome: "Outcome", head: str, branch: str | None) -> str:
    """Put branch, index and files back as they were; say what became of them."""
    root = pins_path.parent
    with suppress(process.ProcessFailed):
        if (
            branch is not None
            and _git(root, "symbolic-ref", "--quiet", "HEAD").stdout.strip() == f"refs/heads/{branch}"
        ):
            # Both name one commit: no file changes, and no hook need be asked.
            way_back = (
                ["symbolic-ref", "HEAD", head] if head.startswith("refs/") else ["update-ref", "--no-deref", "HEAD"]
            )
            _git(root, *way_back, *([] if head.startswith("refs/") else [head]))
        if branch is not None:
            _git(root, "branch", "--quiet", "--delete", "--force", branch, check=False)
        _git(root, "reset", "--quiet", "--", *map(str, outcome.written))
    try:
        if _put_back(pins_path, outcome):
            return "everything is as it was before"
        return f"{pins_path.name} was changed meanwhile, by a hook or somebody, so the files stay as they are now"
    except (ImagePinsError, OSError) as error:
        return f"the files stay as they are ({error})"


def _put_back(pins_path: Path, outcome: "Outcome") -> bool:
    """Write the old contents, unless somebody has changed the pins since."""
    proposal = outcome.proposal
    with exclusive(pins_path):
        if pins_path.read_bytes() != proposal.contents[pins_path]:
            return False
        replace_all(pins_path, {path: old for path, old in proposal.previous.items() if old is not None})
        for path, old in proposal.previous.items():
            if old is None:
                path.unlink(missing_ok=True)
    return True


def _changed(root: Path, pathspecs: Iterable[str]) -> list[str]:
    """Files that differ from HEAD or are not in it, relative to the top of the repository."""
    listed = _git(root, "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--", *pathspecs).stdout
    return [entry[3:] for entry in listed.split("\0") if entry]


def _files(paths: Iterable[Path]) -> list[Path]:
    """The files themselves where ``paths`` are links to them: what git has to know."""
    return [Path(os.path.realpath(path)) for path in paths]


def _commit(root: Path) -> str:
    return _git(root, "rev-parse", "HEAD", check=False).stdout.strip()


def _git(root: Path, *arguments: str, check: bool = True) -> process.Completed:
    return process.run(["git", *arguments], cwd=root, env=own_environment(), check=check, timeout=60)
