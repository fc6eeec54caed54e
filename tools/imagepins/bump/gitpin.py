"""A git pin and a ref → the Move to the commit that is meant, or the reason why not."""

from dataclasses import replace

from imagepins.bump.age import check_age
from imagepins.bump.facts import add_facts
from imagepins.bump.lookup import GitRequest
from imagepins.bump.move import Change, Move, Options, Side, known_id
from imagepins.bump.seen import last_asked
from imagepins.bump.target import find_current, find_target
from imagepins.errors import NetworkError, RefError
from imagepins.gitrepo.cache import Repository, absent
from imagepins.gitrepo.history import Commit, Relation, describe_commits, is_ancestor, relate
from imagepins.gitrepo.pulls import PullState
from imagepins.gitrepo.resolve import Resolved, fetch_known, pull_refs, reaching, short_name
from imagepins.gitrepo.versions import VersionNotFound, version_at
from imagepins.pins.model import GitPin


def propose_git(request: GitRequest, repository: Repository, options: Options) -> Move:
    """The move of one git pin. Raises RefError for what does not exist or is not allowed, NetworkError."""
    pin = request.pin
    current, notes = find_current(request, repository)
    if repository.is_offline and (move := _unchecked(request, repository, current)):
        return move
    target = find_target(request, repository, current, options)
    commit = target.resolved.commit
    old_known = current is not None and fetch_known(repository, current)
    known = describe_commits(repository, [commit, *([current] if old_known and current else [])])
    old = _side(known[current], pin) if current in known else Side(current, version=pin.version)
    new = _side(known[commit], pin, tag=target.resolved.tag)
    notes = (*notes, *target.resolved.notes, *target.notes)
    unchecked = _since_the_cache(target.resolved, request, repository)
    move = Move(pin=pin.name, kind=pin.kind, old=old, new=new, pull=target.pull, notes=notes, unchecked=unchecked)
    move = replace(move, track_branch=target.then)
    if commit == known_id(pin):
        return move
    move = replace(move, unchecked=(*unchecked, *check_age(pin, known[commit], repository, options)))
    move = _with_reach(move, target.resolved, request, repository, options)
    if current and old_known:
        move = _with_relation(move, repository, current, options, target.pull)
    elif current:
        gone = absent(repository, f"the old commit {current[:12]}")
        move = replace(move, notes=(*move.notes, str(gone)))
    move = _with_version(move, pin, repository)
    return add_facts(move, pin, repository, options, old=current if old_known and current != commit else None)


def _since_the_cache(resolved: Resolved, request: GitRequest, repository: Repository) -> tuple[str, ...]:
    """What may have changed since the cache was filled; nothing where the server was asked."""
    if not repository.is_offline:
        return ()
    cache = f"offline; the cache is of {last_asked(repository) or 'an unknown day'}"
    if resolved.ref:
        return (f"that {short_name(resolved.ref)} is still at {resolved.commit[:12]} ({cache})",)
    return (f"that {resolved.commit[:12]} is still part of {_names(request.tracked)} ({cache})",)


def _with_reach(move: Move, resolved: Resolved, request: GitRequest, repository: Repository, options: Options) -> Move:
    """Require a ref that contains the commit, or record that none does."""
    pin, wanted, commit = request.pin, request.wanted, move.new.id or ""
    allowed = list(request.tracked)
    changes = [Change("commit", commit, after="git")]
    track_pull = None
    page = pull_refs(wanted.pull, pin.git) if wanted and wanted.pull else ()
    # A commit pasted from the page of a pull may be part of the branch by now.
    allowed = [*page, *allowed] if wanted and wanted.kind == "pull" else [*allowed, *page]
    if move.new.tag and pin.track and pin.track.tag:
        allowed = [f"refs/tags/{move.new.tag}", *allowed]
    reached = reaching(repository, commit, allowed)
    if wanted and reached in page and not (pin.track and pin.track.pull == wanted.pull):
        track_pull = wanted.pull
    if reached and move.new.tag and pin.track and pin.track.tag and pin.track.tag != move.new.tag:
        changes.append(Change("track.tag", move.new.tag))
    if reached and pin.allow_unreachable:
        changes.append(Change("allow_unreachable", None))
    if not reached:
        if not options.allow_unreachable:
            if repository.is_offline:
                raise NetworkError(_unreachable_yet(commit, request, repository))
            raise RefError(_unreachable(move, request, repository))
        reason = options.reason or f"no commit of {_names(request.tracked)} contained it when it was pinned"
        changes.append(Change("allow_unreachable", reason))
    if reached == "HEAD" and resolved.ref:
        reached = resolved.ref
    return replace(move, changes=tuple(changes), reached_from=reached, track_pull=track_pull, tag=move.new.tag)


