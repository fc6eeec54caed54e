"""How a base came to be, told from labels and digests."""

import pytest

from imagepins.engine import base_origin


@pytest.mark.parametrize(
    ("labels", "digests", "origin"),
    [
        ({"org.imagepins.base": "debootstrap"}, [], "debootstrap"),
        ({"org.imagepins.base": "debootstrap"}, ["debian@sha256:0"], "debootstrap"),
        ({}, ["debian@sha256:0"], "registry"),
        (None, ["debian@sha256:0"], "registry"),
        (None, [], "unknown"),
        ({"org.imagepins.base": ""}, [], "unknown"),
    ],
    ids=["made", "made, in the containerd store", "pulled", "pulled, no labels", "neither", "empty label"],
)
def test_origin_of_a_base(labels: dict[str, str] | None, digests: list[str], origin: str) -> None:
    assert base_origin(labels, digests) == origin
