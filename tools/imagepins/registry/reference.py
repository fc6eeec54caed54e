"""Text of an image ref → host, repository, tag and digest, with the short forms that Docker allows spelled out."""

import re
from dataclasses import dataclass

from imagepins.errors import UsageError

DOCKER_HUB = "docker.io"
_HUB_HOST = "registry-1.docker.io"
_REPOSITORY = re.compile(r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*")
_HOST = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9a-fA-F:]+\])(?::\d+)?")
_TAG = re.compile(r"\w[\w.-]{0,127}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True)
class Reference:
    """``registry`` is the name people and docker's config use, ``tag`` and ``digest`` at least one of the two."""

    registry: str
    repository: str
    tag: str | None
    digest: str | None

    @property
    def wanted(self) -> str:
        """What is asked of the registry: the digest where there is one."""
        return self.digest or self.tag or "latest"

    @property
    def is_loopback(self) -> bool:
        """Whether the registry runs on this machine, where plain http is what people have."""
        host = self.registry.rsplit(":", 1)[0] if not self.registry.startswith("[") else self.registry
        return host == "localhost" or host.startswith(("127.", "[::1]"))

    @property
    def base_url(self) -> str:
        """Root of the registry's API, with a '/' at the end."""
        host = _HUB_HOST if self.registry == DOCKER_HUB else self.registry
        return f"{'http' if self.is_loopback else 'https'}://{host}/"

    def __str__(self) -> str:
        """The ref in full."""
        tag = f":{self.tag}" if self.tag else ""
        digest = f"@{self.digest}" if self.digest else ""
        return f"{self.registry}/{self.repository}{tag}{digest}"


def parse_reference(text: str) -> Reference:
    """``text`` such as ``ubuntu``, ``rocm/vllm-dev:base`` or ``host:5000/a/b@sha256:...``. Raises UsageError."""
    rest, _, digest = text.strip().partition("@")
    first, slash, below = rest.partition("/")
    is_host = slash and ("." in first or ":" in first or first == "localhost")
    registry, path = (first, below) if is_host else (DOCKER_HUB, rest)
    path, colon, tag = path.partition(":")
    if registry in ("index.docker.io", _HUB_HOST):
        registry = DOCKER_HUB
    if registry == DOCKER_HUB and "/" not in path:
        path = f"library/{path}"
    is_wrong = (
        not _HOST.fullmatch(registry)
        or not _REPOSITORY.fullmatch(path)
        or (colon and not _TAG.fullmatch(tag))
        or ("@" in text and not _DIGEST.fullmatch(digest))
    )
    if is_wrong:
        raise UsageError(f"'{text}' is not an image ref ([HOST/]REPOSITORY[:TAG][@sha256:DIGEST])")
    return Reference(registry, path, tag or (None if digest else "latest"), digest or None)