def _unreachable(move: Move, request: GitRequest, repository: Repository) -> str:
    commit = move.new.id or ""
    wanted = request.wanted
    if wanted and wanted.kind not in ("sha", "short"):
        source = f"{wanted.text} is commit {commit[:12]}, which"
        way = f"change the pin's track, or say --allow-unreachable (kept in {request.pin.name})"
    else:
        source = f"commit {commit} can be fetched from {repository.url}, but may come from any fork of it: it"
        way = "take one that is, or say --allow-unreachable (kept in the pin)"
    return f"{source} is not part of {_names(request.tracked)}, which {request.pin.name} tracks; {way}"


def _unreachable_yet(commit: str, request: GitRequest, repository: Repository) -> str:
    cache = f"the cache of {repository.url} is of {last_asked(repository) or 'an unknown day'}"
    return f"whether {commit[:12]} is part of {_names(request.tracked)} is not known: {cache}; ask without --offline"


def _with_relation(move: Move, repository: Repository, current: str, options: Options, pull: PullState | None) -> Move:
    """Say how the new commit stands to the old one; backwards and sideways need leave."""
    commit = move.new.id or ""
    relation = relate(repository, current, commit)
    is_merge_of_pin = (
        pull is not None and pull.merged_as is not None and is_ancestor(repository, pull.merged_as, commit)
    )
    if not relation.is_forward and not is_merge_of_pin and not options.allow_downgrade:
        raise RefError(_not_forward(move, relation, current))
    return replace(move, relation=relation)


def _not_forward(move: Move, relation: Relation, current: str) -> str:
    commit = (move.new.id or "")[:12]
    if relation.ahead == 0:
        said = f"{commit} is {relation.words} {current[:12]}, which {move.pin} is at"
    else:
        said = f"{commit} and {current[:12]}, which {move.pin} is at, have {relation.words}"
    return f"{said}; say --allow-downgrade if that is meant"


def _with_version(move: Move, pin: GitPin, repository: Repository) -> Move:
    if not pin.version_from:
        return move
    commit = move.new.id or ""
    try:
        version = version_at(repository, commit, pin.version_from)
    except VersionNotFound as error:
        raise RefError(f"the version cannot be read: {error}; correct version_from in the pin") from error
    except NetworkError as error:
        raise NetworkError(f"the version of {commit[:12]} cannot be read: {error}") from error
    changes = move.changes
    if version != pin.version:
        changes = (*changes, Change("version", version, after="commit"))
    return replace(move, changes=changes, new=replace(move.new, version=version))


def _unchecked(request: GitRequest, repository: Repository, current: str | None) -> Move | None:
    """Offline, a full commit the cache does not hold is taken at its word."""
    wanted, pin = request.wanted, request.pin
    if not wanted or wanted.kind != "sha" or fetch_known(repository, wanted.value):
        return None
    unchecked = ["that the commit exists", f"that it is part of {_names(request.tracked)}", "what lies between"]
    if pin.version_from:
        unchecked.append(f"the version (still {pin.version or 'none'})")
    return Move(
        pin=pin.name,
        kind=pin.kind,
        old=Side(current, version=pin.version),
        new=Side(wanted.value, version=pin.version),
        changes=(Change("commit", wanted.value, after="git"),),
        unchecked=tuple(f"{each} (offline)" for each in unchecked),
    )


def _side(commit: Commit, pin: GitPin, *, tag: str | None = None) -> Side:
    return Side(commit.sha, tag, commit.date, commit.author, commit.subject, pin.version)


def _names(refs: tuple[str, ...]) -> str:
    # The two spellings of a pull's ref are one thing to people.
    return " or ".join(dict.fromkeys(short_name(ref) for ref in refs))
