"""Ids that YAML would take for numbers keep every character, from the file to the Dockerfile and back."""

from typing import Any

import pytest

from imagepins.pins.load import load

FLOAT = "4225332178759948e04347560002921719079454"
ZERO = f"0e{'1' * 38}"
DIGITS = "1" * 40
PIN = "  {name}:\n    git: https://github.com/ROCm/{name}.git\n    commit: {commit}\n    track: {{branch: develop}}\n"


@pytest.mark.parametrize("commit", [FLOAT, ZERO, DIGITS])
@pytest.mark.parametrize("quote", ["", "'", '"'], ids=["bare", "single", "double"])
def test_commit_that_is_a_number_is_read_and_rendered_whole(project: Any, commit: str, quote: str) -> None:
    project.write(PIN.format(name="pytorch", commit=f"{quote}{commit}{quote}"))
    assert load(project.pins).pins["pytorch"].id == commit
    assert f"ARG PYTORCH_COMMIT={commit}\n" in project.dockerfile.read_text()
    assert project.run("--check").code == 0


@pytest.mark.parametrize("commit", [FLOAT, ZERO, DIGITS])
def test_bare_value_gets_quotes_when_a_number_comes_in_and_its_neighbour_none(project: Any, commit: str) -> None:
    neighbour = PIN.format(name="triton", commit=FLOAT)
    project.write(PIN.format(name="pytorch", commit="a" * 40) + neighbour)
    before = project.pins.read_text()
    ended = project.run("pytorch", commit, "--offline")
    assert ended.code == 0, ended.err
    assert project.pins.read_text() == before.replace("a" * 40, f'"{commit}"')
    assert load(project.pins).pins["pytorch"].id == commit


def test_version_keeps_its_zero(project: Any) -> None:
    project.write('  tool:\n    pypi: tool\n    version: "3.1"\n')
    assert project.run("tool", "3.10", "--offline").code == 0
    assert 'version: "3.10"\n' in project.pins.read_text()
    assert "ARG TOOL_VERSION=3.10\n" in project.dockerfile.read_text()
