"""Every pin against what it tracks → how far behind it is, and what needs a person."""

import datetime
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from imagepins.bump.gitstatus import git_statuses
from imagepins.bump.lookup import GitRequest, git_request
from imagepins.bump.move import Options
from imagepins.bump.order import is_older
from imagepins.bump.others import propose_other
from imagepins.bump.review import days_overdue
from imagepins.bump.status import Status, failed, start
from imagepins.errors import ImagePinsError
from imagepins.parallel import parallel
from imagepins.pins.model import GitPin, ImagePin, Pin, PinSet, UrlPin


def outdated(pinset: PinSet, names: Sequence[str], options: Options, today: datetime.date) -> tuple[Status, ...]:
    """The status of the pins ``names``, one look-up per repository, all of them in parallel."""
    options = options.with_mirrors_of(pinset)
    pins = [pinset.pin(name) for name in names]
    by_url: dict[str, list[GitRequest]] = {}
    for pin in pins:
        if isinstance(pin, GitPin):
            by_url.setdefault(pin.git, []).append(git_request(pin, None))
    questions: list[Callable[[], list[Status]]] = [
        *(partial(git_statuses, url, requests, options) for url, requests in by_url.items()),
        *(partial(_other_status, pin, options) for pin in pins if not isinstance(pin, GitPin)),
    ]
    answers = parallel(lambda ask: ask(), questions, options.stop)
    found = {status.pin: status for statuses in answers for status in statuses}
    return tuple(_with_review(found[name], pinset.pin(name), today) for name in names)


def _other_status(pin: Pin, options: Options) -> list[Status]:
    return [_looked_up(pin, options)]


def _looked_up(pin: Pin, options: Options) -> Status:
    status = start(pin)
    if isinstance(pin, UrlPin) and pin.sha256:
        # Reading gigabytes to see whether they changed is not asked for here.
        return replace(status, latest=pin.sha256, notes=("an address does not move",))
    try:
        # A step back is told here, not refused.
        move = propose_other(pin, None, replace(options, allow_downgrade=True))
    except ImagePinsError as error:
        return failed(status, error)
    moved = (f"tag {pin.tag} was moved",) if isinstance(pin, ImagePin) and pin.digest and not move.is_noop else ()
    told = tuple(note for note in move.notes if "the pinned version" in note or "OLDER" in note)
    rest = tuple(note for note in move.notes if note not in told)
    older = bool(move.new.id and move.old.id and is_older(pin, move.new.id, move.old.id))
    return replace(status, latest=move.new.id, attention=(*moved, *told), notes=rest, is_older=older)


def _with_review(status: Status, pin: Pin, today: datetime.date) -> Status:
    overdue = days_overdue(pin, today)
    if overdue is not None:
        message = f"was to be reviewed by {pin.review_by}, {overdue} days ago"
        status = replace(status, attention=(*status.attention, message))
    if pin.hold:
        status = replace(status, notes=(*status.notes, f"held: {pin.hold}"))
    return status
