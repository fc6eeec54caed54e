"""What keeps an engine from being used: one sentence each, with the next step."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from imagepins.engine import client, usable
from imagepins.engine.daemon import Daemon
from imagepins.engine.usable import MIN_API, Problem, find_problem, require_engine
from imagepins.errors import EngineError
from imagepins.process import Completed

Machine = Callable[..., Completed]
Fake = Callable[[str, str], Path]
NO_DOCKERD = "mount --bind /dev/null $(command -v dockerd)"


def pong(api: str, status: str = "200 OK") -> bytes:
    return f"HTTP/1.0 {status}\r\nApi-Version: {api}\r\n\r\nOK".encode()


@pytest.mark.engine
def test_engine_with_client_and_buildx_is_usable(at_engine: Daemon) -> None:
    assert find_problem() is None
    require_engine()


@pytest.mark.engine
def test_no_engine_installed(machine: Machine) -> None:
    done = machine("$TOOL status", before=NO_DOCKERD)
    assert done.code == 6
    assert done.stderr == (
        "engine: No Docker engine is installed here; "
        "run tools/engine up as root, which installs one on Debian and Ubuntu.\n"
    )


@pytest.mark.engine
def test_daemon_installed_but_not_running(machine: Machine) -> None:
    done = machine("$TOOL status")
    assert done.code == 6
    assert done.stderr.startswith("engine: The Docker daemon is installed (/usr/")
    assert done.stderr.endswith("dockerd) but not running; run tools/engine up as root to start it.\n")


@pytest.mark.engine
def test_socket_left_behind_by_a_daemon_that_is_gone(machine: Machine) -> None:
    leave = "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"/run/docker.sock\")'"
    done = machine("$TOOL status", before=leave)
    assert (done.code, "but not running" in done.stderr) == (6, True)


@pytest.mark.engine
def test_socket_without_permission(at_engine: Daemon) -> None:
    os.seteuid(65534)
    try:
        problem = find_problem()
    finally:
        os.seteuid(0)
    assert problem == Problem(
        "denied",
        f"The Docker socket {at_engine.socket} may not be used by this user; run as root, or join its group "
        "(sudo usermod -aG docker $USER) and log in again.",
    )


@pytest.mark.engine
def test_engine_without_buildx(machine: Machine, at_engine: Daemon) -> None:
    hide = "for d in /usr/local/lib /usr/local/libexec /usr/lib /usr/libexec; do "
    hide += "if [ -d $d/docker/cli-plugins ]; then mount -t tmpfs none $d/docker/cli-plugins; fi; done"
    done = machine(f"DOCKER_CONFIG=/run DOCKER_HOST=unix://{at_engine.socket} $TOOL status", before=hide)
    assert done.code == 6
    assert done.stderr == (
        f"engine: The Docker engine at unix://{at_engine.socket} (DOCKER_HOST) answers, but its client has no buildx "
        "plugin; run tools/engine up, which installs it on Debian and Ubuntu.\n"
    )


@pytest.mark.engine
def test_engine_without_client(at_engine: Daemon, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_problem() == Problem(
        "no-client",
        f"The Docker engine at unix://{at_engine.socket} (DOCKER_HOST) answers, but there is no docker client on PATH; "
        "run tools/engine up, which installs it on Debian and Ubuntu.",
    )


@pytest.mark.engine
@pytest.mark.parametrize("host", ["tcp://127.0.0.1:9", "ssh://nobody@127.0.0.1:9"])
def test_remote_engine_out_of_reach(host: str) -> None:
    problem = find_problem({"DOCKER_HOST": host})
    assert problem
    assert problem.kind == "unreachable"
    assert problem.text.startswith(f"The Docker engine at {host} (DOCKER_HOST) is out of reach: ")
    assert problem.text.endswith("; check that host, or unset DOCKER_HOST to use the engine of this machine.")
    assert "\n" not in problem.text


def test_docker_host_names_a_socket_that_is_not_there(tmp_path: Path) -> None:
    host = f"unix://{tmp_path}/none.sock"
    assert find_problem({"DOCKER_HOST": host}) == Problem(
        "unreachable",
        f"No engine listens at {host}; start it there, or unset DOCKER_HOST to use the engine of this machine.",
    )


@pytest.mark.engine
def test_rootless_engine_is_pointed_out(machine: Machine) -> None:
    done = machine("touch /run/lock/docker.sock; XDG_RUNTIME_DIR=/run/lock $TOOL status")
    assert done.code == 6
    assert done.stderr.endswith("a rootless one does; export DOCKER_HOST=unix:///run/lock/docker.sock.\n")


def test_engine_with_an_old_api_names_both_versions(serve: Callable[..., str]) -> None:
    assert find_problem({"DOCKER_HOST": serve(pong("1.41"))}) == Problem(
        "api",
        "The Docker engine speaks API 1.41, and API 1.42 is needed; upgrade the engine to Docker Engine 23.0 or later.",
    )


@pytest.mark.parametrize(("api", "is_enough"), [(MIN_API, True), ("1.100", True), ("1.9", False), ("", False)])
def test_api_versions_are_compared_as_numbers(api: str, is_enough: bool) -> None:
    assert (usable.api_problem(api) is None) is is_enough


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (pong("1.51", "500 Internal Server Error"), "answers its ping with HTTP 500: OK; restart it."),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "cannot be used: no HTTP answer but 'SSH-2.0-OpenSSH_9.2'"),
        (b"", "cannot be used: no HTTP answer but ''"),
    ],
    ids=["error", "another program", "nothing"],
)
def test_engine_that_answers_with_something_else(serve: Callable[..., str], answer: bytes, cause: str) -> None:
    problem = find_problem({"DOCKER_HOST": serve(answer)})
    assert problem
    assert cause in problem.text


@pytest.mark.parametrize("pieces", [(b"",), (b"HTTP/1.0 200 OK\r\n",) * 100], ids=["never", "in drops"])
def test_engine_that_does_not_answer_in_time(
    serve: Callable[..., str], monkeypatch: pytest.MonkeyPatch, pieces: tuple[bytes, ...]
) -> None:
    monkeypatch.setattr(usable, "PING_SECONDS", 0.3)
    host = serve(*pieces, pause=0.1 if len(pieces) > 1 else 30.0)
    problem = find_problem({"DOCKER_HOST": host})
    assert problem
    assert problem.kind == "silent"
    assert "did not answer within 0.3 s" in problem.text


def test_required_engine_is_an_error_with_the_same_sentence(tmp_path: Path) -> None:
    env = {"DOCKER_HOST": f"unix://{tmp_path}/none.sock"}
    problem = find_problem(env)
    assert problem
    with pytest.raises(EngineError) as raised:
        require_engine(env)
    assert (str(raised.value), raised.value.exit_code) == (problem.text, 6)


def test_buildx_is_found_where_the_clients_configuration_says(tmp_path: Path) -> None:
    plugin = tmp_path / "elsewhere" / "docker-buildx"
    plugin.parent.mkdir()
    plugin.write_text("#!/bin/sh\n")
    plugin.chmod(0o755)
    (tmp_path / "config.json").write_text(f'{{"cliPluginsExtraDirs": ["{plugin.parent}"]}}')
    assert client.find_buildx({"DOCKER_CONFIG": str(tmp_path)}) == str(plugin)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("28.5.2+dfsg4-5", (28, 5, 2)),
        ("20.10.24+dfsg1-1+deb12u1+b6", (20, 10, 24)),
        ("1:0.13.1+ds1-3", (0, 13, 1)),
        ("v0.30.1", ()),
        ("1.51", (1, 51)),
        ("", ()),
    ],
)
def test_version_is_its_leading_numbers(text: str, numbers: tuple[int, ...]) -> None:
    assert client.version_tuple(text) == numbers
