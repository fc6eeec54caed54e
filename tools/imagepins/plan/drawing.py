"""Nodes → the graph of images as a tree, as Graphviz text, or as plain values."""

from collections.abc import Iterator, Sequence
from typing import Any

from imagepins.plan.graph import Node


def as_text(nodes: Sequence[Node]) -> str:
    """A tree: what is built from nothing of ours stands at the left, children below their parents."""
    children: dict[str, list[Node]] = {}
    for node in nodes:
        for parent in dict.fromkeys(node.parents.values()):
            children.setdefault(parent, []).append(node)

    def lines(node: Node, depth: int) -> Iterator[str]:
        yield "  " * depth + node.name
        for child in children.get(node.name, ()):
            yield from lines(child, depth + 1)

    return "\n".join(line for node in nodes if not node.parents for line in lines(node, 0))


def as_dot(nodes: Sequence[Node]) -> str:
    """A digraph for Graphviz, edges from parent to child."""
    edges = [f'  "{parent}" -> "{node.name}";' for node in nodes for parent in dict.fromkeys(node.parents.values())]
    return "\n".join(["digraph images {", *(f'  "{node.name}";' for node in nodes), *edges, "}"])


def as_json(nodes: Sequence[Node]) -> dict[str, Any]:
    """Nodes with level and content hash, and edges from parent to child."""
    return {
        "nodes": [{"name": node.name, "level": node.level, "hash": node.content} for node in nodes],
        "edges": [
            {"parent": parent, "child": node.name} for node in nodes for parent in dict.fromkeys(node.parents.values())
        ],
    }
