"""Move of a git pin → the same with what a reviewer wants to know: what lies between, submodules, picks."""

from dataclasses import replace

from imagepins.bump.move import Move, Options, Stays
from imagepins.errors import NetworkError, RefError
from imagepins.gitrepo.cache import Repository, commits_of, fetch_commit
from imagepins.gitrepo.history import LOG_LIMIT, describe_commits, log
from imagepins.gitrepo.patches import contained_as
from imagepins.gitrepo.submodules import submodules_moved
from imagepins.gitrepo.trees import lookup, touching
from imagepins.gitrepo.url import web_url
from imagepins.pins.model import GitPin, Patch


def add_facts(move: Move, pin: GitPin, repository: Repository, options: Options, *, old: str | None) -> Move:
    """Add what can be found; what cannot goes to ``unchecked``.

    ``old`` is the old commit where the cache has it. Raises RefError where nothing under the pin's path changed or
    the path is not there, unless ``options.force``.
    """
    new = move.new.id or ""
    if old and (web := web_url(pin.git)):
        move = replace(move, compare_url=f"{web}/compare/{old[:12]}...{new[:12]}")
    try:
        _check_paths(move, pin, repository, options, old)
        if old:
            move = _with_log(move, pin, repository, old)
            move = replace(move, submodules=submodules_moved(repository, old, new))
    except NetworkError as error:
        move = replace(move, unchecked=(*move.unchecked, f"what changed under the pin's path ({error})"))
    return replace(move, notes=(*move.notes, *patch_notes(pin, repository, new)))


def _check_paths(move: Move, pin: GitPin, repository: Repository, options: Options, old: str | None) -> None:
    if not pin.path or options.force:
        return
    new = move.new.id or ""
    known = describe_commits(repository, [new, *([old] if old else [])])
    trees = [known[sha].tree for sha in known]
    entries = lookup(repository, trees, pin.path)
    here = known[new].tree
    missing = [path for path in pin.path if entries[here, path] is None]
    if missing:
        raise RefError(f"{', '.join(missing)} is not there in {new[:12]}; correct 'path', or say --force")
    if old and all(entries[here, path] == entries[known[old].tree, path] for path in pin.path):
        raise Stays(
            f"nothing under {', '.join(pin.path)} differs between {old[:12]} and {new[:12]}; "
            "say --force to move it all the same"
        )


def _with_log(move: Move, pin: GitPin, repository: Repository, old: str) -> Move:
    """Commits of the way forward; for a step back, those that are given up."""
    new = move.new.id or ""
    first, last = (old, new) if not move.relation or move.relation.ahead else (new, old)
    if not pin.path:
        return replace(move, log=log(repository, first, last))
    found = touching(repository, first, last, pin.path)
    return replace(move, under_path=len(found), log=found[:LOG_LIMIT])


def patch_notes(pin: GitPin, repository: Repository, commit: str) -> tuple[str, ...]:
    """Picks that the new commit contains already, and picks or reverts that are gone."""
    both = [("pick", patch) for patch in pin.picks] + [("revert", patch) for patch in pin.reverts]
    notes = (_patch_note(word, patch, repository, commit) for word, patch in both)
    return tuple(note for note in notes if note)


def _patch_note(word: str, patch: Patch, repository: Repository, commit: str) -> str | None:
    sha = str(patch.commit)
    if not commits_of(repository, [sha])[sha]:
        reason = fetch_commit(repository, sha)
        if reason and not repository.is_offline:
            raise RefError(f"{word} {sha[:12]} ({patch.reason}) does not exist at {repository.url} ({reason})")
        if reason:
            return f"{word} {sha[:12]}: not checked (offline)"
    try:
        contained = contained_as(repository, sha, commit)
    except NetworkError as error:
        return f"{word} {sha[:12]}: not checked ({error})"
    if word == "revert":
        return None if contained else f"revert {sha[:12]}: the new commit does not contain it, drop it ({patch.reason})"
    if contained:
        form = "" if contained == sha else f" as {contained[:12]}"
        return f"pick {sha[:12]} is contained in the new commit{form}, drop it ({patch.reason})"
    return None
