"""Who is built from whom."""

from typing import TYPE_CHECKING

import pytest

from imagepins.errors import PinsError
from imagepins.plan.graph import ancestors, normal, repository

if TYPE_CHECKING:
    from tests.plan.conftest import Project


def test_parents_come_first_and_are_found_in_the_dockerfile(project: "Project") -> None:
    nodes = project.nodes()
    assert list(nodes) == ["low/v", "high/v"]
    assert nodes["high/v"].parents == {"low:v": "low/v"}
    assert (nodes["low/v"].level, nodes["high/v"].level) == (0, 1)


def test_a_child_alone_brings_its_parents_even_if_pins_yaml_does_not_name_them(project: "Project") -> None:
    assert list(project.nodes("high")) == ["low/v", "high/v"]
    assert list(project.nodes("low")) == ["low/v"]
    assert project.nodes("high")["high/v"].content == project.nodes()["high/v"].content


@pytest.mark.parametrize(
    "text",
    [
        "FROM docker.io/library/low:v\n",
        "ARG P=low\nFROM ${P}:v\n",
        "FROM scratch\nCOPY --from=low:v /files /\n",
        "FROM debian\nRUN --mount=type=bind,from=low:v,target=/l true\n",
    ],
    ids=["full-name", "argument", "copy", "mount"],
)
def test_an_edge_is_found_however_the_parent_is_spelled(project: "Project", text: str) -> None:
    project.write("high.j2", text)
    assert list(project.nodes()["high/v"].parents.values()) == ["low/v"]


def test_a_cycle_is_printed_whole(project: "Project") -> None:
    project.write("low.j2", "FROM high:v\n")
    with pytest.raises(PinsError, match=r"low/v FROM high/v FROM low/v"):
        project.nodes()


def test_an_image_built_from_itself_is_a_cycle(project: "Project") -> None:
    project.write("high.j2", "FROM high:v\n")
    with pytest.raises(PinsError, match=r"high/v FROM high/v"):
        project.nodes()


def test_two_targets_with_one_tag_are_refused_however_it_is_spelled(project: "Project") -> None:
    text = (project.root / "pins.yaml").read_text()
    project.write("pins.yaml", text.replace("high.j2", 'high.j2\n    tags: ["docker.io/library/low:v"]'))
    with pytest.raises(PinsError, match=r"pins\.yaml:\d+: high/v has the tag .*, which low/v has, too"):
        project.nodes()


def test_names_that_would_share_files_get_files_of_their_own(project: "Project") -> None:
    images = "".join(
        f"  {name}:\n    template: high.j2\n    pins: []\n    variants: {{{variant}: {{}}}}\n"
        for name, variant in (("a", "b-c"), ("a-b", "c"))
    )
    text = (project.root / "pins.yaml").read_text()
    project.write("pins.yaml", text + images)
    slugs = [node.slug for node in project.nodes().values()]
    assert len(set(slugs)) == len(slugs) == 4
    assert "a-b-c" in slugs


@pytest.mark.parametrize(
    ("ref", "whole"),
    [
        ("a", "docker.io/library/a:latest"),
        ("a/b", "docker.io/a/b:latest"),
        ("host:5000/a", "host:5000/a:latest"),
        ("localhost/a:1", "localhost/a:1"),
        ("a@sha256:0", "docker.io/library/a@sha256:0"),
        ("a:1@sha256:0", "docker.io/library/a:1@sha256:0"),
    ],
)
def test_references_are_compared_in_full(ref: str, whole: str) -> None:
    assert normal(ref) == whole


@pytest.mark.parametrize(("tag", "name"), [("a:1", "a"), ("h:5/a:1", "h:5/a"), ("h:5/a", "h:5/a"), ("a", "a")])
def test_the_repository_of_a_tag_keeps_the_port(tag: str, name: str) -> None:
    assert repository(tag) == name


def test_ancestors_are_all_that_stand_below(project: "Project") -> None:
    nodes = project.nodes()
    assert [node.name for node in ancestors(nodes["high/v"], nodes)] == ["low/v"]


def test_onbuild_is_refused_with_its_line(project: "Project") -> None:
    project.write("high.j2", "FROM low:v\nRUN true\nonbuild COPY --from=other:1 /x /x\n")
    with pytest.raises(PinsError, match=r"high/v/Dockerfile:\d+: ONBUILD acts in images built from this one"):
        project.nodes()
