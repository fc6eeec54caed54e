"""The container of a verification: the image it is made of, and what the collector has to survive in it."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol
from unittest.mock import Mock

import pytest
from docker import APIClient
from docker.errors import ImageNotFound

from imagepins.errors import RefError
from imagepins.pins.model import PinSet
from imagepins.process import run
from imagepins.verify.findings import Status
from imagepins.verify.keeper import Keeper
from imagepins.verify.observed import read
from imagepins.verify.request import make_request
from imagepins.verify.source import collector_source
from imagepins.verify.verify import verify
from naming import own_name, remove_images

REPOSITORY = own_name("moved")


class Lab(Protocol):
    """The fixture that builds images."""

    def build(self, stages: dict[str, str]) -> None: ...
    def ref(self, name: str) -> str: ...


Observe = Callable[[str], dict[str, Any]]

pytestmark = pytest.mark.engine


def image_id(ref: str) -> str:
    return run(["docker", "image", "inspect", "--format", "{{.Id}}", ref]).stdout.strip()


@pytest.fixture
def build(tmp_path: Path) -> Iterator[Callable[[str, str], str]]:
    """Builds images whose python answers with an empty document and that have a label; all are gone afterwards."""
    (tmp_path / "python").write_text('#!/bin/sh\nprintf "%s{}%s" "$8" "$8"\n')

    def one(tag: str, says: str) -> str:
        lines = ["FROM debian:trixie-slim", "COPY --chmod=755 python /usr/bin/python", f"LABEL says={says}"]
        (tmp_path / "Dockerfile").write_text("\n".join(lines) + "\n")
        ref = f"{REPOSITORY}:{tag}"
        run(["docker", "buildx", "build", "--load", "--quiet", "--tag", ref, str(tmp_path)], timeout=400)
        return ref

    yield one
    remove_images(REPOSITORY)


@pytest.fixture
def observe_moving(build: Callable[[str, str], str], monkeypatch: pytest.MonkeyPatch) -> Observe:
    """Observes an image whose tag goes to another one as soon as the container exists."""

    def one(ref: str) -> dict[str, Any]:
        start = APIClient.start

        def move_and_start(client: APIClient, container: str) -> None:
            build(ref.partition(":")[2], "second")
            start(client, container)

        monkeypatch.setattr(APIClient, "start", move_and_start)
        request = {"python": "python", "seconds": 60}
        with closing(Keeper()) as keeper:
            keeper.tell({"ref": ref, "owner": os.getpid(), "bases": [], "devices": (), "request": request})
            return keeper.answer()

    return one


def test_facts_are_those_of_the_image_that_was_looked_into_whatever_its_tag_names_by_then(
    build: Callable[[str, str], str], observe_moving: Observe
) -> None:
    ref = build("moved", "first")
    run(["docker", "tag", ref, f"{REPOSITORY}:kept"])

    image = observe_moving(ref)["image"]

    assert (image["ref"], image["labels"]["says"]) == (ref, "first")
    assert image["id"] == image_id(f"{REPOSITORY}:kept") != image_id(ref)


def test_an_image_that_is_gone_under_its_container_is_told(
    build: Callable[[str, str], str], observe_moving: Observe, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = build("gone", "first")
    # Whether an engine keeps an image that has lost its last tag, while a container has it, depends on its store.
    monkeypatch.setattr(APIClient, "inspect_image", Mock(side_effect=ImageNotFound("gone")))
    with pytest.raises(RefError, match="another image took its place while it was verified"):
        observe_moving(ref)


@pytest.fixture(scope="module")
def checked(lab: Lab, pins: PinSet) -> Callable[..., dict[str, tuple[Status, str]]]:
    """Judges what the collector finds in an honest image that a shell line has made a hard place before."""
    lab.build({"survives": ""})
    target = pins.targets["serving/plain"]
    request = make_request(target, seconds=60, load_seconds=30)
    collector = [request["python"], "-X", "utf8", "-I", "-S", "-c", collector_source(), "collect", "MARK"]

    def one(*options: str, first: str = ":") -> dict[str, tuple[Status, str]]:
        argv = ["docker", "run", "--rm", "--network", "none", *options, "--entrypoint", "sh", lab.ref("survives")]
        done = run([*argv, "-c", f'{first}; exec "$@"', "sh", *collector, json.dumps(request)], timeout=400)
        assert done.stderr == ""
        document = {**json.loads(done.stdout.split("MARK")[1]), "request": request}
        return {each.name: (each.status, each.found) for each in verify(target, pins, read(document)).checks}

    return one


FULL = "for folder in /tmp /var/tmp /root; do cat /dev/zero >$folder/filler 2>/dev/null; done"
TINY = [part for folder in ("/tmp", "/var/tmp", "/root") for part in ("--tmpfs", f"{folder}:size=16k")]


@pytest.mark.parametrize(
    ("options", "first"),
    [
        (TINY, ":"),
        (TINY, FULL),
        (["--read-only", *TINY], FULL),
        (["--tmpfs", "/srv"], "cd /srv && seq 20000 | xargs touch && cd /"),
        (["--tmpfs", "/srv"], "cd /srv && seq -f %g/librccl.so.d 400 | xargs mkdir -p && cd /"),
    ],
    ids=["tiny /tmp", "full /tmp", "no byte left anywhere", "20,000 files", "folders named as libraries"],
)
def test_the_collector_survives(
    options: list[str], first: str, checked: Callable[..., dict[str, tuple[Status, str]]]
) -> None:
    usual = checked()
    assert usual["rccl version"] == (Status.PASSED, "2.32.3")
    assert checked(*options, first=first) == usual
