"""The engine's description of an image and its bases → the ``image`` part of the observed document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from docker import APIClient


def image_facts(client: APIClient, ref: str, base_refs: Iterable[str]) -> dict[str, Any]:
    """What the engine says of the image and of its bases that are here."""
    from docker.errors import APIError

    facts = inspect_image(client, ref)
    config = facts.get("Config") or {}
    bases = {}
    for base in base_refs:
        with suppress(APIError):
            bases[base] = _base_facts(inspect_image(client, base))
    variant = f"/{facts['Variant']}" if facts.get("Variant") else ""
    return {
        "ref": ref,
        "id": facts["Id"],
        "platform": f"{facts.get('Os', '')}/{facts.get('Architecture', '')}{variant}",
        "labels": config.get("Labels") or {},
        "env": dict(entry.partition("=")[::2] for entry in config.get("Env") or ()),
        "layers": (facts.get("RootFS") or {}).get("Layers") or [],
        "digests": facts.get("RepoDigests") or [],
        "bases": bases,
    }


def _base_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    from imagepins.engine.origin import base_origin

    labels = (facts.get("Config") or {}).get("Labels")
    origin = base_origin(labels, facts.get("RepoDigests") or ())
    return {"layers": (facts.get("RootFS") or {}).get("Layers") or [], "origin": origin}


def inspect_image(client: APIClient, ref: str) -> dict[str, Any]:
    """The engine's own description of an image. Raises ImageNotFound."""
    facts: dict[str, Any] = client.inspect_image(ref)  # type: ignore[no-untyped-call]
    return facts
