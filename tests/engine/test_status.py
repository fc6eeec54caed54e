"""``tools/engine status``: what is there, what is missing, and the exit code that says whether it will do."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from imagepins.engine.daemon import Daemon
from imagepins.engine.dockercli import api_mismatch, last_line
from imagepins.engine.endpoint import Endpoint
from imagepins.engine.report import describe
from imagepins.engine.status import Program, _engine, _status, read_status
from imagepins.process import Completed

Fake = Callable[[str, str], Path]
Start = Callable[..., Daemon]
Tool = Callable[..., Completed]
TOO_OLD = (
    "Error response from daemon: client version 1.41 is too old. Minimum supported API version is 1.44, "
    "please upgrade your client to a newer version"
)


@pytest.mark.engine
def test_status_as_json_names_every_part(at_engine: Daemon, tool: Tool) -> None:
    done = tool("status", "--json")
    document = json.loads(done.stdout)
    assert (done.code, done.stderr) == (0, "")
    assert sorted(document) == ["base", "buildx", "client", "endpoint", "engine", "missing", "problem", "usable"]
    assert document["usable"] is True
    assert document["problem"] is None
    assert document["endpoint"] == {"host": f"unix://{at_engine.socket}", "chosen_by": "DOCKER_HOST"}
    engine = document["engine"]
    assert engine["containerd_store"] is True
    assert engine["data_root"] == f"{at_engine.pidfile.parent}/data"
    assert float(engine["api_version"]) >= 1.42
    stat = os.statvfs(engine["data_root"])
    assert 0 < engine["free_bytes"] < stat.f_blocks * stat.f_frsize
    assert document["buildx"]["version"]
    assert document["client"]["version"]


@pytest.mark.engine
def test_status_without_a_base_lists_it_as_missing_and_is_usable(
    start_engine: Start, tool: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{start_engine().socket}")
    done = tool("status")
    assert done.code == 0
    rows = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    assert list(rows) == ["endpoint", "engine", "storage", "client", "buildx", "base", "missing"]
    assert rows["base"] == "none"
    assert rows["missing"] == "debian:trixie-slim (tools/engine base)"
    assert "(containerd image store)" in rows["storage"]
    assert "GB free at /" in rows["storage"]


@pytest.mark.engine
def test_status_of_an_engine_that_is_not_there_is_told_and_exits_6(
    tool: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    done = tool("status", "--json")
    document = json.loads(done.stdout)
    assert done.code == 6
    assert (document["usable"], document["engine"], document["missing"]) == (False, None, ["Docker engine"])
    assert done.stderr == f"engine: {document['problem']}\n"
    assert document["client"]["version"]


@pytest.mark.engine
def test_client_that_is_too_old_for_the_engine_names_both_versions(at_engine: Daemon, fake: Fake) -> None:
    fake("docker", f'echo \'{{"Client":{{"Version":"20.10.24"}},"Server":null}}\'; echo \'{TOO_OLD}\' >&2; exit 1')
    status = read_status()
    assert (
        status.problem == "The docker client speaks API 1.41, and the engine needs 1.44 or newer; upgrade the client."
    )
    assert not status.is_usable
    assert "engine    none that can be asked" in describe(status)


def test_client_that_is_too_new_for_the_engine_names_both_versions() -> None:
    complaint = "client version 1.52 is too new. Maximum supported API version is 1.41"
    assert api_mismatch(complaint) == (
        "The docker client speaks API 1.52, and the engine knows 1.41 at most; upgrade the engine."
    )
    assert api_mismatch("Cannot connect to the Docker daemon") is None


@pytest.mark.engine
def test_client_that_answers_nonsense_is_a_problem_not_a_traceback(at_engine: Daemon, fake: Fake) -> None:
    fake("docker", "echo this is podman")
    status = read_status()
    assert status.problem == "the docker client did not answer in JSON but 'this is podman'; upgrade it"


def test_free_space_is_that_of_the_systems_containerd_where_layers_lie_there() -> None:
    info = {
        "DriverStatus": [["driver-type", "io.containerd.snapshotter.v1"]],
        "DockerRootDir": "/var/lib/docker",
        "Containerd": {"Address": "/run/containerd/containerd.sock"},
    }
    engine = _engine({"Version": "28.5.2"}, info, Endpoint("unix:///var/run/docker.sock", "default"))
    assert engine.data_root == "/var/lib/containerd"


def test_free_space_of_a_remote_engine_is_unknown() -> None:
    engine = _engine({}, {"DockerRootDir": "/"}, Endpoint("ssh://far", "DOCKER_HOST"))
    assert engine.free_bytes is None


@pytest.mark.parametrize(
    ("version", "missing"),
    [("v0.16.2", "buildx 0.17 or newer"), ("0.17.0", ""), ("0.29.1+ds1", ""), ("", ""), (None, "buildx 0.17 or newer")],
)
def test_buildx_that_is_too_old_is_listed_as_missing(version: str | None, missing: str) -> None:
    buildx = None if version is None else Program("/docker-buildx", version)
    told = _status(Endpoint("unix:///x", "default"), None, client=Program("/docker", "28"), buildx=buildx).missing
    assert told == ((missing,) if missing else ())


def test_the_clients_complaint_is_told_not_its_pointer_to_help() -> None:
    text = "unknown flag: --x\n\nUsage:  docker run [OPTIONS] IMAGE\n\nRun 'docker run --help' for more information\n"
    assert last_line(Completed((), 125, "", text)) == "unknown flag: --x"
