"""Every pin against what it tracks → how far behind it is, and what needs a person."""

import datetime
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from imagepins.bump.check import days_overdue
from imagepins.bump.facts import patch_notes
from imagepins.bump.lookup import PARALLEL, GitRequest, git_request, look_up_repository
from imagepins.bump.move import UNKNOWN_COMMIT, Options
from imagepins.bump.run import propose_other
from imagepins.errors import ImagePinsError, NetworkError
from imagepins.gitrepo.cache import Repository, commits_of
from imagepins.gitrepo.history import relate
from imagepins.gitrepo.pulls import PullState, pull_state
from imagepins.gitrepo.resolve import fetch_known, reaching, short_name
from imagepins.gitrepo.trees import touching
from imagepins.gitrepo.versions import VersionNotFound, version_at
from imagepins.pins.model import GitPin, ImagePin, Pin, PinSet, UrlPin


@dataclass(frozen=True)
class Status:
    """One pin. ``behind`` counts commits of the tracked ref that the pin lacks, ``under_path`` those that touch its
    path; ``latest`` is what a bump without ref would take; ``attention`` holds what needs a person."""

    pin: str
    kind: str
    current: str | None
    latest: str | None = None
    tracks: str = ""
    behind: int | None = None
    under_path: int | None = None
    attention: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The state in a few words."""
        if self.current is None:
            return "not known yet"
        if self.behind:
            under = "" if self.under_path is None else f" ({self.under_path} under its path)"
            return f"behind by {self.behind}{under}"
        if self.latest and self.latest != self.current:
            return "ahead of what it tracks" if self.kind == "git" else "newer there"
        return "unknown" if self.unknown else "current"


def outdated(pinset: PinSet, names: Sequence[str], options: Options, today: datetime.date) -> tuple[Status, ...]:
    """The status of the pins ``names``, one look-up per repository, all of them in parallel."""
    options = replace(options, mirrors={**pinset.mirrors, **options.mirrors})
    pins = [pinset.pin(name) for name in names]
    by_url: dict[str, list[GitRequest]] = {}
    for pin in pins:
        if isinstance(pin, GitPin):
            by_url.setdefault(pin.git, []).append(git_request(pin, None))
    others = [pin for pin in pins if not isinstance(pin, GitPin)]
    with ThreadPoolExecutor(PARALLEL) as pool:
        git = pool.map(lambda url: _git_statuses(url, by_url[url], options), by_url)
        rest = pool.map(lambda pin: _other_status(pin, options), others)
        found = {status.pin: status for statuses in git for status in statuses} | {each.pin: each for each in rest}
    return tuple(_with_review(found[name], pinset.pin(name), today) for name in names)


def _git_statuses(url: str, requests: list[GitRequest], options: Options) -> list[Status]:
    found = look_up_repository(url, {ref for request in requests for ref in request.tracked}, options)
    if isinstance(found, ImagePinsError):
        return [_start(request.pin, unknown=(str(found),)) for request in requests]
    return [_git_status(request, found, options) for request in requests]


def _git_status(request: GitRequest, repository: Repository, options: Options) -> Status:
    pin = request.pin
    tips = commits_of(repository, request.tracked)
    status = replace(_start(pin), tracks=short_name(request.tracked[0]), unknown=_offline(repository))
    current = status.current
    if current is None:
        return replace(status, latest=next((tip for tip in tips.values() if tip), None), attention=("not known yet",))
    if not fetch_known(repository, current):
        gone = "" if not repository.is_offline else " from the cache"
        return replace(status, attention=(f"the pinned commit is gone{gone}",))
    try:
        return _compared(status, request, repository, tips, options)
    except NetworkError as error:
        return replace(status, unknown=(*status.unknown, str(error)))


def _compared(
    status: Status, request: GitRequest, repository: Repository, tips: Mapping[str, str | None], options: Options
) -> Status:
    pin, current, attention = request.pin, status.current or "", []
    state = _pull_state(pin, repository, current, options)
    if state:
        latest = state.merged_as or state.head
        attention += [state.words] if state.needs_attention else []
    else:
        latest = tips[request.tracked[0]]
    if latest is None:
        attention.append(f"{short_name(request.tracked[0])} is not there any more")
    elif pin.track and pin.track.tag and latest != current:
        attention.append(f"tag {pin.track.tag} was moved to {latest[:12]}")
    if not state and not pin.allow_unreachable and latest and not reaching(repository, current, request.tracked):
        attention.append(f"the pinned commit is not part of {short_name(request.tracked[0])}")
    attention += [note for note in patch_notes(pin, repository, current) if "drop it" in note]
    status = replace(status, latest=latest)
    if latest:
        status = _with_distance(status, pin, repository, current, latest)
    attention += _version_differs(pin, repository, current)
    notes = (state.words,) if state and not state.needs_attention else ()
    return replace(status, attention=tuple(attention), notes=notes)


def _pull_state(pin: GitPin, repository: Repository, current: str, options: Options) -> PullState | None:
    if not (pin.track and pin.track.pull and pin.track.then):
        return None
    state = pull_state(repository, pin.track.pull, current, pin.track.then)
    return options.hosting.refine(state, repository, pin.track.then)


def _with_distance(status: Status, pin: GitPin, repository: Repository, current: str, latest: str) -> Status:
    behind = relate(repository, current, latest).ahead
    status = replace(status, behind=behind)
    if not behind or not pin.path:
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


def _other_status(pin: Pin, options: Options) -> Status:
    status = _start(pin)
    if isinstance(pin, UrlPin) and pin.sha256:
        # Reading gigabytes to see whether they changed is not asked for here.
        return replace(status, latest=pin.sha256, notes=("an address does not move",))
    try:
        move = propose_other(pin, None, options)
    except NetworkError as error:
        return replace(status, unknown=(str(error),))
    except ImagePinsError as error:
        return replace(status, attention=(str(error),))
    moved = (f"tag {pin.tag} was moved",) if isinstance(pin, ImagePin) and pin.digest and not move.is_noop else ()
    yanked = tuple(note for note in move.notes if "the pinned version" in note)
    return replace(status, latest=move.new.id, attention=(*moved, *yanked), notes=move.notes)


def _start(pin: Pin, *, unknown: tuple[str, ...] = ()) -> Status:
    current = None if pin.id is None or pin.id == UNKNOWN_COMMIT else str(pin.id)
    return Status(pin.name, pin.kind, current, unknown=unknown)


def _offline(repository: Repository) -> tuple[str, ...]:
    return ("not asked: offline; this is what the cache knows",) if repository.is_offline else ()


def _with_review(status: Status, pin: Pin, today: datetime.date) -> Status:
    overdue = days_overdue(pin, today)
    if overdue is not None:
        message = f"was to be reviewed by {pin.review_by}, {overdue} days ago"
        status = replace(status, attention=(*status.attention, message))
    if pin.hold:
        status = replace(status, notes=(*status.notes, f"held: {pin.hold}"))
    return status
