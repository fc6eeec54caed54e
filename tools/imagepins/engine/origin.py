"""Labels and digests of an image → how its base image came to be."""

from collections.abc import Mapping, Sequence

BASE_REF = "debian:trixie-slim"
BASE_LABEL = "org.imagepins.base"


def base_origin(labels: Mapping[str, str] | None, repo_digests: Sequence[str]) -> str:
    """Tell how a base image was made: ``debootstrap``, ``registry`` or ``unknown``.

    The label is set only on a base made here and is inherited by everything built on it, so it decides. Digests come
    second, because an engine with the containerd store gives a digest to an image that no registry ever had; they
    speak about the image they stand on, so pass the base's own ones, or none for an image built on top of it.
    """
    made = (labels or {}).get(BASE_LABEL)
    if made:
        return made
    return "registry" if repo_digests else "unknown"
