"""The pins that an image carries as a label → pins to judge by, and how they differ from those of pins.yaml."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from imagepins.errors import UsageError
from imagepins.labels import PINS, label_fault, stored_pins
from imagepins.pins.model import AptPin, EnvVar, GitPin, ImagePin, Pin, PinSet, PypiPin, Target, UrlPin
from imagepins.pins.text import Text


def with_stored(target: Target, pins: PinSet, labels: Mapping[str, str]) -> tuple[Target, PinSet]:
    """The target as its image was built, by its label. Raises UsageError where the image carries no pins."""
    document = stored_pins(labels)
    if document is None:
        fault = f"label {PINS}: {label_fault(labels)}"
        raise UsageError(f"{target.name}: the image carries no pins ({fault}); verify it against pins.yaml")
    stored = {name: stored_pin(name, fields, line) for line, (name, fields) in enumerate(document.items(), 1)}
    roles = {role: stored[pin.name] for role, pin in target.all_pins.items() if pin.name in stored}
    rest = {name: pin for name, pin in stored.items() if pin not in roles.values()}
    # Without its parent the target has to hold what the parent asks of the image.
    whole = replace(target, pins={**roles, **rest}, parent=None, env_vars=tuple(_env_vars(target)))
    return whole, replace(pins, path=f"label {PINS}", pins=stored)


def _env_vars(target: Target) -> Iterator[EnvVar]:
    if target.parent:
        yield from _env_vars(target.parent)
    yield from target.env_vars


def stored_pin(name: str, fields: Mapping[str, str], line: int) -> Pin:
    """One pin of the label; ``line`` is its number there."""

    def text(key: str) -> Text:
        return placed(str(fields.get(key, "")), line)

    common: dict[str, Any] = {"name": placed(name, line), "component": text("component") or None}
    identity, version = text("id") or None, text("version") or None
    match fields.get("kind"):
        case "git":
            return GitPin(git=text("source"), commit=identity, version=version, **common)
        case "pypi":
            return PypiPin(pypi=text("source"), version=text("id"), **common)
        case "apt":
            common["component_version_text"] = version
            return AptPin(apt=text("source"), version=text("id"), suite=text("suite"), **common)
        case "url":
            return UrlPin(url=text("source"), sha256=identity, **common)
    digest = identity if identity and ":" in identity else None
    tag = placed("" if digest else str(identity or ""), line)
    return ImagePin(image=text("source"), tag=tag, digest=digest, allow_tag=None if digest else tag, **common)


def placed(value: str, line: int) -> Text:
    """A text that stands on that line."""
    text = Text(value)
    text.line, text.column, text.start, text.end, text.style, text.is_alias = line, 1, 0, 0, "", False
    return text


def differences(target: Target, pins: PinSet, labels: Mapping[str, str]) -> Mapping[str, str]:
    """Pins that the image was built from otherwise, by name: one line each. Empty where it carries none."""
    from imagepins.plan.content import pins_document

    stored, now = stored_pins(labels), pins_document(target)
    if stored is None:
        return {}
    found = {}
    for name in sorted({*stored, *now}):
        before, after = stored.get(name), now.get(name)
        if before != after:
            place = _place(pins, name, before or {}, after or {})
            found[name] = f"{name}: the image has {_short(before, after)}, {place} has {_short(after, before)}"
    return found


def _place(pins: PinSet, name: str, before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """Where the value stands that is not the same."""
    if name not in pins.pins:
        return pins.path
    pin = pins.pins[name]
    value = pin.component_version if before.get("id") == after.get("id") else pin.id
    return pins.place(value or pin.id or pin.name)


def _short(fields: Mapping[str, str] | None, other: Mapping[str, str] | None) -> str:
    """The parts of a pin that are not the same in the other."""
    if fields is None:
        return "no such pin"
    parts = [f"{key} {value}" for key, value in fields.items() if (other or {}).get(key) != value]
    return ", ".join(parts) or "less"
