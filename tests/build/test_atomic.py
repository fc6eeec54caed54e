"""All or nothing: tags move and pushes begin once everything is built and verified."""

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from naming import images_named

if TYPE_CHECKING:
    from tests.build.conftest import Project

    from copying import Copy

pytestmark = pytest.mark.engine

Docker = Callable[..., str]
PINS = "  tool: {url: 'https://example.org/f', sha256: '%s', component: tool}\n" % ("0" * 64)


def tags(project: "Project") -> list[str]:
    """Tags of the project's images, content tags left out."""
    return [name for name in images_named(f"{project.prefix}-*") if ":content-" not in name]


def in_registry(registry: str, project: "Project", short: str) -> bool:
    """Whether the registry knows anything of an image."""
    try:
        with urlopen(f"http://{registry}/v2/{project.prefix}-{short}/tags/list", timeout=120):
            return True
    except HTTPError:
        return False


@pytest.fixture
def good(project: "Project", debian_rocm: "Copy") -> "Project":
    """Two images that verify passes: what this repository builds, with a step more."""
    project.write({"one": f"FROM {debian_rocm.ref}\nRUN true\n", "two": "FROM @one@\nRUN true && true\n"})
    return project


def test_a_failure_tags_nothing_and_says_so(project: "Project") -> None:
    project.write({"good": "FROM scratch\nCOPY f /f\n", "bad": "FROM debian:trixie-slim\nRUN exit 3\n"})
    project.file("good", "f", "x")
    ran = project.run("build", "--atomic", "--keep-going")
    assert ran.code == 5
    assert ran.rows == {project.name("good"): "held back", project.name("bad"): "failed"}
    assert re.search(rf"^{project.name('good')} +held back ", ran.err, re.MULTILINE)
    assert tags(project) == []


def test_an_image_that_does_not_hold_its_pins_lets_no_tag_move_and_pushes_nothing(
    project: "Project", registry: str
) -> None:
    pins = "  lib: {apt: librccl1, version: '5.4.3', suite: trixie, component: rccl, component_version: '2.13.4'}\n"
    bad = "FROM debian:trixie-slim\nARG LIB_VERSION\nRUN true\n"
    project.write({"good": "FROM scratch\nCOPY f /f\n", "bad": bad}, pins=pins)
    project.file("good", "f", "x")
    for args in (["--push", "--registry", registry], []):
        ran = project.run("build", "--atomic", *args)
        assert ran.code == 1, ran.err
        assert "nothing was tagged or pushed" in ran.err
    assert tags(project) == []
    assert not in_registry(registry, project, "good")


def test_everything_good_is_tagged(good: "Project") -> None:
    ran = good.run("build", "--atomic")
    assert ran.code == 0, ran.err
    assert set(ran.rows.values()) == {"built"}
    assert tags(good) == [good.tag("one"), good.tag("two")]


def test_what_is_pushed_is_what_was_verified(good: "Project", docker: Docker, registry: str) -> None:
    ran = good.run("build", "--atomic", "--push", "--registry", registry, "--json")
    assert ran.code == 0, ran.err
    for row in json.loads(ran.out):
        assert row["ref"].startswith(registry)
        content_tag = row["ref"].removeprefix(f"{registry}/")
        assert docker("image", "inspect", "--format", "{{.Id}}", content_tag) == row["digest"]
    again = good.run("build", "--atomic", "--push", "--registry", registry)
    assert set(again.rows.values()) == {"present"}
