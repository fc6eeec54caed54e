"""The graph as people and programs read it."""

from typing import TYPE_CHECKING

from imagepins.plan import drawing

if TYPE_CHECKING:
    from tests.plan.conftest import Project


def test_children_stand_below_their_parents(project: "Project") -> None:
    assert drawing.as_text(list(project.nodes().values())) == "low/v\n  high/v"


def test_graphviz_gets_nodes_and_edges(project: "Project") -> None:
    assert drawing.as_dot(list(project.nodes().values())).splitlines() == [
        "digraph images {",
        '  "low/v";',
        '  "high/v";',
        '  "low/v" -> "high/v";',
        "}",
    ]


def test_programs_get_levels_hashes_and_edges(project: "Project") -> None:
    nodes = project.nodes()
    assert drawing.as_json(list(nodes.values())) == {
        "nodes": [
            {"name": "low/v", "level": 0, "hash": nodes["low/v"].content},
            {"name": "high/v", "level": 1, "hash": nodes["high/v"].content},
        ],
        "edges": [{"parent": "low/v", "child": "high/v"}],
    }
