"""Image refs → digests and configs. Attestations in an index are never taken for a platform's image."""

from collections.abc import Mapping
from typing import Any

from imagepins.registry.answers import Absent, Answer, ImageConfig, Present, Unknown
from imagepins.registry.client import Client
from imagepins.registry.documents import (
    INDEX_TYPES,
    MANIFEST_TYPES,
    config_digest,
    digest_of,
    images,
    is_digest,
    is_index,
    is_manifest,
    labels,
    parsed,
)
from imagepins.registry.documents import (
    platform as platform_of,
)
from imagepins.registry.reference import Reference, parse_reference
from imagepins.web import Reply

DEFAULT_PLATFORM = "linux/amd64"


def look_up(client: Client, ref: str, *, platform: str | None = None) -> Answer:
    """Whether ``ref`` is there and under which digest: the index's, or, with ``platform``, that platform's manifest.

    Raises UsageError when ``ref`` is not an image ref.
    """
    reference = parse_reference(ref)
    if platform is None:
        return _head(client, reference)
    found = _manifest_of(client, reference, platform)
    if isinstance(found, (Absent, Unknown)):
        return found
    digest, manifest = found
    return Present(digest, str(manifest.get("mediaType", MANIFEST_TYPES[0])), is_index=False)


def read_config(client: Client, ref: str, *, platform: str = DEFAULT_PLATFORM) -> ImageConfig | Absent | Unknown:
    """Labels and the rest of an image's config, without pulling a layer. Raises UsageError as ``look_up`` does."""
    reference = parse_reference(ref)
    found = _manifest_of(client, reference, platform)
    if isinstance(found, (Absent, Unknown)):
        return found
    digest, manifest = found
    config = _config(client, reference, manifest)
    if isinstance(config, (Absent, Unknown)):
        return config
    return ImageConfig(digest, platform_of(config), labels(config), config)


def platforms(client: Client, ref: str) -> Mapping[str, str] | Absent | Unknown:
    """Platform → digest of its manifest, for every image of an index (one entry for a single manifest)."""
    reference = parse_reference(ref)
    found = _get(client, reference, reference.wanted)
    if isinstance(found, (Absent, Unknown)):
        return found
    digest, document = found
    if is_index(document):
        return images(document)
    config = _config(client, reference, document)
    return config if isinstance(config, (Absent, Unknown)) else {platform_of(config): digest}


def _head(client: Client, reference: Reference) -> Answer:
    answer = client.ask("HEAD", reference, f"manifests/{reference.wanted}", INDEX_TYPES + MANIFEST_TYPES)
    if isinstance(answer, (Absent, Unknown)):
        return answer
    media_type = answer.headers.get("Content-Type", "").partition(";")[0].strip()
    digest = answer.headers.get("Docker-Content-Digest")
    if digest is None or not is_digest(digest) or media_type not in INDEX_TYPES + MANIFEST_TYPES:
        found = _get(client, reference, reference.wanted)
        if isinstance(found, (Absent, Unknown)):
            return found
        digest, document = found
        return Present(digest, media_type, is_index(document))
    if reference.digest and digest != reference.digest:
        return Unknown(f"{reference.registry} answers {digest} when asked for {reference.digest}")
    return Present(digest, media_type, media_type in INDEX_TYPES)


def _manifest_of(
    client: Client, reference: Reference, platform: str
) -> tuple[str, Mapping[str, Any]] | Absent | Unknown:
    found = _get(client, reference, reference.wanted)
    if isinstance(found, (Absent, Unknown)):
        return found
    digest, document = found
    if is_index(document):
        known = images(document)
        chosen = next((known[name] for name in known if _fits(name, platform)), None)
        if chosen is None:
            return Absent(f"{reference} has no image for {platform}, only for {', '.join(known) or 'none'}")
        return _get(client, reference, chosen)
    config = _config(client, reference, document)
    if isinstance(config, (Absent, Unknown)):
        return config
    if not _fits(platform_of(config), platform):
        return Absent(f"{reference} is an image for {platform_of(config)} only, not for {platform}")
    return digest, document


def _config(client: Client, reference: Reference, manifest: Mapping[str, Any]) -> Mapping[str, Any] | Absent | Unknown:
    digest = config_digest(manifest)
    if digest is None:
        return Unknown(f"{reference}: the manifest names no config (media type {manifest.get('mediaType')})")
    answer = client.ask("GET", reference, f"blobs/{digest}")
    if isinstance(answer, (Absent, Unknown)):
        return answer
    return _checked(answer, digest, reference)


def _get(client: Client, reference: Reference, wanted: str) -> tuple[str, Mapping[str, Any]] | Absent | Unknown:
    answer = client.ask("GET", reference, f"manifests/{wanted}", INDEX_TYPES + MANIFEST_TYPES)
    if isinstance(answer, (Absent, Unknown)):
        return answer
    digest = wanted if wanted.startswith("sha256:") else digest_of(answer.body)
    document = _checked(answer, digest, reference)
    if isinstance(document, Unknown):
        return document
    if not is_manifest(document):
        # A page of a proxy, or a manifest of schema 1, whose digest names no image that could be pulled.
        return Unknown(f"{reference.registry} sent something else than a manifest or an index for {wanted}")
    return digest, document


def _checked(answer: Reply, digest: str, reference: Reference) -> Mapping[str, Any] | Unknown:
    """The document, once its bytes are what ``digest`` says."""
    if digest_of(answer.body) != digest:
        return Unknown(f"{reference.registry} sent something else than {digest}")
    document = parsed(answer.body)
    return Unknown(f"{reference.registry} sent no JSON for {digest}") if document is None else document


def _fits(found: str, wanted: str) -> bool:
    """``linux/arm64`` accepts ``linux/arm64/v8``; a wanted variant must be that one."""
    return found == wanted or (wanted.count("/") == 1 and found.startswith(f"{wanted}/"))
