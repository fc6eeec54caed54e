"""Text of a condition → Condition: ``rccl < 2.32``, ``triton @ 89002410``, ``torch carries rocm-sdk``.

Terms are joined by ``and``; a name is a pin's or a component's. ``@`` compares the beginning of a commit, or a tag.
``carries`` asks that the local part of the left pin's version name the right pin's (2.12.0+rocm10.0.0 carries 10.0.0).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from imagepins import versions

if TYPE_CHECKING:
    from imagepins.pins.model import Pin

TERM = re.compile(r"(\S+) ([<>]=?|[=!]=|@|carries) (\S+)")


@dataclass(frozen=True)
class Term:
    """One comparison. ``value`` is a version, the beginning of a commit, or (``carries``) the name of a pin."""

    name: str
    operator: str
    value: str

    @property
    def names(self) -> tuple[str, ...]:
        """The pins or components the term speaks of."""
        return (self.name, self.value) if self.operator == "carries" else (self.name,)


@dataclass(frozen=True)
class Condition:
    """Terms that must all hold. ``text`` is the condition as it stands in pins.yaml."""

    text: str
    terms: tuple[Term, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The pins or components the condition speaks of."""
        return tuple(name for term in self.terms for name in term.names)

    def holds(self, pins: Iterable[Pin]) -> bool:
        """Whether it holds for pinned values; a pin not among ``pins``, or an unknown version, makes it false."""
        known = list(pins)
        return all(_holds_for_pins(term, known) for term in self.terms)

    def holds_for(self, found: Mapping[str, str | None]) -> bool:
        """Whether it holds for versions found in an image, by component; an unknown version makes it false."""
        return all(versions.satisfies(found.get(term.name), term.operator, term.value) for term in self.terms)

    def concerns(self, pins: Iterable[Pin]) -> bool:
        """Whether every name it speaks of is among ``pins``."""
        known = list(pins)
        return all(find(name, known) is not None for name in self.names)


def parse(text: str) -> Condition:
    """Parse a condition whose shape ``scalars.CONDITION`` has checked."""
    terms = tuple(Term(*match.groups()) for match in map(TERM.fullmatch, text.split(" and ")) if match)
    return Condition(text, terms)


def find(name: str, pins: Iterable[Pin]) -> Pin | None:
    """The pin of that name, else the pin whose component has that name, else None."""
    known = list(pins)
    by_name = (pin for pin in known if pin.name == name)
    return next(by_name, None) or next((pin for pin in known if pin.component == name), None)


def _holds_for_pins(term: Term, pins: list[Pin]) -> bool:
    pin = find(term.name, pins)
    if pin is None:
        return False
    if term.operator == "@":
        tag = getattr(getattr(pin, "track", None), "tag", None)
        return bool(pin.id and pin.id.startswith(term.value)) or tag == term.value
    if term.operator == "carries":
        other = find(term.value, pins)
        return _carries(pin.component_version, other.component_version if other else None)
    return versions.satisfies(pin.component_version, term.operator, term.value)


def _carries(version: str | None, carried: str | None) -> bool:
    local = (version or "").partition("+")[2]
    return bool(carried) and re.search(rf"(?<![0-9.]){re.escape(str(carried))}(?![0-9]|\.[0-9])", local) is not None
