"""A git pin and what is asked for it → the commit it is at, the commit it goes to, and what became of its pull."""

from dataclasses import dataclass

from imagepins.bump.lookup import GitRequest
from imagepins.bump.move import Options, Unreadable, known_id
from imagepins.errors import NetworkError, RefError
from imagepins.gitrepo.cache import Repository, absent, commits_of, default_branch
from imagepins.gitrepo.pulls import PullState, is_on_the_way, pull_state
from imagepins.gitrepo.resolve import Resolved, fetch_known, pull_refs, resolve, short_name
from imagepins.pins.model import GitPin, Track


@dataclass(frozen=True)
class Target:
    """``then`` is the branch a provisional pin follows from now on, because the commit has what its pull brought."""

    resolved: Resolved
    pull: PullState | None = None
    then: str | None = None
    notes: tuple[str, ...] = ()


def find_current(request: GitRequest, repository: Repository) -> tuple[str | None, tuple[str, ...]]:
    """The commit the pin is at, also where pins.yaml holds a branch, a tag or a short sha of it; notes on that."""
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
    except NetworkError as error:
        return None, (f"'{written}' stood there for the commit ({error})",)
    return commit, (f"'{written}' stood there for the commit",)


def find_target(request: GitRequest, repository: Repository, current: str | None, options: Options) -> Target:
    """Where the pin goes. Raises RefError for what does not exist or needs leave, NetworkError."""
    pin, track = request.pin, request.pin.track
    if track and track.pull:
        return _of_provisional(request, repository, current, options)
    if request.wanted:
        resolved = resolve(repository, request.wanted, request.tracked)
        return Target(resolved, notes=_moved_tag(pin, resolved, current, options))
    ref = request.tracked[0]
    commit = commits_of(repository, request.tracked)[ref]
    if commit is None:
        raise absent(repository, f"{short_name(ref)}, which {pin.name} tracks,")
    resolved = Resolved(commit, ref) if track else _on_default_branch(repository, commit)
    return Target(resolved, notes=_moved_tag(pin, resolved, current, options))


def _moved_tag(pin: GitPin, resolved: Resolved, current: str | None, options: Options) -> tuple[str, ...]:
    """A tag that is tracked is to stay where it is; a pin that was let stand elsewhere was never at it."""
    tracked = pin.track.tag if pin.track else None
    if not tracked or resolved.tag != tracked or current in (None, resolved.commit) or pin.allow_unreachable:
        return ()
    said = (
        f"tag {tracked}, which {pin.name} tracks, leads to {resolved.commit[:12]}, not to {(current or '')[:12]}: "
        "upstream moved the tag, or somebody changed the track"
    )
    if not options.allow_moved_tag:
        raise RefError(f"{said}; find out which, then say --allow-moved-tag")
    return (said,)


def _on_default_branch(repository: Repository, commit: str) -> Resolved:
    name, before = default_branch(repository)
    changed = before is not None and before != name
    notes = (f"the default branch is {name}, it was {before} when last looked at",) if changed else ()
    return Resolved(commit, f"refs/heads/{name}" if name else "HEAD", notes)


def _of_provisional(request: GitRequest, repository: Repository, current: str | None, options: Options) -> Target:
    """The commit asked for, the pull's head, or, once merged, the commit of the branch that took it in."""
    track, wanted = request.pin.track or Track(), request.wanted
    branch = str(track.then)
    if wanted and wanted.pull and wanted.pull != track.pull:
        return Target(resolve(repository, wanted, request.tracked))
    state = _state(request, repository, current, options)
    resolved = resolve(repository, wanted, request.tracked) if wanted else _followed(request, repository, state)
    tip = commits_of(repository, [f"refs/heads/{branch}"])[f"refs/heads/{branch}"]
    merged = state.merged_as if state and tip else None
    has_it = bool(merged and tip and is_on_the_way(repository, merged, resolved.commit, tip))
    return Target(resolved, state, branch if has_it else None)


def _state(request: GitRequest, repository: Repository, current: str | None, options: Options) -> PullState | None:
    """What became of the pull, or None where neither its head nor the pinned commit is to be found."""
    track = request.pin.track or Track()
    number, branch = track.pull or "", track.then or ""
    tips = commits_of(repository, pull_refs(number, request.pin.git))
    pinned = current if current and fetch_known(repository, current) else next(filter(None, tips.values()), None)
    if pinned is None:
        return None
    return options.hosting.refine(pull_state(repository, number, pinned, branch), repository, branch)


def _followed(request: GitRequest, repository: Repository, state: PullState | None) -> Resolved:
    pin, track = request.pin, request.pin.track or Track()
    if state is None:
        raise absent(repository, f"pull {track.pull}, which {pin.name} tracks,")
    if state.state == "merged" and state.merged_as:
        # A pin that already stands on the branch has the change and stays where it is.
        return Resolved(state.pinned if state.is_settled else state.merged_as, f"refs/heads/{track.then}")
    # An open pull needs a person only where it was merged, as it seems.
    is_doubtful = state.state in ("open", "updated") and state.needs_attention
    if state.head is None or state.state == "closed" or is_doubtful:
        raise RefError(f"{state.words}; say where {pin.name} goes: tools/bump_pin {pin.name} REF")
    return Resolved(state.head, pull_refs(state.number, pin.git)[0])
