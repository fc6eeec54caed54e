"""Target and what it is built from → inputs, and one hash over them that stands for the finished image.

Two targets with the same hash give the same image as far as the pins can tell. Times, owners, the order of keys and
comments in pins.yaml and in Dockerfiles do not count.
"""

import json
from collections.abc import Iterable, Mapping
from hashlib import sha256

from imagepins.pins.model import Pin, Target
from imagepins.plan.context import ContextFile
from imagepins.plan.dockerfile import Parsed

SCHEME = "1"
"""Version of this way of hashing; part of every hash."""

TAG_DIGITS = 24


def pins_document(target: Target) -> dict[str, dict[str, str]]:
    """Every pin of the finished image by name, as its label carries it: kind, source, id, version, component."""
    return {str(pin.name): _pin(pin) for pin in sorted(target.all_pins.values(), key=lambda each: each.name)}


def inputs(
    target: Target,
    parsed: Parsed,
    *,
    files: Iterable[ContextFile],
    bases: Iterable[str],
    parents: Mapping[str, str],
) -> dict[str, str]:
    """What the image is made of, by name, each as short text that differs when the input differs.

    ``bases`` are outside images as the Dockerfile names them (with digest wherever the pin has one); ``parents`` maps
    names of parent targets to their content hashes.
    """
    found = {"scheme": SCHEME, "platform": target.platform, "dockerfile": _hash(parsed.meaning)[:TAG_DIGITS]}
    found |= {f"pin {name}": _short(pin) for name, pin in pins_document(target).items()}
    found |= {f"base {name}": name.rpartition("@")[2] for name in bases}
    found |= {f"parent {name}": content for name, content in parents.items()}
    found |= {f"file {each.path}": f"{each.mode:o} {_hash(each.identity)[:TAG_DIGITS]}" for each in files}
    return dict(sorted(found.items()))


def content_hash(found: Mapping[str, str]) -> str:
    """64 hex digits over the inputs."""
    return _hash(_json(dict(found)))


def changed_inputs(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """One line per input that moved: ``pin rccl: 1c0ab425 -> 4ca86233``."""
    lines = []
    for name in sorted({*before, *after}):
        old, new = before.get(name), after.get(name)
        if old != new:
            lines.append(f"{name}: {'new' if old is None else 'gone' if new is None else f'{old} -> {new}'}")
    return lines


def _pin(pin: Pin) -> dict[str, str]:
    fields = {
        "kind": pin.kind,
        "source": pin.source,
        "id": pin.id,
        "version": pin.component_version,
        "component": pin.component,
    }
    return {key: str(value) for key, value in fields.items() if value is not None}


def _short(document: Mapping[str, str]) -> str:
    rest = {key: value for key, value in document.items() if key != "id"}
    return f"{document.get('id', '')} {_hash(_json(rest))[:8]}"


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()
