"""The container of a verification and the image it is made of."""

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from docker import APIClient
from docker.errors import ImageNotFound

from imagepins.errors import RefError
from imagepins.process import run
from imagepins.verify.keeper import Keeper
from naming import own_name, remove_images

REPOSITORY = own_name("moved")
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
        run(["docker", "buildx", "build", "--load", "--quiet", "--tag", ref, str(tmp_path)], timeout=120)
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
