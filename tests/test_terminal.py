"""What others wrote is shown, and steers no terminal."""

import json
import os
import subprocess
import sys

import click
import pytest

from imagepins.cli import json_option, run_command
from imagepins.errors import RefError
from imagepins.terminal import colourless, printable, unguarded

STEERING = "\x1b]0;title\x07\x1b[2J\x9b1m\r\u202eabc\x7f"
SHOWN = r"\u001b]0;title\u0007\u001b[2J\u009b1m\u000d\u202eabc\u007f"


def test_control_characters_and_turns_of_direction_are_shown() -> None:
    assert printable(STEERING) == SHOWN


@pytest.mark.parametrize("text", ["a\tb\n", "a\r\nb\r\n", "Jürgen 日本 🐢", "שלום"])
def test_what_steers_nothing_stays_as_it_is(text: str) -> None:
    assert printable(text) == text


@pytest.mark.parametrize(
    "text",
    ["\x1b[31mred\x1b[0m", "\x1b]0;title\x07red", "\x1b]8;;http://x\x1b\\red\x1b]8;;\x1b\\", "\x1bcred"],
    ids=["colour", "title", "link", "reset"],
)
def test_whole_sequences_leave_nothing_behind(text: str) -> None:
    assert colourless(text) == "red"


def test_a_terminal_of_few_letters_is_guarded_too() -> None:
    script = (
        "import click, sys\nfrom imagepins.cli import run_command\n"
        "def tell():\n    click.echo('a\\u202eb')\n    sys.stdout.writelines(['c\\x1b'])\n"
        "sys.exit(run_command(click.Command('c', callback=tell), [], name='tool'))\n"
    )
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, check=True)
    assert done.stdout == rb"a\u202eb" + b"\n" + rb"c\u001b"


@pytest.mark.parametrize("way", ["click", "print", "write", "error", "usage"])
def test_no_command_passes_them_to_the_terminal(way: str, capsys: pytest.CaptureFixture[str]) -> None:
    @click.command()
    def tells() -> None:
        if way == "click":
            click.echo(STEERING)
        elif way == "print":
            print(STEERING, file=sys.stderr)
        elif way == "write":
            sys.stdout.write(STEERING)
        else:
            raise RefError(STEERING) if way == "error" else click.UsageError(STEERING)

    streams = sys.stdout, sys.stderr
    run_command(tells, [], name="tool")
    said = "".join(capsys.readouterr())
    assert r"\u202eabc\u007f" in said
    assert not set(said) & set("\x1b\x07\x9b\r\u202e\x7f")
    assert (sys.stdout, sys.stderr) == streams


def test_json_keeps_its_meaning(capsys: pytest.CaptureFixture[str]) -> None:
    @click.command()
    @json_option
    def tells(*, as_json: bool) -> None:
        click.echo(json.dumps([as_json, STEERING], ensure_ascii=False))

    run_command(tells, ["--json"], name="tool")
    assert json.loads(capsys.readouterr().out) == [True, STEERING]


def test_a_live_display_gets_the_stream_itself(capsys: pytest.CaptureFixture[str]) -> None:
    run_command(click.Command("c", callback=lambda: unguarded(sys.stderr).write("\x1b[1mbold")), [], name="tool")
    assert capsys.readouterr().err == "\x1b[1mbold"
