"""README and CONTRIBUTING name commands, options, images and files that exist."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from imagepins.pins.load import load

TEXTS = ("README.md", "CONTRIBUTING.md")


def commands(repository: Path) -> list[list[str]]:
    """Commands in backticks or in console blocks, split into words."""
    text = "\n".join((repository / name).read_text() for name in TEXTS)
    found = re.findall(r"`((?:make|tools/\w+) [^`\n]+)`", text) + re.findall(r"^(make \w+)$", text, re.MULTILINE)
    return [shlex.split(command) for command in found]


def test_make_targets_exist(repository: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (repository / "Makefile").read_text(), re.MULTILINE))
    named = {word for argv in commands(repository) if argv[0] == "make" for word in argv[1:] if "=" not in word}
    assert {"image", "test"} <= named <= targets


def test_commands_and_their_options_exist(repository: Path) -> None:
    for argv in (argv for argv in commands(repository) if argv[0].startswith("tools/")):
        subcommand = [argv[1]] if argv[0] in {"tools/image", "tools/engine"} else []
        helped = subprocess.run(
            [repository / argv[0], *subcommand, "--help"], capture_output=True, text=True, check=True
        ).stdout
        own = argv[: argv.index("--")] if "--" in argv else argv
        assert [word for word in own if word.startswith("--") and word not in helped] == [], argv


def test_images_exist(repository: Path) -> None:
    pinset = load(repository / "pins.yaml")
    named = [word.partition("=")[2] for argv in commands(repository) for word in argv if word.startswith("IMAGE=")]
    real = [name for name in named if name != "NAME"]
    assert real
    assert all(pinset.select((name,)) for name in real)


@pytest.mark.parametrize("name", TEXTS)
def test_linked_files_exist(repository: Path, name: str) -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", (repository / name).read_text())
    assert [link for link in links if not (repository / link).exists()] == []
