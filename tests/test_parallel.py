"""Many things at once, and an interrupt that does not wait for them."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, get_ident

import click
import pytest

from imagepins import process
from imagepins.cli import run_command
from imagepins.errors import RefError
from imagepins.parallel import both, parallel
from waiting import PATIENCE, is_running, pids_in, wait_for

TOOLS = Path(__file__).parents[1] / "tools"
PROJECT = """\
schema: 1
pins:
  none: {apt: none, version: "1", suite: trixie}
images:
  app:
    template: app.j2
    pins: []
    variants: {a: {}, b: {}, c: {}}
"""


def test_results_keep_their_order() -> None:
    assert parallel(lambda number: number * 2, list(range(100))) == [number * 2 for number in range(100)]
    assert parallel(str, []) == []


def test_error_of_one_is_raised_once_all_have_ended() -> None:
    done: list[int] = []

    def fail_for_three(number: int) -> None:
        if number == 3:
            raise ValueError("three")
        done.append(number)

    with pytest.raises(ValueError, match="three"):
        parallel(fail_for_three, list(range(50)))
    assert len(done) == 49


def test_errors_of_several_are_told_in_the_order_of_the_items(capsys: pytest.CaptureFixture[str]) -> None:
    def fail(number: int) -> None:
        if number % 2:
            raise RefError(f"no {number}")

    @click.command()
    def command() -> None:
        parallel(fail, list(range(6)))

    assert run_command(command, [], name="tool") == RefError.exit_code
    assert capsys.readouterr().err == "tool: no 1\nno 3\nno 5\n"


def test_interrupt_that_another_thread_got_ends_the_wait() -> None:
    """The kernel may hand a signal to any thread; only the main one, which waits, can act on it."""
    stop = Event()
    was_stopped: list[bool] = []

    def interrupt(_: int) -> None:
        signal.pthread_kill(get_ident(), signal.SIGINT)
        was_stopped.append(stop.wait(PATIENCE))

    with pytest.raises(KeyboardInterrupt):
        parallel(interrupt, [1], stop)
    assert was_stopped == [True]


def test_two_functions_give_their_own_results() -> None:
    assert both(lambda: 1, lambda: "one") == (1, "one")


@pytest.mark.parametrize(
    ("hangs_at", "args"),
    [
        pytest.param("buildx build", ("lint", "--tool", "buildkit"), id="lint"),
        pytest.param("buildx inspect", ("build",), id="builder-check"),
        pytest.param("--print", ("build",), id="definition"),
        pytest.param("rawjson", ("build",), id="build"),
    ],
)
def test_interrupt_ends_children_that_hang_in_threads(tmp_path: Path, hangs_at: str, args: tuple[str, ...]) -> None:
    with _hanging(tmp_path, hangs_at, *args) as process:
        wait_for(lambda: pids_in(tmp_path / "pids"), what="the client that hangs")
        process.send_signal(signal.SIGINT)
        # The client ignores SIGTERM, and is killed some seconds later; without that it would take a minute and more.
        assert process.wait(50) == 130
    wait_for(lambda: not any(map(is_running, pids_in(tmp_path / "pids"))), what="the end of the client")


@contextmanager
def _hanging(root: Path, hangs_at: str, *args: str) -> Iterator["subprocess.Popen[bytes]"]:
    """``tools/image ARGS`` with a docker client that hangs where its arguments hold ``hangs_at``."""
    (root / "pins.yaml").write_text(PROJECT)
    (root / "app.j2").write_text("FROM scratch\nCOPY f /f\n")
    (root / "images/app/context").mkdir(parents=True)
    (root / "images/app/context/f").write_text("f\n")
    (root / "bin").mkdir()
    client = root / "bin/docker"
    client.write_text(
        f"""#!/bin/sh
        case "$*" in *"{hangs_at}"*) trap '' TERM; echo $$ >>{root}/pids; while :; do sleep 1; done;; esac
        PATH={os.environ["PATH"]} exec docker "$@"
        """
    )
    client.chmod(0o755)
    env = {**os.environ, "PYTHONPATH": str(TOOLS), "PATH": f"{root}/bin:{os.environ['PATH']}"}
    pins = ["--pins", str(root / "pins.yaml")]
    code = "import sys; from imagepins.cli.image import main; sys.exit(main())"
    subprocess.run([sys.executable, "-P", "-c", code, "render", *pins], env=env, check=True, capture_output=True)
    with subprocess.Popen(
        [sys.executable, "-P", "-c", code, *args, *pins], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_what_runs_in_parallel_within_a_thread_is_stopped_with_it(tmp_path: Path) -> None:
    stop = Event()

    def inner(number: int) -> None:
        script = f"echo $$ >>{tmp_path}/pids; exec sleep 600"
        process.run(["sh", "-c", script], timeout=PATIENCE, check=False)

    def outer(number: int) -> None:
        if number:
            wait_for(lambda: len(pids_in(tmp_path / "pids")) == 2, what="both")
            stop.set()
        else:
            parallel(inner, [1, 2])

    with pytest.raises(process.ProcessFailed, match="stopped"):
        parallel(outer, [0, 1], stop)
    wait_for(lambda: not any(map(is_running, pids_in(tmp_path / "pids"))), what="the end of both")


def test_nothing_is_begun_once_it_was_stopped() -> None:
    stop = Event()
    stop.set()
    with pytest.raises(KeyboardInterrupt):
        parallel(str, [1], stop)
