"""The CI matrix: complete, small enough, safe when empty."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imagepins.cli.image import main
from imagepins.errors import UsageError
from imagepins.plan import matrix

if TYPE_CHECKING:
    from tests.plan.conftest import Project


def entries(count: int, level: int = 0) -> list[dict[str, Any]]:
    """Entries that differ in their variant."""
    return [{"name": f"a/{n}", "image": "a", "variant": str(n), "level": level} for n in range(count)]


def read_outputs(text: str) -> dict[str, str]:
    """GITHUB_OUTPUT as GitHub reads it: NAME=VALUE, or NAME<<WORD up to a line that is WORD."""
    found: dict[str, str] = {}
    lines = iter(text.splitlines())
    for line in lines:
        name, equals, value = line.partition("=")
        if "<<" in name or not equals:
            name, _, word = line.partition("<<")
            value = "\n".join(iter(lambda word=word: next(lines), word))  # type: ignore[misc]
        found[name] = value
    return found


@given(st.integers(0, 700), st.integers(1, matrix.MAX_JOBS))
def test_chunks_hold_every_entry_once_and_in_order(count: int, size: int) -> None:
    parts = matrix.chunks(entries(count), size)
    assert [each for part in parts for each in part["include"]] == entries(count)
    assert all(1 <= len(part["include"]) <= size for part in parts)


@pytest.mark.parametrize("size", [0, -1, 257])
def test_a_chunk_that_github_does_not_take_is_refused(size: int) -> None:
    with pytest.raises(UsageError, match="1 to 256"):
        matrix.chunks(entries(1), size)


@pytest.mark.parametrize("output", [(), ("--github-output", "out")])
def test_the_command_refuses_such_a_chunk_too(
    project: "Project", capsys: pytest.CaptureFixture[str], output: tuple[str, ...]
) -> None:
    pins = ("--pins", str(project.root / "pins.yaml"))
    assert main(["matrix", "--chunk", "0", *output, *pins]) == 2
    assert "--chunk 0: GitHub takes 1 to 256 jobs" in capsys.readouterr().err


def test_256_jobs_are_one_matrix_and_one_more_is_an_error_with_the_count_per_axis() -> None:
    assert len(matrix.one_matrix(entries(256))["include"]) == 256
    with pytest.raises(UsageError, match=r"270 jobs \(1 images, 270 variants, 1 levels\)"):
        matrix.one_matrix(entries(270))


def test_a_line_is_ascii_and_one_line() -> None:
    text = matrix.line({"name": "ü\n\u2028"})
    assert text.isascii()
    assert len(text.splitlines()) == 1
    assert json.loads(text) == {"name": "ü\n\u2028"}


def test_outputs_read_back_by_githubs_rules() -> None:
    both = [*entries(300), *entries(2, level=1)]
    found = read_outputs(matrix.github_outputs(both))
    assert (found["any"], found["any_0"], found["any_1"], found["any_2"]) == ("true", "true", "true", "false")
    parts = json.loads(found["level_0"])
    assert [len(part["include"]) for part in parts] == [256, 44]
    assert [each for part in parts for each in part["include"]] == entries(300)
    assert json.loads(found["level_1"])[0]["include"] == entries(2, level=1)
    assert json.loads(found["level_2"]) == []


def test_nothing_to_build_is_said_and_gives_no_matrix() -> None:
    found = read_outputs(matrix.github_outputs([]))
    assert found == {"any": "false"} | {
        key: value for n in range(3) for key, value in ((f"any_{n}", "false"), (f"level_{n}", "[]"))
    }


def test_a_level_that_has_nothing_to_do_leaves_no_gap() -> None:
    found = read_outputs(matrix.github_outputs(entries(1, level=2)))
    assert json.loads(found["level_0"])[0]["include"] == entries(1, level=2)
    assert found["any_2"] == "false"


def test_more_levels_than_the_workflow_has_are_refused() -> None:
    with pytest.raises(UsageError, match="4 levels"):
        matrix.github_outputs([each for level in range(4) for each in entries(1, level)])


def test_outputs_larger_than_github_passes_on_are_refused() -> None:
    large = [{**each, "hash": "0" * 1000} for each in entries(600)]
    with pytest.raises(UsageError, match="and GitHub passes on 1048576"):
        matrix.github_outputs(large)


def test_an_entry_carries_what_its_job_needs(project: "Project") -> None:
    node = project.nodes()["high/v"]
    runners: Mapping[str, str] = {"light": "small", "heavy": "big"}
    assert matrix.entry(node, runners) == {
        "name": "high/v",
        "image": "high",
        "variant": "v",
        "slug": "high-v",
        "hash": node.content,
        "runner": "small",
        "weight": "light",
        "parents": ["low/v"],
        "level": 1,
        "tags": ["high:v"],
    }
    heavy = replace(node, target=replace(node.target, weight="heavy"))
    assert matrix.entry(heavy, runners)["runner"] == "big"


def test_changed_targets_are_those_with_another_hash_and_new_ones(project: "Project") -> None:
    nodes = list(project.nodes().values())
    before = {"low/v": nodes[0].content, "high/v": "other"}
    assert [node.name for node in matrix.changed(nodes, before)] == ["high/v"]
    assert [node.name for node in matrix.changed(nodes, {})] == ["low/v", "high/v"]


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("heavy", "expected WEIGHT=LABEL"),
        ("heavy=", "expected WEIGHT=LABEL"),
        ("heavvy=big", "no image has that weight; known: light, slow"),
    ],
)
def test_a_runner_is_for_a_weight_that_there_is(
    project: "Project", capsys: pytest.CaptureFixture[str], option: str, reason: str
) -> None:
    pins = project.root / "pins.yaml"
    pins.write_text(pins.read_text().replace("template: high.j2\n", "template: high.j2\n    weight: slow\n"))
    assert main(["matrix", "--runner", option, "--pins", str(pins)]) == 2
    assert reason in capsys.readouterr().err
    assert main(["matrix", "--runner", "slow=big", "--runner", "heavy=huge", "--pins", str(pins)]) == 0
    assert '"runner":"big"' in capsys.readouterr().out
