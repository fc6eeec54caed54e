"""The commands that the workflows' jobs run, run here: the local engine, and a registry on loopback."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from copying import copy_repository
from imagepins.render.workflows import LEVELS


@pytest.mark.engine
def test_the_commands_of_the_jobs_work_in_order_on_this_machine(registry: str, upstream: Any, tmp_path: Path) -> None:
    copy = copy_repository(tmp_path / "project")
    env = {
        **os.environ,
        "DOCKER_CONFIG": str(tmp_path / "docker"),
        "IMAGEPINS_REGISTRY": f"{registry}/Team",
        "REGISTRY_USER": "somebody",
        "REGISTRY_TOKEN": "something",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
    }

    def make(*args: str, **more: str) -> None:
        both = {**env, **more}
        # The interpreter at hand has what the tool needs, whether or not it was set up by the Makefile.
        argv = ["make", "--old-file=.venv/.setup", *args]
        done = subprocess.run(argv, cwd=copy.root, env=both, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def planned(name: str) -> set[str]:
        output = tmp_path / name
        make("ci-plan", GITHUB_OUTPUT=str(output))
        outputs = dict(line.split("=", 1) for line in output.read_text().splitlines())
        chunks = [chunk for level in range(LEVELS) for chunk in json.loads(outputs[f"level_{level}"])]
        names = {entry["name"] for chunk in chunks for entry in chunk["include"]}
        assert outputs["any"] == ("true" if names else "false")
        return names

    make("check")
    make("ci-login")
    assert "debian_rocm/trixie" in planned("before")
    make("ci-image", IMAGE="debian_rocm/trixie", PUSH="1")
    junit = ElementTree.parse(copy.root / "build/junit.xml")  # noqa: S314 - written just now
    assert junit.getroot().find(".//testcase") is not None
    assert "debian_rocm/trixie" in (tmp_path / "summary.md").read_text()
    assert "debian_rocm/trixie" not in planned("after")
    copy.remove()

    pin = f'{{git: "{upstream.url}", commit: "{upstream.sha("main")}", track: {{branch: main}}}}'
    (copy.root / "pins.yaml").write_text(f"schema: 1\npins:\n  tool: {pin}\nimages: {{}}\n")
    make("outdated")
