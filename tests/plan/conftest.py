"""Small projects in memory: pins.yaml, templates and contexts below a directory of the test's own."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from imagepins.pins.load import load
from imagepins.plan.graph import Node, make_graph
from imagepins.render.dockerfile import render_all

PINS = """\
schema: 1
pins:
  base: {image: debian, tag: trixie-slim, arg: BASE_IMAGE, allow_tag: a test}
  tool: {git: "file:///up/tool.git", commit: "%(commit)s", arg: TOOL_COMMIT}
images:
  low:
    template: low.j2
    pins: [base, tool]
    variants: {v: {}}
  high:
    template: high.j2
    pins: []
    variants: {v: {}}
"""
LOW = "[[[ pin_args ]]]\nFROM ${BASE_IMAGE}\nARG TOOL_COMMIT\nRUN echo ${TOOL_COMMIT}\nCOPY files/ /files/\n"
HIGH = "FROM low:v\nRUN echo high\n"


class Project:
    """A project of two images, ``high`` built from ``low``; tests change its files and plan again."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.write("pins.yaml", PINS % {"commit": "1" * 40})
        self.write("low.j2", LOW)
        self.write("high.j2", HIGH)
        self.write("images/low/context/files/a", "a\n")

    def write(self, path: str, text: str) -> Path:
        """Write a file and return its path."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        return target

    def nodes(self, *names: str) -> Mapping[str, Node]:
        """Nodes of the named targets (all by default) and what they are built from, by name, in build order."""
        pinset = load(self.root / "pins.yaml")
        nodes = make_graph(pinset, self.root, pinset.select(names), lambda some: render_all(pinset, self.root, some))
        return {node.name: node for node in nodes}

    def hashes(self) -> dict[str, str]:
        """Content hash by name."""
        return {name: node.content for name, node in self.nodes().items()}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A fresh project, in a directory that is the test's own too."""
    return Project(tmp_path / "above" / "project")
