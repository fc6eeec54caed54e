"""Runs the commands of docs/tutorial.md one after the other and compares what they print with what stands there."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from copying import Copy, copy_repository
from imagepins.pins.load import load
from imagepins.pins.model import AptPin
from imagepins.process import run

MARK = "--end-of-command--"


@dataclass(frozen=True)
class Step:
    """A command, the lines it should print (``...`` stands for anything), and its exit code."""

    command: str
    expected: tuple[str, ...]
    code: int


def steps(text: str) -> list[Step]:
    found = []
    for block in re.findall(r"(?ms)^```console\n(.*?)^```$", text):
        for part in re.split(r"(?m)^\$ ", block)[1:]:
            command, *lines = part.rstrip("\n").split("\n")
            code = re.fullmatch(r"\(exit code (\d+)\)", lines[-1]) if lines else None
            expected = lines[:-1] if code else lines
            found.append(Step(command, tuple(expected), int(code[1]) if code else 0))
    return found


def matches(expected: tuple[str, ...], printed: str) -> bool:
    """Whether ``printed`` is ``expected``; runs of blanks and of the dashes and padding of tables count as one."""
    parts = [re.escape(_squeezed(part)) for part in re.split(r" ?\.\.\. ?", "\n".join(expected))]
    return re.fullmatch(".*?".join(parts), _squeezed(printed.strip("\n")), re.DOTALL) is not None


def _squeezed(text: str) -> str:
    return re.sub(r"[ \t]+", " ", text)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Copy]:
    """A copy of this repository with its image built, on a machine whose apt knows what the pin names."""
    copy = copy_repository(tmp_path / "project")
    (pin,) = (pin for name, pin in load(copy.pins).pins.items() if name == "rccl-debian")
    assert isinstance(pin, AptPin)
    apt = tmp_path / "bin/apt-cache"
    apt.parent.mkdir()
    row = f"{pin.apt} | {pin.version}-1 | http://deb.example/debian {pin.suite}/main amd64 Packages"
    apt.write_text(f"#!/bin/sh\necho '{row}'\n")
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", f"{apt.parent}:{os.environ['PATH']}")
    copy.build()
    yield copy
    copy.remove()


def test_the_console_blocks_of_a_text_are_read_with_output_and_exit_code() -> None:
    text = "```console\n$ a b\nout\n$ c\n(exit code 3)\n```\n\n```sh\n$ no\n```\n"
    assert steps(text) == [Step("a b", ("out",), 0), Step("c", (), 3)]


@pytest.mark.parametrize(
    ("expected", "printed", "same"),
    [
        (("a ... c", "..."), "a  b c\nx\ny\n", True),
        (("a ... c",), "a b\n", False),
        ((), "surprise\n", False),
        (("| a | b |",), "| a   |  b |\n", True),
    ],
)
def test_output_is_compared_whole_but_for_what_is_left_open(
    expected: tuple[str, ...], printed: str, *, same: bool
) -> None:
    assert matches(expected, printed) is same


@pytest.mark.engine
def test_every_command_of_the_tutorial_does_what_it_says(project: Copy) -> None:
    text = (project.root / "docs" / "tutorial.md").read_text()
    tutorial = steps(text.replace("debian_rocm:", f"{project.name}:"))
    assert len(tutorial) > 15
    script = "".join(f"{{ {step.command}\n}} 2>&1; echo {MARK}$?\n" for step in tutorial)
    printed = run(["bash", "-c", script], cwd=project.root, timeout=600).stdout
    outputs = re.split(rf"{MARK}(\d+)\n", printed)
    for at, step in enumerate(tutorial):
        out, code = outputs[2 * at], int(outputs[2 * at + 1])
        assert code == step.code, f"$ {step.command}\n{out}"
        assert matches(step.expected, out), f"$ {step.command}\n{out}"
