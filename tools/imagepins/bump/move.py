"""The values a bump is made of: what is asked, what one pin would become, what was found on the way."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event

from imagepins.errors import RefError
from imagepins.gitrepo.history import Commit, Relation
from imagepins.gitrepo.hosting import Hosting
from imagepins.gitrepo.pulls import PullState
from imagepins.gitrepo.submodules import SubmoduleMove
from imagepins.pins.model import Pin, PinSet
from imagepins.pins.text import Text


class Unreadable(Text):
    """Stands for an id that pins.yaml holds in a form that is none; ``written`` is what stands there."""

    __slots__ = ("written",)
    written: str


def known_id(pin: Pin) -> str | None:
    """The id of ``pin``, or None where there is none or what stands there is none."""
    return None if pin.id is None or isinstance(pin.id, Unreadable) else str(pin.id)


class Stays(RefError):
    """Nothing is wrong, but the pin is not to move now; a run over all pins goes on."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the person allows, and where looking is done."""

    cache: Path
    mirrors: Mapping[str, str] = field(default_factory=dict)
    offline: bool = False
    force: bool = False
    allow_unreachable: bool = False
    allow_downgrade: bool = False
    allow_moved_tag: bool = False
    break_alias: bool = False
    min_age_days: int | None = None
    reason: str | None = None
    hosting: Hosting = field(default_factory=Hosting)
    stop: Event = field(default_factory=Event)

    def with_mirrors_of(self, pinset: PinSet) -> "Options":
        """The same with the mirrors of pins.yaml, where this user has no other."""
        return replace(self, mirrors={**pinset.mirrors, **self.mirrors})

    @property
    def permissive(self) -> "Options":
        """The same with leave for everything: for moves that are tried or told, not proposed."""
        return replace(
            self, force=True, allow_unreachable=True, allow_downgrade=True, allow_moved_tag=True, min_age_days=0
        )


@dataclass(frozen=True)
class Request:
    """Pins to move, each with its ref (None: what it tracks). ``is_lenient`` skips what is held or unchanged."""

    refs: Mapping[str, str | None]
    is_lenient: bool = False


@dataclass(frozen=True)
class Change:
    """One key of a pin gets another value (None: is taken out). ``after`` is the key behind which a new one goes."""

    key: str
    value: str | None
    after: str = "commit"


@dataclass(frozen=True)
class Side:
    """A pin before or after. ``date`` is ISO 8601; what does not apply or is not known is None."""

    id: str | None
    tag: str | None = None
    date: str | None = None
    author: str | None = None
    subject: str | None = None
    version: str | None = None


def identity(side: Side) -> str:
    """What tells one side from another, as short as people write it."""
    identity = side.id or "nothing"
    # A commit or digest is told apart by its beginning; a version is shown whole.
    short = identity[:19] if identity.startswith("sha256:") else identity[:12] if len(identity) >= 40 else identity
    return f"{short} ({side.tag})" if side.tag else short


@dataclass(frozen=True, kw_only=True)
class Move:
    """What one pin would become. Without ``changes`` it is there already.

    ``track_pull`` makes the pin provisional, ``track_branch`` ends that. With
    ``breaks_alias`` a value that is an alias is written out.
    """

    pin: str
    kind: str
    old: Side
    new: Side
    changes: tuple[Change, ...] = ()
    tag: str | None = None
    track_pull: str | None = None
    track_branch: str | None = None
    breaks_alias: bool = False
    reached_from: str | None = None
    relation: Relation | None = None
    under_path: int | None = None
    log: tuple[Commit, ...] = ()
    compare_url: str | None = None
    pull: PullState | None = None
    submodules: tuple[SubmoduleMove, ...] = ()
    notes: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    skipped: str | None = None

    @property
    def is_noop(self) -> bool:
        """Whether nothing would be written for this pin."""
        return not self.changes and self.track_branch is None
