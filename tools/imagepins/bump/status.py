"""How one pin stands to what it tracks, and a table of all."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from imagepins.bump.move import Side, identity, known_id
from imagepins.errors import ImagePinsError, NetworkError
from imagepins.pins.model import Pin


@dataclass(frozen=True)
class Status:
    """One pin. ``behind`` counts commits of the tracked ref that the pin lacks, ``under_path`` those that touch its
    path; ``latest`` is what a bump without ref would take, and may be older; ``attention`` is what needs a person."""

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
    is_older: bool = False

    @property
    def words(self) -> str:
        """The state in a few words."""
        if self.current is None:
            return "not known yet"
        if self.behind:
            under = "" if self.under_path is None else f" ({self.under_path} under its path)"
            return f"behind by {self.behind}{under}"
        if self.latest and self.latest != self.current:
            return (
                "ahead of what it tracks" if self.kind == "git" else "older there" if self.is_older else "newer there"
            )
        return "unknown" if self.unknown or self.latest is None else "current"


def start(pin: Pin) -> Status:
    """The status of a pin of which nothing is known but what stands in the file."""
    return Status(pin.name, pin.kind, known_id(pin))


def failed(status: Status, error: ImagePinsError) -> Status:
    """``status`` where looking up ended with ``error``: no answer leaves it unknown, all else needs a person."""
    if error.exit_code == NetworkError.exit_code:
        return replace(status, unknown=(*status.unknown, str(error)))
    return replace(status, attention=(*status.attention, str(error)))


def statuses_as_text(statuses: Iterable[Status]) -> str:
    """One line per pin, and below it what needs a person or is not known."""
    rows = list(statuses)
    width = max((len(row.pin) for row in rows), default=0)
    out = []
    for row in rows:
        current = identity(Side(row.current)) if row.current else "-"
        newer = f" -> {identity(Side(row.latest))}" if row.latest and row.latest != row.current else ""
        tracks = f"  [{row.tracks}]" if row.tracks else ""
        out.append(f"{row.pin:<{width}}  {current}{newer}  {row.words}{tracks}")
        for label, texts in (("!", row.attention), ("?", row.unknown), (" ", row.notes)):
            out += [f"{'':<{width}}  {label} {text}" for text in texts]
    return "".join(f"{line}\n" for line in out)
