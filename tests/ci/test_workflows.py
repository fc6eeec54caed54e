"""The workflows: valid, hardened, and made of commands that a person can run."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from imagepins.pins.load import load
from imagepins.render.workflows import LEVELS

NAMES = ("images.yml", "build-images.yml", "test.yml")


@pytest.fixture(params=NAMES)
def path(request: pytest.FixtureRequest, repository: Path) -> Path:
    """Each workflow."""
    found: Path = repository / ".github/workflows" / request.param
    return found


def read(path: Path) -> dict[str, Any]:
    """A workflow as a document."""
    document: dict[str, Any] = yaml.safe_load(path.read_text())
    return document


def steps(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All steps of all jobs."""
    for job in document["jobs"].values():
        yield from job.get("steps", ())


def tool(name: str) -> str:
    """A linter beside the interpreter that runs the tests."""
    return str(Path(sys.executable).parent / name)


def test_zizmor_finds_nothing(path: Path) -> None:
    argv = [tool("zizmor"), "--offline", "--no-config", "--persona", "pedantic", "--format", "json", str(path)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert json.loads(done.stdout) == []


def test_the_schema_of_workflows_is_kept(path: Path) -> None:
    argv = [tool("check-jsonschema"), "--builtin-schema", "vendor.github-workflows", str(path)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_actions_are_pinned_by_the_commits_of_pins_yaml(path: Path, repository: Path) -> None:
    commits = {str(pin.id) for pin in load(repository / "pins.yaml").pins.values() if pin.kind == "git"}
    used = [step["uses"] for step in steps(read(path)) if "uses" in step]
    assert used
    for name in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", name)
        assert name.partition("@")[2] in commits


def test_nothing_is_permitted_by_default_and_no_expression_reaches_a_shell(path: Path) -> None:
    document = read(path)
    assert document["permissions"] == {}
    assert all("${{" not in step["run"] for step in steps(document) if "run" in step)
    checkouts = [step["with"] for step in steps(document) if "checkout" in step.get("uses", "")]
    assert all(given["persist-credentials"] is False for given in checkouts)


def test_what_jobs_run_are_make_targets_or_scripts_of_this_repository(path: Path, repository: Path) -> None:
    makefile = (repository / "Makefile").read_text()
    commands = [step["run"] for step in steps(read(path)) if "run" in step]
    for command in commands:
        target = command.removeprefix("make ")
        script = repository / command.split()[-1]
        is_script = script.is_file() and os.access(script, os.X_OK)
        assert command == "exit 1" or is_script or re.search(rf"^{target}:.*## ", makefile, re.MULTILINE), command


def test_results_of_jobs_have_names_that_no_two_targets_share(repository: Path) -> None:
    building = read(repository / ".github/workflows/build-images.yml")
    (upload,) = [step["with"] for step in steps(building) if "upload-artifact" in step.get("uses", "")]
    # a/b-c and a-b/c would share IMAGE-VARIANT; slugs are made unique.
    # And a job that is run again is of the same run.
    assert upload["name"] == "results-${{ matrix.slug }}-${{ github.run_attempt }}"


def test_one_image_that_fails_cancels_no_other_and_turns_the_gate_red(repository: Path) -> None:
    jobs = read(repository / ".github/workflows/images.yml")["jobs"]
    building = read(repository / ".github/workflows/build-images.yml")["jobs"]
    levels = [f"level-{number}" for number in range(LEVELS)]
    assert all(job["strategy"]["fail-fast"] is False for job in (*(jobs[name] for name in levels), building["image"]))
    assert jobs["gate"]["needs"] == ["plan", *levels]
    assert jobs["gate"]["if"] == "${{ always() }}"
    assert [jobs[name]["needs"] for name in levels] == [["plan", *levels[:number]] for number in range(LEVELS)]
