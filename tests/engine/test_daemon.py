"""Starting an engine, however the last one ended. Every engine here is one of the tests' own."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from imagepins.engine.daemon import Daemon, does_answer, process_in, remove_stale_pidfiles, start_daemon
from imagepins.errors import EngineError
from waiting import PATIENCE, wait_for

Start = Callable[..., Daemon]
Fake = Callable[[str, str], Path]


@pytest.fixture
def bystander() -> Iterator[int]:
    """A living process that has nothing to do with engines."""
    process = subprocess.Popen(["sleep", "100000"])
    yield process.pid
    process.kill()
    process.wait()


def kill(daemon: Daemon) -> int:
    """Kill an engine as the kernel would; returns its number."""
    pid = process_in(daemon.pidfile, "dockerd")
    assert pid
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not process_in(daemon.pidfile, "dockerd"))
    return pid


@pytest.mark.engine
def test_started_engine_answers_and_outlives_its_starter(engine: Daemon) -> None:
    pid = process_in(engine.pidfile, "dockerd")
    assert pid
    assert does_answer(engine.socket)
    assert os.getsid(pid) != os.getsid(0)
    assert "API listen on" in engine.log.read_text()


@pytest.mark.engine
def test_engine_that_runs_is_left_alone(engine: Daemon, said: list[str]) -> None:
    before = engine.pidfile.read_text()
    start_daemon(engine, said.append)
    assert engine.pidfile.read_text() == before
    assert said == [f"the engine answers at unix://{engine.socket}"]


@pytest.mark.engine
def test_killed_engine_starts_again_once_its_containerd_has_ended(
    start_engine: Start, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon = start_engine()
    killed, before = kill(daemon), len(daemon.log.read_text())
    monkeypatch.setattr("imagepins.engine.daemon.ORPHAN_SECONDS", PATIENCE)
    start_daemon(daemon, said.append)
    assert process_in(daemon.pidfile, "dockerd") not in (None, killed)
    assert "containerd is still running" not in daemon.log.read_text()[before:]


@pytest.mark.engine
def test_killed_engine_starts_again_when_its_numbers_went_to_others(
    start_engine: Start, said: list[str], bystander: int
) -> None:
    daemon = start_engine()
    kill(daemon)
    wait_for(lambda: not process_in(daemon.containerd_pidfile, "containerd"))
    for pidfile in (daemon.pidfile, daemon.containerd_pidfile, daemon.launch_pidfile):
        pidfile.write_text(str(bystander))
    start_daemon(daemon, said.append)
    assert said[:2] == [
        f"removing {daemon.pidfile}: no dockerd has the number in it",
        f"removing {daemon.containerd_pidfile}: no containerd has the number in it",
    ]
    assert does_answer(daemon.socket)
    assert Path(f"/proc/{bystander}").exists()


def test_pid_file_of_a_living_engine_is_believed(tmp_path: Path, said: list[str], fake: Fake) -> None:
    fake("dockerd", "sleep 100000; true")
    process = subprocess.Popen(["dockerd"], start_new_session=True)
    daemon = Daemon(pidfile=tmp_path / "docker.pid", exec_root=tmp_path)
    daemon.pidfile.write_text(f"{process.pid}\n")
    wait_for(lambda: Path(f"/proc/{process.pid}/comm").read_text() == "dockerd\n")
    remove_stale_pidfiles(daemon, said.append)
    os.killpg(process.pid, signal.SIGKILL)  # and its sleep
    assert (daemon.pidfile.exists(), said) == (True, [])
    process.wait()


def test_process_that_nobody_reaped_is_dead(tmp_path: Path) -> None:
    process = subprocess.Popen(["true"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    (tmp_path / "pid").write_text(str(process.pid))
    assert process_in(tmp_path / "pid", "true") is None
    process.wait()


@pytest.mark.parametrize("text", ["", "x", "-1", "999999999"])
def test_pid_file_without_a_process_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "pid").write_text(text)
    assert process_in(tmp_path / "pid", "dockerd") is None


@pytest.mark.engine
def test_engine_that_ends_at_once_is_an_error_with_the_end_of_its_log(start_engine: Start, said: list[str]) -> None:
    daemon = start_engine("--no-such-option", name="later")
    daemon.log.write_text("from an earlier run\n")
    with pytest.raises(EngineError) as raised:
        start_daemon(daemon, said.append)
    assert str(raised.value) == (
        f"dockerd ended again; its log is {daemon.log}\n  Status: unknown flag: --no-such-option"
    )


def test_engine_that_never_answers_is_an_error_in_time(
    tmp_path: Path, said: list[str], fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake("dockerd", "echo still loading; exec sleep 100000")
    daemon = Daemon(tmp_path / "sock", tmp_path / "docker.pid", tmp_path / "exec", tmp_path / "log")

    def asked(_: Path) -> bool:
        wait_for(daemon.log.read_text, what="a line in the log")
        return False

    monkeypatch.setattr("imagepins.engine.daemon.does_answer", asked)
    with pytest.raises(EngineError) as raised:
        start_daemon(daemon, said.append, timeout=0.5)
    os.kill(int(daemon.launch_pidfile.read_text()), signal.SIGKILL)
    assert str(raised.value) == f"dockerd does not answer in time; its log is {daemon.log}\n  still loading"


def test_systemd_starts_the_engine_where_it_runs_the_machine(
    tmp_path: Path, said: list[str], fake: Fake, serve: Callable[..., str]
) -> None:
    log = fake("systemctl", 'echo "$@" >>$LOG')
    socket = Path(serve(b"HTTP/1.0 200 OK\r\n\r\nOK").removeprefix("unix://"))
    daemon = Daemon(socket, tmp_path / "docker.pid", tmp_path / "exec", tmp_path / "log")
    start_daemon(daemon, said.append, by_systemd=True)
    assert log.read_text() == "start docker\n"
    assert not daemon.launch_pidfile.exists()


def test_unit_that_fails_is_an_error_that_names_the_journal(tmp_path: Path, said: list[str], fake: Fake) -> None:
    fake("systemctl", "echo Job for docker.service failed. >&2; exit 1")
    daemon = Daemon(tmp_path / "sock", tmp_path / "docker.pid", tmp_path / "exec", tmp_path / "log")
    with pytest.raises(EngineError) as raised:
        start_daemon(daemon, said.append, by_systemd=True)
    assert str(raised.value) == (
        "systemd could not start docker: exit code 1; see journalctl -u docker\nJob for docker.service failed."
    )
