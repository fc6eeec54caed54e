"""Which engine is meant: the same one the docker client would take."""

import hashlib
import json
from pathlib import Path

import pytest

from imagepins.engine.endpoint import Endpoint, find_endpoint

HOME = "unix:///var/run/docker.sock"


def config(tmp_path: Path, current: str | None = None, **hosts: str) -> dict[str, str]:
    """Write a docker client's configuration with the given contexts; returns the environment that selects it."""
    for name, host in hosts.items():
        directory = tmp_path / "contexts" / "meta" / hashlib.sha256(name.encode()).hexdigest()
        directory.mkdir(parents=True)
        (directory / "meta.json").write_text(json.dumps({"Name": name, "Endpoints": {"docker": {"Host": host}}}))
    if current:
        (tmp_path / "config.json").write_text(json.dumps({"currentContext": current}))
    return {"DOCKER_CONFIG": str(tmp_path)}


def test_endpoint_is_the_machines_socket_when_nothing_chooses_one(tmp_path: Path) -> None:
    assert find_endpoint(config(tmp_path)) == Endpoint(HOME, "default")


def test_docker_host_comes_before_every_context(tmp_path: Path) -> None:
    env = config(tmp_path, "far", far="ssh://far")
    assert find_endpoint({**env, "DOCKER_HOST": "tcp://near:2375", "DOCKER_CONTEXT": "far"}) == Endpoint(
        "tcp://near:2375", "DOCKER_HOST"
    )


def test_docker_context_comes_before_the_current_one(tmp_path: Path) -> None:
    env = config(tmp_path, "far", far="ssh://far", near="unix:///near.sock")
    assert find_endpoint({**env, "DOCKER_CONTEXT": "near"}) == Endpoint("unix:///near.sock", "context near")


def test_current_context_of_the_configuration_is_taken(tmp_path: Path) -> None:
    assert find_endpoint(config(tmp_path, "far", far="ssh://far")) == Endpoint("ssh://far", "context far")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"currentContext": "default"}', '{"currentContext": "gone"}'])
def test_configuration_that_chooses_nothing_means_the_machines_socket(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    assert find_endpoint({"DOCKER_CONFIG": str(tmp_path)}) == Endpoint(HOME, "default")


@pytest.mark.parametrize(
    ("host", "is_default"),
    [(HOME, True), ("unix:///run/docker.sock", True), ("unix:///tmp/x.sock", False), ("ssh://h", False)],
)
def test_only_the_machines_socket_is_the_default(host: str, is_default: bool) -> None:
    assert Endpoint(host, "DOCKER_HOST").is_default is is_default
