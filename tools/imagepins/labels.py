"""The labels that carry an image's pins: their names, and how the build writes and all others read what they hold."""

import json
from collections.abc import Mapping
from hashlib import sha256

PINS = "org.imagepins.pins"
PINS_HASH = "org.imagepins.pins-hash"
CONTENT_HASH = "org.imagepins.content-hash"
INPUTS = "org.imagepins.inputs"
TARGET = "org.imagepins.target"

KINDS = frozenset({"git", "pypi", "apt", "url", "image"})

Document = Mapping[str, Mapping[str, str]]
"""Pins by name, each with kind, source, id, version and component."""


def pins_text(document: Document) -> str:
    """The document as the label holds it: the same text for the same pins."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"))


def pins_hash(document: Document) -> str:
    """One hash of all pins, 64 hex digits, as it stands in a label beside them."""
    return sha256(pins_text(document).encode()).hexdigest()


def stored_pins(labels: Mapping[str, str]) -> Document | None:
    """The pins an image carries; None where its label holds none."""
    return None if label_fault(labels) else json.loads(labels[PINS])


def label_fault(labels: Mapping[str, str]) -> str:
    """Why the label holds no pins; empty where it does."""
    if PINS not in labels:
        return "there is none"
    try:
        value = json.loads(labels[PINS])
    except (ValueError, RecursionError):
        return "it is no JSON"
    if not isinstance(value, dict):
        return "it is no mapping of pins"
    if not value:
        return "it is empty"
    for name, fields in value.items():
        if not isinstance(fields, dict) or not all(isinstance(each, str) for each in fields.values()):
            return f"pin {name!r} is no mapping of texts"
        if not name or fields.get("kind") not in KINDS:
            return f"pin {name!r} is of no kind that there is ({fields.get('kind')!r})"
    return ""
