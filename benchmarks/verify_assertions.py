"""100 version assertions on one image: this tool, container-structure-test, and one ``docker exec`` each."""

import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import harness
import verify

COUNT = 100
QUERY = ("dpkg-query", "--status")


def results() -> Iterator[harness.Result]:
    """All three in one run, on the same packages of the same image."""
    verify.build_image()
    packages = installed()
    with tempfile.TemporaryDirectory() as folder:
        pins, tests, saved = (Path(folder, name) for name in ("pins.yaml", "tests.json", "saved.json"))
        pins.write_text(pin_file(packages))
        tests.write_text(structure_tests(packages))
        verify_many = [f"{harness.REPOSITORY}/tools/image", "verify", "many", f"--pins={pins}"]
        harness.command([*verify_many, f"--save={saved}"])()
        probe = json.loads(saved.read_text())["seconds"]
        other = [
            f"{harness.REPOSITORY}/.venv/bin/container-structure-test",
            "test",
            "--image",
            verify.TAG,
            "--config",
            str(tests),
        ]
        mine = min(harness.seconds(harness.command(verify_many)) for _ in range(3))
        plain = min(harness.seconds(harness.command(["docker", "run", "--rm", verify.TAG, "true"])) for _ in range(3))
        theirs = harness.seconds(harness.command(other))
        execs = harness.seconds(lambda: exec_each(packages))
    said = f"{mine:.2f} s for {COUNT} assertions"
    yield harness.Result(
        "100 assertions without the probe's own time / docker run --rm IMAGE true",
        (mine - probe) / plain,
        2.0,
        f"{said}, of which {probe:.2f} s probe; {plain:.2f} s",
    )
    yield harness.Result("100 assertions / container-structure-test", mine / theirs, 1 / 20, f"{said}, {theirs:.1f} s")
    yield harness.Result("100 assertions / one docker exec each", mine / execs, 1.0, f"{said}, {execs:.1f} s")


def installed() -> dict[str, str]:
    """Name and whole version of 100 packages of the image."""
    command = ["docker", "run", "--rm", verify.TAG, "dpkg-query", "--show", "--showformat=${Package} ${Version}\\n"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")
    return dict(line.split(" ") for line in lines[:COUNT])


def pin_file(packages: dict[str, str]) -> str:
    """pins.yaml with one pin for each package."""
    rows = [
        f'  p-{index}: {{apt: "{name}", version: "{version}", suite: trixie}}'
        for index, (name, version) in enumerate(packages.items())
    ]
    names = ", ".join(f"p-{index}" for index in range(len(rows)))
    image = (
        f"  many:\n    template: t\n    pins: [{names}]\n    tags: ['{verify.TAG}']\n    variants: {{plain: {{}}}}\n"
    )
    return "schema: 1\npins:\n" + "\n".join(rows) + "\nimages:\n" + image


def structure_tests(packages: dict[str, str]) -> str:
    """The same assertions for container-structure-test."""
    tests = [
        {
            "name": name,
            "command": QUERY[0],
            "args": [QUERY[1], name],
            "expectedOutput": [re.escape(f"Version: {version}")],
        }
        for name, version in packages.items()
    ]
    return json.dumps({"schemaVersion": "2.0.0", "commandTests": tests})


def exec_each(packages: dict[str, str]) -> None:
    """One container, one exec for each assertion."""
    start = ["docker", "run", "--detach", "--rm", verify.TAG, "sleep", "600"]
    container = subprocess.run(start, check=True, capture_output=True, text=True).stdout.strip()
    try:
        for name, version in packages.items():
            command = ["docker", "exec", container, *QUERY, name]
            found = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            assert f"Version: {version}\n" in found, f"{name}: {found}, not {version}"
    finally:
        subprocess.run(["docker", "rm", "--force", container], check=True, capture_output=True)
