"""A git pin and a ref → the Move to the commit that is meant, or the reason why not."""

from dataclasses import dataclass, replace

from imagepins.bump.facts import add_facts
from imagepins.bump.lookup import GitRequest
from imagepins.bump.move import Change, Move, Options, Side, Unreadable, known_id
from imagepins.errors import NetworkError, RefError
from imagepins.gitrepo.cache import Repository, commits_of, default_branch
from imagepins.gitrepo.history import Commit, Relation, describe_commits, is_ancestor, relate
from imagepins.gitrepo.pulls import PullState, pull_state
from imagepins.gitrepo.resolve import Resolved, fetch_known, pull_refs, reaching, resolve, short_name
from imagepins.gitrepo.versions import VersionNotFound, version_at
from imagepins.pins.model import GitPin, Track


@dataclass(frozen=True)
class _Target:
    resolved: Resolved
    pull: PullState | None = None


def propose_git(request: GitRequest, repository: Repository, options: Options) -> Move:
    """The move of one git pin. Raises RefError for what does not exist or is not allowed, NetworkError."""
    pin = request.pin
    current, notes = _current(request, repository)
    if repository.is_offline and (move := _unchecked(request, repository, current)):
        return move
    target = _target(request, repository, current, options)
    commit = target.resolved.commit
    old_known = current is not None and fetch_known(repository, current)
    known = describe_commits(repository, [commit, *([current] if old_known and current else [])])
    old = _side(known[current], pin) if current in known else Side(current, version=pin.version)
    new = _side(known[commit], pin, tag=target.resolved.tag)
    move = Move(pin=pin.name, kind=pin.kind, old=old, new=new, pull=target.pull, notes=(*notes, *target.resolved.notes))
    if commit == known_id(pin):
        return move
    move = _with_reach(move, target.resolved, request, repository, options)
    if current and old_known:
        move = _with_relation(move, repository, current, options, target.pull)
    elif current:
        move = replace(move, notes=(*move.notes, f"the old commit {current[:12]} is gone from {pin.git}"))
    move = _with_version(move, pin, repository)
    return add_facts(move, pin, repository, options, old=current if old_known and current != commit else None)


def _current(request: GitRequest, repository: Repository) -> tuple[str | None, tuple[str, ...]]:
    """The commit the pin is at, also where pins.yaml holds a branch, a tag or a short sha of it."""
    pin = request.pin
    if not isinstance(pin.commit, Unreadable):
        return known_id(pin), ()
    written = pin.commit.written
    if request.written is None:
        return None, (f"'{written}' stood there for the commit",) if written else ()
    try:
        commit = resolve(repository, request.written, request.tracked).commit
    except RefError:
        return None, (f"'{written}' stood there for the commit, and leads to none",)
    return commit, (f"'{written}' stood there for the commit",)


def _target(request: GitRequest, repository: Repository, current: str | None, options: Options) -> _Target:
    pin, track = request.pin, request.pin.track
    if request.wanted:
        return _Target(resolve(repository, request.wanted, request.tracked))
    tips = commits_of(repository, request.tracked)
    if track and track.pull:
        return _pull_target(request, repository, current, options)
    ref = request.tracked[0]
    commit = tips[ref]
    if commit is None:
        raise RefError(f"{short_name(ref)}, which {pin.name} tracks, does not exist on {pin.git}")
    if track is None:
        return _Target(_on_default_branch(repository, commit))
    return _Target(Resolved(commit, ref))


def _on_default_branch(repository: Repository, commit: str) -> Resolved:
    name, before = default_branch(repository)
    changed = before is not None and before != name
    notes = (f"the default branch is {name}, it was {before} when last looked at",) if changed else ()
    return Resolved(commit, f"refs/heads/{name}" if name else "HEAD", notes)


def _pull_target(request: GitRequest, repository: Repository, current: str | None, options: Options) -> _Target:
    """Where a provisional pin goes: the pull's head, or, once merged, the commit of the branch that took it in."""
    pin, track = request.pin, request.pin.track or Track()
    number, branch = track.pull or "", track.then or ""
    tips = commits_of(repository, request.tracked)
    head = next((tips[ref] for ref in pull_refs(number, pin.git) if tips[ref]), None)
    pinned = current if current and fetch_known(repository, current) else head
    if pinned is None:
        raise RefError(f"pull {number}, which {pin.name} tracks, does not exist on {pin.git}")
    state = options.hosting.refine(pull_state(repository, number, pinned, branch), repository, branch)
    if state.state == "merged" and state.merged_as:
        # A pin that already stands on the branch has the change and stays where it is.
        tip = tips[f"refs/heads/{branch}"]
        has_it = tip and is_ancestor(repository, pinned, tip) and is_ancestor(repository, state.merged_as, pinned)
        return _Target(Resolved(pinned if has_it else state.merged_as, f"refs/heads/{branch}"), state)
    if head is None or state.state == "closed":
        raise RefError(f"{state.words}; say where {pin.name} goes: tools/bump_pin {pin.name} REF")
    return _Target(Resolved(head, pull_refs(number, pin.git)[0]), state)


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
        raise RefError(f"{pin.name}: the version cannot be read: {error}; correct version_from in the pin") from error
    except NetworkError as error:
        raise NetworkError(f"{pin.name}: the version of {commit[:12]} cannot be read: {error}") from error
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
