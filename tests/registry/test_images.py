"""Digests and configs, from a real registry."""

from collections.abc import Iterator
from typing import Any

import pytest

from imagepins.registry.answers import Absent, ImageConfig, Present
from imagepins.registry.client import Client
from imagepins.registry.images import look_up, platforms, read_config


@pytest.fixture
def client() -> Iterator[Client]:
    with Client(sleep=lambda _: None) as opened:
        yield opened


@pytest.fixture
def index(registry: Any) -> dict[str, str]:
    """An index ``multi:1`` of two platforms and an attestation, as buildx makes it."""
    amd = registry.push_image("multi", "amd", "linux/amd64", role="amd")
    arm = registry.push_image("multi", "arm", "linux/arm64", role="arm")
    proof = registry.push_image("multi", "proof", "unknown/unknown")
    digest = registry.push_index("multi", "1", proof, amd, arm)
    return {"index": digest, "amd64": amd["digest"], "arm64": arm["digest"], "ref": f"{registry.address}/multi:1"}


def test_tag_of_an_index_gives_the_index(client: Client, index: dict[str, str]) -> None:
    answer = look_up(client, index["ref"])
    assert isinstance(answer, Present)
    assert (answer.digest, answer.is_index) == (index["index"], True)


@pytest.mark.parametrize("name", ["amd64", "arm64"])
def test_platform_gives_its_own_manifest(client: Client, index: dict[str, str], name: str) -> None:
    answer = look_up(client, index["ref"], platform=f"linux/{name}")
    assert isinstance(answer, Present)
    assert (answer.digest, answer.is_index) == (index[name], False)


def test_attestation_is_never_a_platform(client: Client, index: dict[str, str]) -> None:
    assert platforms(client, index["ref"]) == {"linux/amd64": index["amd64"], "linux/arm64": index["arm64"]}
    answer = look_up(client, index["ref"], platform="unknown/unknown")
    assert isinstance(answer, Absent)


def test_platform_that_is_not_there_is_absent_with_those_that_are(client: Client, index: dict[str, str]) -> None:
    answer = look_up(client, index["ref"], platform="linux/s390x")
    assert isinstance(answer, Absent)
    assert "linux/amd64, linux/arm64" in answer.reason


def test_single_manifest_is_of_its_config_s_platform(client: Client, registry: Any) -> None:
    image = registry.push_image("single", "1", "linux/amd64")
    ref = f"{registry.address}/single:1"
    assert platforms(client, ref) == {"linux/amd64": image["digest"]}
    found = look_up(client, ref, platform="linux/amd64")
    assert isinstance(found, Present)
    assert isinstance(look_up(client, ref, platform="linux/arm64"), Absent)


def test_digest_is_looked_up_as_such(client: Client, index: dict[str, str], registry: Any) -> None:
    answer = look_up(client, f"{registry.address}/multi@{index['amd64']}")
    assert isinstance(answer, Present)
    assert answer.digest == index["amd64"]


@pytest.mark.parametrize("ref", ["multi:none", "nowhere/at-all:1", f"multi@sha256:{'0' * 64}"])
def test_what_the_registry_does_not_have_is_absent(
    client: Client, index: dict[str, str], registry: Any, ref: str
) -> None:
    assert isinstance(look_up(client, f"{registry.address}/{ref}"), Absent)


def test_labels_are_read_without_pulling(client: Client, index: dict[str, str]) -> None:
    config = read_config(client, index["ref"])
    assert isinstance(config, ImageConfig)
    assert (config.labels, config.platform, config.digest) == ({"role": "amd"}, "linux/amd64", index["amd64"])
    assert isinstance(read_config(client, index["ref"], platform="linux/s390x"), Absent)


def test_image_without_labels_has_none(client: Client, registry: Any) -> None:
    registry.push_image("bare", "1")
    config = read_config(client, f"{registry.address}/bare:1")
    assert isinstance(config, ImageConfig)
    assert config.labels == {}
