"""Conditions of pins.yaml → those that can never hold, whatever the pins they speak of move to.

Works on the tree, as ``crosscheck`` does. A name stands for the pins it may mean: the pin of that name, else every pin
with that component. That a pin's version is not known yet is no flaw of a condition.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from imagepins import versions
from imagepins.pins import text as yaml
from imagepins.pins.conditions import Term, parse
from imagepins.pins.schema import nearest
from imagepins.pins.text import Finding, Text, Value

_COMMIT_BEGINNING = r"[0-9a-f]{7,40}"


@dataclass(frozen=True)
class ConditionCheck:
    """The checks of conditions over ``pins``, the mapping of that name in the tree."""

    pins: dict[Text, Value]

    def below(self, value: Value | None, key: str) -> Iterator[Finding]:
        """Findings in every ``when`` and ``require`` anywhere below ``value``."""
        if isinstance(value, yaml.Sequence):
            for index, item in enumerate(value.items):
                yield from self.below(item, f"{key}[{index}]")
        if isinstance(value, yaml.Mapping):
            for name, item in value.entries.items():
                dotted = f"{key}.{name}"
                if isinstance(item, Text) and name in ("when", "require"):
                    yield from _findings(item, dotted, self._flaw)
                else:
                    yield from self.below(item, dotted)

    def gate(self, value: Value | None, key: str) -> Iterator[Finding]:
        """Findings in the condition of a gate, which speaks of versions found in an image."""
        if isinstance(value, Text):
            yield from _findings(value, key, self._gate_flaw)

    def _flaw(self, term: Term) -> str | None:
        if unknown := self._unknown(term):
            return unknown
        match term.operator:
            case "@":
                return self._commit_flaw(term)
            case "carries" if term.name == term.value:
                return f"'{term.name}' is compared with itself"
            case "carries":
                return None
            case _:
                return _version_flaw(term)

    def _gate_flaw(self, term: Term) -> str | None:
        if unknown := self._unknown(term):
            return unknown
        if term.operator in ("@", "carries"):
            return f"a gate compares versions found in the image, of which '{term.operator}' says nothing"
        components = {name for pin in self._meant(term.name) if (name := _component(pin))}
        if components and term.name not in components:
            return f"a gate speaks of what is found in the image; name the component '{min(components)}'"
        return _version_flaw(term)

    def _unknown(self, term: Term) -> str | None:
        names = [*map(str, self.pins), *(name for pin in self.pins.values() if (name := _component(pin)))]
        missing = next((name for name in term.names if name not in names), None)
        return missing and f"no pin or component '{missing}'{nearest(missing, dict.fromkeys(names))}"

    def _commit_flaw(self, term: Term) -> str | None:
        git = [pin for pin in self._meant(term.name) if _get(pin, "git")]
        if not git:
            return f"'@' compares commits and tags, and '{term.name}' is no git pin"
        if re.fullmatch(_COMMIT_BEGINNING, term.value) or any(_get(_get(pin, "track"), "tag") for pin in git):
            return None
        return f"'{term.value}' begins no commit (7 to 40 lower-case hex digits), and '{term.name}' tracks no tag"

    def _meant(self, name: str) -> list[Value]:
        by_name = [pin for each, pin in self.pins.items() if each == name]
        return by_name or [pin for pin in self.pins.values() if _component(pin) == name]


def _findings(value: Text, key: str, flaw: Callable[[Term], str | None]) -> Iterator[Finding]:
    for term in parse(value).terms:
        if message := flaw(term):
            yield Finding(value.line, value.column, key, message)


def _version_flaw(term: Term) -> str | None:
    return None if versions.parse(term.value) else f"'{term.value}' is no version that '{term.operator}' could compare"


def _component(pin: Value) -> str | None:
    name = _get(pin, "component")
    return str(name) if isinstance(name, Text) else None


def _get(value: Value | None, key: str) -> Value | None:
    return value.get(key) if isinstance(value, yaml.Mapping) else None
