"""Bytes of a registry's documents → what they say; whatever is not as the specification has it says nothing."""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

INDEX_TYPES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
MANIFEST_TYPES = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def parsed(content: bytes) -> Mapping[str, Any] | None:
    """The JSON object that ``content`` is, or None."""
    try:
        document: Any = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def digest_of(content: bytes) -> str:
    """``sha256:...`` of some bytes."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def is_digest(value: object) -> bool:
    """Whether ``value`` is a digest as pins hold them."""
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


def is_index(document: Mapping[str, Any]) -> bool:
    """Whether the document lists the manifests of several platforms."""
    return document.get("mediaType") in INDEX_TYPES or "manifests" in document


def is_manifest(document: Mapping[str, Any]) -> bool:
    """Whether the document is an index or manifest that its digest names: of OCI, or of Docker's schema 2."""
    return document.get("mediaType") in INDEX_TYPES + MANIFEST_TYPES or document.get("schemaVersion") == 2


def images(index: Mapping[str, Any]) -> Mapping[str, str]:
    """Platform → digest of its manifest. buildx adds attestations, whose platform is ``unknown/unknown``."""
    entries = index.get("manifests")
    known = [mapping(each) for each in entries] if isinstance(entries, list) else []
    both = ((platform(mapping(each.get("platform"))), each.get("digest")) for each in known)
    return {name: str(digest) for name, digest in both if name and "unknown" not in name and is_digest(digest)}


def config_digest(manifest: Mapping[str, Any]) -> str | None:
    """Digest of the config that a manifest names, or None."""
    found = mapping(manifest.get("config")).get("digest")
    return found if is_digest(found) else None


def platform(document: Mapping[str, Any]) -> str:
    """``linux/arm64/v8`` of a config, or of the platform in an index; '' where there is none."""
    parts = [document.get("os", ""), document.get("architecture", ""), document.get("variant", "")]
    return "/".join(str(part) for part in parts if part)


def labels(config: Mapping[str, Any]) -> Mapping[str, str]:
    """Labels of a config."""
    found = mapping(mapping(config.get("config")).get("Labels"))
    return {name: str(value) for name, value in found.items()}


def environment(config: Mapping[str, Any]) -> Mapping[str, str]:
    """Environment variables of a config."""
    entries = _items(mapping(config.get("config")).get("Env"))
    return {name: value for name, _, value in (each.partition("=") for each in entries if isinstance(each, str))}


def layer_makers(config: Mapping[str, Any]) -> list[str]:
    """What made each layer that a config tells of, from the lowest."""
    steps = [mapping(each) for each in _items(config.get("history"))]
    return [str(step.get("created_by", "")) for step in steps if not step.get("empty_layer")]


def layer_sizes(manifest: Mapping[str, Any]) -> list[int]:
    """Bytes of each layer of a manifest as it is sent, from the lowest."""
    sizes = [mapping(each).get("size") for each in _items(manifest.get("layers"))]
    return [size if isinstance(size, int) else 0 for size in sizes]


def _items(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def mapping(value: object) -> Mapping[str, Any]:
    """``value`` if it is an object of JSON, else an empty one."""
    return value if isinstance(value, dict) else {}
