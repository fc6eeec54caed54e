"""A reference → what its image says of itself: from the engine, else from its registry without pulling a layer."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass

from imagepins.columns import aligned
from imagepins.errors import EngineError, NetworkError, RefError
from imagepins.labels import Document, stored_pins
from imagepins.verify.reports import visible

ENGINE_SECONDS = 10
PREFIXES = ("org.imagepins.", "org.opencontainers.image.")


@dataclass(frozen=True)
class Inspection:
    """An image's own words. ``source`` is ``engine`` or ``registry``; ``pins`` is None where it carries none."""

    ref: str
    source: str
    id: str
    platform: str
    labels: Mapping[str, str]
    pins: Document | None


def inspect(ref: str) -> Inspection:
    """Look ``ref`` up.

    Raises RefError where it is nowhere, NetworkError where its registry does not tell, and EngineError where the
    registry gives none and the engine, which may have it, cannot be used.
    """
    found = _from_engine(ref)
    return found if isinstance(found, Inspection) else _from_registry(ref, found)


def _from_engine(ref: str) -> Inspection | EngineError | None:
    """What the engine has: an image, none of that name, or the reason why it cannot be asked."""
    from imagepins.verify.client import connect, translate
    from imagepins.verify.facts import image_facts

    try:
        with closing(connect(seconds=ENGINE_SECONDS)) as client:
            facts = image_facts(client, ref, ())
    except Exception as error:
        translated = translate(error, ref)
        if isinstance(translated, RefError):
            return None
        # Without an engine the registry can still tell.
        if isinstance(translated, EngineError):
            return translated
        raise
    return Inspection(ref, "engine", facts["id"], facts["platform"], facts["labels"], stored_pins(facts["labels"]))


def _from_registry(ref: str, problem: EngineError | None) -> Inspection:
    from imagepins.registry.answers import Absent, Unknown
    from imagepins.registry.client import Client
    from imagepins.registry.images import read_config

    with Client() as client:
        found = read_config(client, ref)
    if isinstance(found, (Absent, Unknown)) and problem:
        raise EngineError(f"{problem} It may have {ref}; its registry gives none: {found.reason}")
    if isinstance(found, Absent):
        raise RefError(f"{ref} is neither here nor in its registry: {found.reason}")
    if isinstance(found, Unknown):
        raise NetworkError(f"{ref} is not here, and its registry does not tell: {found.reason}")
    return Inspection(ref, "registry", found.digest, found.platform, found.labels, stored_pins(found.labels))


def as_document(inspection: Inspection) -> Mapping[str, object]:
    """The inspection for JSON."""
    return {
        "schema": 1,
        "ref": inspection.ref,
        "source": inspection.source,
        "id": inspection.id,
        "platform": inspection.platform,
        "pins": inspection.pins,
        "labels": dict(sorted(inspection.labels.items())),
    }


def as_text(inspection: Inspection) -> str:
    """The inspection for people: facts, then one line for each pin."""
    lines = [
        f"{inspection.ref} ({inspection.source}, {inspection.platform})",
        f"id       {inspection.id}",
        *(f"{key.rpartition('.')[2]:8} {value}" for key, value in sorted(inspection.labels.items()) if _is_short(key)),
    ]
    if inspection.pins is None:
        return "\n".join(map(visible, [*lines, "It carries no pins; 'tools/image build' writes them."]))
    rows = [
        (name, fields.get("kind", ""), fields.get("id", ""), fields.get("version", ""), fields.get("source", ""))
        for name, fields in inspection.pins.items()
    ]
    return "\n".join(map(visible, [*lines, "pins:", *(f"  {line}" for line in aligned(rows))]))


def _is_short(label: str) -> bool:
    return label.startswith(PREFIXES) and not label.endswith((".pins", ".inputs"))
