"""Git pins against what they track → their status; everything is asked of a repository once."""

from dataclasses import replace

from imagepins.bump.facts import patch_notes
from imagepins.bump.lookup import GitRequest, look_up_repository, with_repository
from imagepins.bump.move import Options
from imagepins.bump.status import Status, failed, start
from imagepins.errors import ImagePinsError, NetworkError
from imagepins.gitrepo.cache import Damaged, Repository, absent, commits_of
from imagepins.gitrepo.history import Relation, relate
from imagepins.gitrepo.pulls import PullState, pull_state
from imagepins.gitrepo.resolve import fetch_known, short_name
from imagepins.gitrepo.trees import touching
from imagepins.gitrepo.versions import VersionNotFound, version_at
from imagepins.pins.model import GitPin
from imagepins.process import ProcessFailed


def git_statuses(url: str, requests: list[GitRequest], options: Options) -> list[Status]:
    """The status of the pins that come from ``url``."""
    refs = {ref for request in requests for ref in request.tracked}
    found = look_up_repository(url, refs, options)
    if isinstance(found, ImagePinsError):
        return [failed(start(request.pin), found) for request in requests]

    def status(request: GitRequest) -> Status:
        try:
            return with_repository(found, refs, options, lambda each: _git_status(request, each, options))
        except ImagePinsError as error:
            return failed(start(request.pin), error)

    return [status(request) for request in requests]


def _git_status(request: GitRequest, repository: Repository, options: Options) -> Status:
    pin = request.pin
    offline = ("not asked: offline; this is what the cache knows",) if repository.is_offline else ()
    status = replace(start(pin), tracks=short_name(request.tracked[0]), unknown=offline)
    current = status.current
    if current is None:
        known = commits_of(repository, request.tracked)
        return replace(status, latest=next(filter(None, known.values()), None), attention=("not known yet",))
    try:
        return _compared(status, request, repository, options)
    except Damaged:
        raise
    except ProcessFailed:
        # Asking whether the commit is there would cost a process for each pin; nearly always it is.
        if fetch_known(repository, current):
            return _compared(status, request, repository, options)
    return failed(status, absent(repository, f"the pinned commit {current[:12]}"))


def _compared(status: Status, request: GitRequest, repository: Repository, options: Options) -> Status:
    pin, current = request.pin, status.current or ""
    try:
        state = _pull_state(pin, repository, current, options)
        tips = commits_of(repository, request.tracked[:1])
        latest = _latest(state) if state else tips[request.tracked[0]]
        status = _with_distance(replace(status, latest=latest), pin, repository, state)
        version = _version_differs(pin, repository, current)
        drop = [note for note in patch_notes(pin, repository, current) if "drop it" in note]
    except NetworkError as error:
        return replace(status, unknown=(*status.unknown, str(error)))
    notes = (state.words,) if state and not state.needs_attention else ()
    return replace(status, attention=(*status.attention, *drop, *version), notes=notes)


def _latest(state: PullState) -> str | None:
    return state.pinned if state.is_settled else state.merged_as or state.head


def _pull_state(pin: GitPin, repository: Repository, current: str, options: Options) -> PullState | None:
    if not (pin.track and pin.track.pull and pin.track.then):
        return None
    state = pull_state(repository, pin.track.pull, current, pin.track.then)
    return options.hosting.refine(state, repository, pin.track.then)


def _with_distance(status: Status, pin: GitPin, repository: Repository, state: PullState | None) -> Status:
    """How far the pin is from the latest commit, and what of that needs a person."""
    current, latest = status.current or "", status.latest
    attention = [state.words] if state and state.needs_attention else []
    if latest is None:
        return failed(replace(status, attention=tuple(attention)), absent(repository, status.tracks))
    relation = relate(repository, current, latest) if latest != current else Relation(0, 0)
    if pin.track and pin.track.tag and latest != current and not pin.allow_unreachable:
        attention.append(f"tag {pin.track.tag} was moved to {latest[:12]}")
    if relation.behind and not state and not pin.allow_unreachable:
        if repository.is_offline:
            outside = f"whether {status.tracks} has the pinned commit by now (offline)"
            status = replace(status, unknown=(*status.unknown, outside))
        else:
            attention.append(f"the pinned commit is not part of {status.tracks}")
    status = replace(status, behind=relation.ahead, attention=tuple(attention))
    if not relation.ahead or not pin.path:
        return status
    try:
        found = touching(repository, current, latest, pin.path)
    except NetworkError as error:
        return replace(status, unknown=(*status.unknown, f"commits under the path ({error})"))
    return replace(status, under_path=len(found))


def _version_differs(pin: GitPin, repository: Repository, current: str) -> list[str]:
    if not pin.version_from:
        return []
    try:
        version = version_at(repository, current, pin.version_from)
    except VersionNotFound as error:
        return [str(error)]
    if version == pin.version:
        return []
    return [f"the source says version {version}, pins.yaml {pin.version or 'none'}"]
