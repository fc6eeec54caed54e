"""The values a verification is made of: claims (what evidence says) and checks (what was judged)."""

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum


class Rank(IntEnum):
    """How much a piece of evidence is worth; lower is better."""

    MAPPED = 1
    FILE = 2
    PACKAGE = 3
    STATED = 4

    @property
    def label(self) -> str:
        """The rank as reports name it."""
        return {1: "mapped by a process", 2: "file on disk", 3: "package database", 4: "stated only"}[self.value]

    @property
    def word(self) -> str:
        """The rank in one word, for tables."""
        return self.name.lower()


class Aspect(StrEnum):
    """What of a component a claim speaks of."""

    VERSION = "version"
    COMMIT = "commit"


class Status(StrEnum):
    """How a check ended. Only FAILED fails by default; FINDING and UNPROVEN do so with --strict."""

    PASSED = "passed"
    FAILED = "failed"
    OTHER_PINS = "other-pins"
    UNPROVEN = "unproven"
    FINDING = "finding"
    SKIPPED = "skipped"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What one piece of evidence says. An empty ``value`` means that it knows no answer; ``note`` says why.

    ``is_dirty``: the build it came from had changed files. ``denies``: a blank that speaks against worse evidence, such
    as a hash of zeros. ``is_proof``: holds for the very bytes a process maps, so no blank speaks against it.
    """

    aspect: Aspect
    value: str
    rank: Rank
    file: str
    how: str
    note: str = ""
    is_dirty: bool = False
    denies: bool = False
    is_proof: bool = False


@dataclass(frozen=True, kw_only=True)
class Check:
    """One line of a report. ``place`` is ``pins.yaml:LINE``; ``how`` names the probe; ``file`` what it looked at."""

    name: str
    subject: str
    status: Status
    expected: str = ""
    found: str = ""
    rank: Rank | None = None
    file: str = ""
    how: str = ""
    place: str = ""
    cause: str = ""


@dataclass(frozen=True, kw_only=True)
class Report:
    """All checks of one image. ``outcome`` is ``checked`` or why there was nothing to check."""

    target: str
    ref: str
    image_id: str = ""
    outcome: str = "checked"
    message: str = ""
    checks: tuple[Check, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    differences: tuple[str, ...] = field(default=())

    def count(self, status: Status) -> int:
        """How many checks ended so."""
        return sum(check.status is status for check in self.checks)

    def is_good(self, *, strict: bool = False) -> bool:
        """Whether everything holds; ``strict`` lets findings and unproven pins count as failures."""
        bad = {Status.FAILED, Status.OTHER_PINS} | ({Status.FINDING, Status.UNPROVEN} if strict else set())
        return self.outcome == "checked" and not any(check.status in bad for check in self.checks)
