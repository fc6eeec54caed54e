"""How every command ends: its exit code, what is told, and nothing left on an interrupt."""

import importlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from imagepins import errors
from imagepins.cli import json_option, run_command

ERRORS = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, errors.ImagePinsError)]


@pytest.mark.parametrize("error", ERRORS)
def test_error_is_one_message_on_stderr_and_its_code(
    error: type[errors.ImagePinsError], capsys: pytest.CaptureFixture[str]
) -> None:
    @click.command()
    def fails() -> None:
        raise error("what happened")

    assert run_command(fails, [], name="tool") == error.exit_code
    assert capsys.readouterr() == ("", "tool: what happened\n")


@pytest.mark.parametrize("error", [IsADirectoryError(21, "Is a directory", "/d"), OSError(28, "No space left")])
def test_error_of_the_system_is_no_traceback(error: OSError, capsys: pytest.CaptureFixture[str]) -> None:
    @click.command()
    def fails() -> None:
        raise error

    assert run_command(fails, [], name="tool") == 1
    where = f"{error.filename}: " if error.filename else ""
    assert capsys.readouterr() == ("", f"tool: {where}{error.strerror}\n")


@pytest.mark.parametrize(("returned", "code"), [(None, 0), (0, 0), (1, 1)])
def test_code_of_a_command_is_the_exit_code(returned: int | None, code: int) -> None:
    assert run_command(click.Command("c", callback=lambda: returned), [], name="tool") == code


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_ends_a_command_with_130_after_its_cleanup(tmp_path: Path, number: int) -> None:
    script = (
        "import click, sys, time\n"
        "from imagepins.cli import run_command\n"
        "def wait():\n"
        "    try:\n"
        "        print('ready', flush=True); time.sleep(100000)\n"
        "    finally:\n"
        f"        open({str(tmp_path / 'cleaned')!r}, 'w')\n"
        "sys.exit(run_command(click.Command('c', callback=wait), [], name='tool'))\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    _, stderr = process.communicate(timeout=120)
    assert (process.returncode, stderr.lstrip()) == (130, "tool: interrupted\n")
    assert (tmp_path / "cleaned").exists()


@pytest.mark.parametrize("command", ["image", "bump_pin", "engine"])
def test_interrupt_while_a_command_loads_ends_it_with_130_and_no_traceback(
    repository: Path, command: str, tmp_path: Path
) -> None:
    (tmp_path / "click.py").write_text("import time\nprint('ready', flush=True)\ntime.sleep(100000)\n")
    process = subprocess.Popen(
        [repository / "tools" / command, "--help"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=120)
    assert (process.returncode, stderr) == (130, f"{command}: interrupted\n")


def test_interrupt_that_comes_while_a_class_is_made_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    import click

    def fails() -> None:
        raise RuntimeError("Error calling __set_name__") from KeyboardInterrupt()

    assert run_command(click.Command("c", callback=fails), [], name="tool") == 130
    assert capsys.readouterr().err == "tool: interrupted\n"


@pytest.mark.parametrize("command", ["image", "bump_pin", "engine"])
def test_help_loads_no_library_it_does_not_need(repository: Path, command: str) -> None:
    module = {"image": "imagepins.cli.image", "bump_pin": "imagepins.cli.bump", "engine": "imagepins.engine.cli"}[
        command
    ]
    script = (
        f"import json, sys\nfrom {module} import main\ncode = main(['--help'])\n"
        "heavy = {'docker', 'git', 'rich', 'jinja2', 'yaml', 'requests'}\n"
        "print(json.dumps(sorted(heavy & set(sys.modules))), file=sys.stderr)\nsys.exit(code)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Usage:")
    assert json.loads(done.stderr) == []


@pytest.mark.parametrize("command", ["image", "bump_pin", "engine"])
def test_command_runs_through_a_symbolic_link(repository: Path, command: str, tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to(repository / "tools" / command)
    done = subprocess.run([tmp_path / "linked", "--help"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Usage:")


@pytest.mark.parametrize("command", ["image", "bump_pin", "engine"])
def test_command_runs_from_any_directory(repository: Path, command: str, tmp_path: Path) -> None:
    (tmp_path / "yaml.py").write_text("raise SystemExit('a file of the working directory was imported')\n")
    done = subprocess.run(
        [repository / "tools" / command, "--help"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("Usage:")


JSON_COMMANDS = [
    ("imagepins.cli.bump", ["rccl", "--nosuch"]),
    ("imagepins.cli.bump", ["--min-age", "soon", "rccl"]),
    ("imagepins.cli.image", ["inspect"]),
    ("imagepins.cli.image", ["verify", "all", "--pins", "nosuch/pins.yaml", "--from", "nosuch.json"]),
    ("imagepins.cli.image", ["nosuch"]),
    ("imagepins.engine.cli", ["status", "extra"]),
]


@pytest.mark.parametrize(("module", "arguments"), JSON_COMMANDS)
def test_error_of_any_command_is_json_where_json_was_asked_for(
    module: str, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    code = importlib.import_module(module).main([*arguments, "--json"])
    said = capsys.readouterr()
    document = json.loads(said.out)
    assert (code, document["exit_code"]) == (2, 2)
    assert document["error"] in said.err


def test_words_behind_two_dashes_are_not_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(click.Command("c"), ["--nosuch", "--", "--json"], name="tool") == 2
    assert capsys.readouterr().out == ""


def test_json_is_one_document_where_a_command_fails_after_it(capsys: pytest.CaptureFixture[str]) -> None:
    @click.command()
    @json_option
    def prints(*, as_json: bool) -> None:
        click.echo(json.dumps({"found": as_json}))
        raise errors.CheckFailed("not as it should be")

    assert run_command(prints, ["--json"], name="tool") == 1
    assert capsys.readouterr() == ('{"found": true}\n', "tool: not as it should be\n")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left", "/d")])
def test_json_tells_every_way_to_end(error: BaseException, capsys: pytest.CaptureFixture[str]) -> None:
    @click.command()
    @json_option
    def fails(*, as_json: bool) -> None:
        assert as_json
        raise error

    code = run_command(fails, ["--json"], name="tool")
    said = capsys.readouterr()
    document = json.loads(said.out)
    assert (document["exit_code"], said.err.lstrip()) == (code, f"tool: {document['error']}\n")


def test_letters_the_terminal_lacks_end_no_command() -> None:
    script = (
        "import click, sys\nfrom imagepins.cli import run_command\n"
        "sys.exit(run_command(click.Command('c', callback=lambda: print('J\\u00fcrgen')), [], name='tool'))\n"
    )
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "J\\xfcrgen\n"


def test_lines_of_both_streams_stand_in_a_log_as_they_were_written() -> None:
    script = (
        "import click, sys\nfrom imagepins.cli import run_command\n"
        "def say():\n    print('first'); print('second', file=sys.stderr); print('third')\n"
        "sys.exit(run_command(click.Command('c', callback=say), [], name='tool'))\n"
    )
    argv = [sys.executable, "-c", script]
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)
    assert done.stdout.split() == ["first", "second", "third"]


@pytest.mark.parametrize("cache", ["writable", "missing"])
def test_bytecode_is_kept_in_the_cache_where_none_may_lie_in_the_tree(
    tmp_path: Path, repository: Path, cache: str
) -> None:
    env = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    if cache == "missing":
        (tmp_path / "cache").write_text("no directory\n")
    for _ in range(2):
        subprocess.run([repository / "tools/image", "schema"], env=env, check=True, capture_output=True)
    kept = list((tmp_path / "cache").glob("imagepins/bytecode/**/tools/imagepins/cli/image.*.pyc"))
    assert len(kept) == (1 if cache == "writable" else 0)


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ("https://me:s3cret@h/x: gone", "https://***@h/x: gone"),
        ("https://s3cret@h/x and http://me:s3cret@h:80/", "https://***@h/x and http://***@h:80/"),
        ("https://me:s3@cret@h/x", "https://***@h/x"),
        ("ssh://git:s3cret@h/x", "ssh://git:***@h/x"),
        ("ssh://git@h/x or git@h:x", "ssh://git@h/x or git@h:x"),
    ],
)
def test_no_error_shows_a_password(told: str, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    @click.command()
    def fails() -> None:
        raise errors.RefError(told)

    run_command(fails, [], name="tool")
    assert capsys.readouterr().err == f"tool: {shown}\n"


@pytest.mark.parametrize("closed", ["1", "2"])
@pytest.mark.parametrize(("words", "code"), [(["--help"], 0), (["--help", "--json"], 0), (["--nosuch"], 2)])
def test_closed_stream_is_no_reason_to_fail(repository: Path, closed: str, words: list[str], code: int) -> None:
    script = f'exec "$@" {closed}>&-'
    done = subprocess.run(
        ["sh", "-c", script, "sh", repository / "tools/bump_pin", *words], capture_output=True, check=False
    )
    assert (done.returncode, b"Traceback" in done.stdout + done.stderr) == (code, False)
