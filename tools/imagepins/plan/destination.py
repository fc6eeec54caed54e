"""Tags of pins.yaml → references in the registry that images are pushed to and looked for."""

from dataclasses import dataclass

from imagepins.errors import UsageError
from imagepins.plan.graph import Node, has_registry


@dataclass(frozen=True)
class Destination:
    """``prefix`` is ``HOST[:PORT][/PATH]``, put before tags that name no registry of their own; empty for none."""

    prefix: str = ""

    def place(self, tag: str) -> str | None:
        """``debian_rocm:trixie`` → ``ghcr.io/team/debian_rocm:trixie``; None where there is no registry for it."""
        if has_registry(tag):
            return tag
        return f"{self.prefix}/{tag}" if self.prefix else None

    def content_ref(self, node: Node) -> str | None:
        """The reference that stands for the node's content in the registry, or None."""
        return self.place(node.content_tag)

    def asked_for(self, node: Node, *, push: bool = False) -> str | None:
        """The reference that a registry is asked for: none unless a registry was named, or for a push.

        A build that nobody told of a registry needs no network for it, even if its tags name one.
        """
        return self.content_ref(node) if self.prefix or push else None

    def refs(self, node: Node) -> list[str]:
        """All references of the node in the registry. Raises UsageError where there is no registry for one."""
        placed = [(tag, self.place(tag)) for tag in (*node.target.tags, node.content_tag)]
        for tag, ref in placed:
            if ref is None:
                raise UsageError(f"{node.name}: the tag {tag} names no registry; give one with --registry HOST/PATH")
        return [ref for _, ref in placed if ref]


def destination(prefix: str | None, *, option: str = "--registry") -> Destination:
    """The destination that ``option`` names. Raises UsageError for what is no HOST[:PORT][/PATH]."""
    # Repositories are lower case; the name of an owner on a forge need not be.
    cleaned = (prefix or "").removesuffix("/").lower()
    if cleaned and ("://" in cleaned or "@" in cleaned or not has_registry(f"{cleaned}/name")):
        raise UsageError(f"{option} {prefix}: expected HOST[:PORT][/PATH] without scheme, such as ghcr.io/team")
    return Destination(cleaned)
