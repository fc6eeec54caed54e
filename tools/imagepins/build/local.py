"""Nodes → which of them the local engine holds already, by one call of the docker client."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from imagepins.errors import EngineError
from imagepins.labels import CONTENT_HASH, INPUTS
from imagepins.parallel import parallel
from imagepins.plan.graph import Node, normal
from imagepins.process import ProcessFailed, run

_FORMAT = "{{json .Id}}\t{{json .RepoTags}}\t{{json .RepoDigests}}\t{{json .Config.Labels}}\t{{json .Size}}"
_HARMLESS = re.compile(r"no such image|not found|^warning", re.IGNORECASE)
_AT_ONCE = 500
"""References in one call of the client, far below what a command line may hold."""


@dataclass(frozen=True)
class LocalImage:
    """An image of the local engine: its id, its labels and its size in bytes."""

    id: str
    digests: tuple[str, ...]
    labels: Mapping[str, str]
    size: int

    @property
    def pinned(self) -> str:
        """``@DIGEST`` where the engine's store knows the image by its digest, else nothing."""
        return f"@{self.id}" if any(each.endswith(f"@{self.id}") for each in self.digests) else ""


@dataclass(frozen=True)
class Local:
    """What the local engine holds of the asked references, by their full names."""

    images: Mapping[str, LocalImage]

    def built(self, node: Node) -> LocalImage | None:
        """The image with this node's content, or None."""
        found = self.images.get(normal(node.content_tag))
        return found if found and found.labels.get(CONTENT_HASH) == node.content else None

    def missing_tags(self, node: Node) -> list[str]:
        """Tags that do not stand for the node's content yet, though it is there."""
        built = self.built(node)
        return [tag for tag in node.target.tags if built and self.images.get(normal(tag)) != built]

    def tagged(self, node: Node) -> LocalImage | None:
        """The image that has the node's first tag, whatever its content, or None."""
        return self.images.get(normal(node.target.tags[0]))

    def last_inputs(self, node: Node) -> dict[str, str] | None:
        """Inputs of the image that has the node's tag now, or None."""
        found = self.tagged(node)
        try:
            return dict(json.loads(found.labels[INPUTS])) if found else None
        except (KeyError, ValueError, TypeError):
            return None


def look(nodes: Iterable[Node], *, with_tagged: bool = False) -> Local:
    """Ask for the content of all nodes, many at once; an image that is there tells all its tags by itself.

    ``with_tagged`` also asks what has the tags of nodes that are not there. Raises EngineError where no engine answers.
    """
    found = Local(_ask(node.content_tag for node in nodes))
    if not with_tagged:
        return found
    return Local({**_ask(node.target.tags[0] for node in nodes if not found.built(node)), **found.images})


def _ask(wanted: Iterable[str]) -> dict[str, LocalImage]:
    refs = sorted(set(wanted))
    parts = [refs[start : start + _AT_ONCE] for start in range(0, len(refs), _AT_ONCE)]
    if len(parts) <= 1:
        return _inspect(refs) if refs else {}
    # The client asks for one image after the other; for thousands it pays to run several.
    return {ref: image for found in parallel(_inspect, parts, at_once=4) for ref, image in found.items()}


def _inspect(refs: list[str]) -> dict[str, LocalImage]:
    try:
        # The client tells those that are there and fails for the others.
        done = run(["docker", "image", "inspect", "--format", _FORMAT, *refs], timeout=60, check=False)
    except ProcessFailed as error:
        raise EngineError(f"{error}; run tools/engine status") from error
    problems = [line for line in done.stderr.splitlines() if line.strip() and not _HARMLESS.search(line)]
    if problems and done.code != 0:
        raise EngineError(f"the Docker engine did not answer: {problems[0].strip()}; run tools/engine status")
    images: dict[str, LocalImage] = {}
    for line in filter(str.strip, done.stdout.splitlines()):
        identity, tags, digests, labels, size = (json.loads(part) for part in line.split("\t"))
        images |= dict.fromkeys(map(normal, tags or ()), LocalImage(identity, tuple(digests or ()), labels or {}, size))
    return images


def disk_sizes(refs: Iterable[str]) -> dict[str, int]:
    """Bytes that images take on the engine's disk, layers unpacked; what ``docker image ls`` shows of them."""
    filters = [part for ref in refs for part in ("--filter", f"reference={_familiar(ref)}")]
    if not filters:
        return {}
    # Without a filter the engine sums up the layers of all images it has, which takes seconds.
    argv = ["docker", "image", "ls", *filters, "--format", "{{.Repository}}:{{.Tag}}\t{{.Size}}"]
    done = run(argv, timeout=60, check=False)
    rows = (line.partition("\t") for line in done.stdout.splitlines())
    return {normal(name): size for name, _, text in rows if (size := _bytes(text)) is not None}


def _familiar(ref: str) -> str:
    """A reference as the engine shows it, without what Docker adds by itself."""
    return normal(ref).removeprefix("docker.io/").removeprefix("library/")


def _bytes(text: str) -> int | None:
    match = re.fullmatch(r"([\d.]+)([kMGT]?)B", text.strip())
    return int(float(match[1]) * 1000 ** " kMGT".index(match[2] or " ")) if match else None


def tag(source: str, target: str) -> None:
    """Give a local image another tag. Raises EngineError."""
    try:
        run(["docker", "image", "tag", source, target], timeout=30)
    except ProcessFailed as error:
        raise EngineError(str(error)) from error
