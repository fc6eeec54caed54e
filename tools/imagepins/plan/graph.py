"""PinSet and rendered Dockerfiles → nodes in build order: who is built from whom, and the content hash of each."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from imagepins.errors import PinsError
from imagepins.pins.model import PinSet, Target
from imagepins.plan import content
from imagepins.plan.context import ContextFile, read_context
from imagepins.plan.dockerfile import Parsed, parse
from imagepins.plan.stages import Sources, sources


@dataclass(frozen=True, eq=False)
class Node:
    """One target with all that decides what its build gives.

    ``parents`` maps a name as the Dockerfile spells it to the target that provides it. ``level`` counts the targets
    below it that have to be there first. ``slug`` is the name where no slash can stand: ``image-variant``.
    """

    target: Target
    dockerfile: str
    parsed: Parsed
    files: tuple[ContextFile, ...]
    context_root: Path
    parents: Mapping[str, str]
    inputs: Mapping[str, str]
    content: str
    level: int
    slug: str

    @property
    def name(self) -> str:
        """``image/variant``."""
        return self.target.name

    @cached_property
    def content_tag(self) -> str:
        """Tag that stands for this content and never moves."""
        return f"{repository(self.target.tags[0])}:content-{self.content[: content.TAG_DIGITS]}"


def repository(tag: str) -> str:
    """``host:5000/name:tag`` → ``host:5000/name``."""
    head, _, last = tag.rpartition("/")
    return f"{head}/{last.partition(':')[0]}" if head else last.partition(":")[0]


Renderer = Callable[[tuple[Target, ...]], Mapping[str, str]]
"""Targets → their rendered Dockerfiles, by path."""


def make_graph(pinset: PinSet, root: Path, targets: tuple[Target, ...], render: Renderer) -> tuple[Node, ...]:
    """Nodes of ``targets`` and of all they are built from, parents first, otherwise in the order of pins.yaml.

    Raises PinsError for a cycle (printed whole), for a tag that two targets share, and for a wrong context.
    """
    _refuse_shared_tags(pinset)
    read = _read_all(pinset, targets, render)
    slugs = _slugs(list(pinset.targets))
    edges = {name: read[name].parents for name in pinset.targets if name in read}
    nodes: dict[str, Node] = {}
    for name in _in_order(edges, pinset.path):
        nodes[name] = _node(read[name], nodes, root, slugs[name])
    return tuple(nodes.values())


def _read_all(pinset: PinSet, targets: tuple[Target, ...], render: Renderer) -> "dict[str, _Read]":
    """Read Dockerfiles, then those of the targets that they name, until there are no more."""
    owners = {normal(tag): target.name for target in pinset.targets.values() for tag in target.tags}
    read: dict[str, _Read] = {}
    while targets:
        texts = render(targets)
        read |= {target.name: _read(target, texts[target.dockerfile], owners) for target in targets}
        named = {parent for target in targets for parent in read[target.name].parents.values()}
        targets = tuple(pinset.targets[name] for name in sorted(named - read.keys()))
    return read


@dataclass(frozen=True)
class _Read:
    """A target, its Dockerfile, what that takes from outside, and which of it other targets provide."""

    target: Target
    text: str
    parsed: Parsed
    taken: Sources
    parents: Mapping[str, str]


def _read(target: Target, text: str, owners: Mapping[str, str]) -> _Read:
    parsed = parse(text, target.dockerfile)
    _refuse_onbuild(parsed, target.dockerfile)
    taken = sources(parsed, target.dockerfile, target.platform)
    parents = {use.name: owners[normal(use.name)] for use in taken.images if normal(use.name) in owners}
    return _Read(target, text, parsed, taken, parents)


def _refuse_onbuild(parsed: Parsed, path: str) -> None:
    for each in parsed.instructions:
        if each.keyword == "ONBUILD":
            raise PinsError(
                f"{path}:{each.line}: ONBUILD acts in images built from this one, where no hash sees what it takes; "
                "write the instruction into their templates"
            )


def _node(read: _Read, nodes: Mapping[str, Node], root: Path, slug: str) -> Node:
    target, taken = read.target, read.taken
    context_root = root / "images" / target.image / "context"
    files = read_context(context_root, taken.files, dockerfile=target.dockerfile) if taken.files else ()
    parents = [nodes[name] for name in read.parents.values()]
    found = content.inputs(
        target,
        read.parsed,
        files=files,
        bases=[use.name for use in taken.images if use.name not in read.parents],
        parents={parent.name: parent.content for parent in parents},
    )
    return Node(
        target=target,
        dockerfile=read.text,
        parsed=read.parsed,
        files=files,
        context_root=context_root,
        parents=read.parents,
        inputs=found,
        content=content.content_hash(found),
        level=max((parent.level + 1 for parent in parents), default=0),
        slug=slug,
    )


def has_registry(ref: str) -> bool:
    """Whether a reference begins with the host of a registry, as Docker tells it."""
    first, slash, _ = ref.partition("/")
    return bool(slash) and ("." in first or ":" in first or first == "localhost")


def normal(ref: str) -> str:
    """A reference with what Docker adds when it is left out, so that two spellings of one image compare equal."""
    name, at, digest = ref.partition("@")
    if not has_registry(name):
        name = f"docker.io/{name}" if "/" in name else f"docker.io/library/{name}"
    if not at and ":" not in name.rpartition("/")[2]:
        name += ":latest"
    return name + at + digest


def ancestors(node: Node, nodes: Mapping[str, Node]) -> Iterator[Node]:
    """Parents of ``node`` and theirs, each once, nearest first."""
    seen: set[str] = set()
    queue = list(node.parents.values())
    while queue:
        name = queue.pop(0)
        if name not in seen:
            seen.add(name)
            yield nodes[name]
            queue.extend(nodes[name].parents.values())


def incomplete_pins(node: Node, by_name: Mapping[str, Node]) -> tuple[str, ...]:
    """Names of pins without an immutable id that the node or an ancestor holds; with any it cannot be built."""
    family = [node, *ancestors(node, by_name)]
    pins = (pin for each in family for pin in each.target.all_pins.values())
    return tuple(dict.fromkeys(str(pin.name) for pin in pins if not pin.is_complete))


def _slugs(names: list[str]) -> dict[str, str]:
    """``image/variant`` → ``image-variant``; a digest is added where two names would give the same."""
    found: dict[str, str] = {}
    for name in names:
        slug = re.sub(r"[^A-Za-z0-9_-]", "-", name)
        if slug in found.values():
            slug += f"-{sha256(name.encode()).hexdigest()[:8]}"
        found[name] = slug
    return found


def _in_order(edges: Mapping[str, Mapping[str, str]], path: str) -> list[str]:
    """Names so that parents come before children, otherwise in the given order. Raises PinsError for a cycle."""
    order: list[str] = []
    state: dict[str, int] = {}
    for start in edges:
        stack: list[tuple[str, Iterator[str]]] = [(start, iter(edges[start].values()))] if start not in state else []
        state.setdefault(start, 1)
        while stack:
            name, rest = stack[-1]
            parent = next(rest, None)
            if parent is None:
                state[name] = 2
                order.append(name)
                stack.pop()
            elif state.get(parent) == 1:
                cycle = [each for each, _ in stack]
                raise PinsError(f"{path}: images are built from each other: {_chain(cycle, parent)}")
            elif parent not in state:
                state[parent] = 1
                stack.append((parent, iter(edges[parent].values())))
    return order


def _chain(stack: list[str], again: str) -> str:
    return " FROM ".join([*stack[stack.index(again) :], again])


def _refuse_shared_tags(pinset: PinSet) -> None:
    owner: dict[str, Target] = {}
    for target in pinset.targets.values():
        for tag in target.tags:
            other = owner.setdefault(normal(tag), target)
            if other is not target:
                raise PinsError(
                    f"{pinset.place(target.variant)}: {target.name} has the tag {tag}, which {other.name} has, too; "
                    "give each its own 'tags'"
                )
