"""The pins that an image carries: what is no such label is refused, and what it leaves out or had rewritten is told."""

import json
from hashlib import sha256
from typing import Any

import pytest

from imagepins.errors import UsageError
from imagepins.pins.load import loads
from imagepins.verify.findings import Check, Status
from imagepins.verify.observed import read
from imagepins.verify.verify import verify

PINS = """\
schema: 1
pins:
  tool: {url: "https://upstream.example/tool", sha256: "%s"}
  torch: {pypi: torch, version: "2.12.0"}
images: {a: {template: t, pins: [tool, torch], variants: {b: {}}}}
"""
TOOL = {"kind": "url", "source": "https://upstream.example/tool", "id": "a" * 64}
TORCH = {"kind": "pypi", "source": "torch", "id": "2.12.0"}


def checks(label: object, *, against_image: bool = True, **labels: str) -> dict[str, Check]:
    """Checks of the label by name."""
    text = label if isinstance(label, str) else json.dumps(label, sort_keys=True, separators=(",", ":"))
    pins = loads(PINS % ("a" * 64))
    image: dict[str, Any] = {"labels": {"org.imagepins.pins": text, **labels}}
    seen = read({"format": "imagepins-observed", "version": 1, "image": image})
    report = verify(pins.targets["a/b"], pins, seen, against_image=against_image)
    return {check.name: check for check in report.checks if check.name.endswith("pins label")}


@pytest.mark.parametrize(
    ("label", "says"),
    [
        ("{}", "it is empty"),
        ("[]", "no mapping"),
        ("{", "no JSON"),
        ('{"tool": {}}', "no kind that there is"),
        ('{"tool": "url"}', "no mapping of texts"),
        ('{"tool": {"kind": "git", "id": [1]}}', "no mapping of texts"),
        ('{"tool": {"kind": "wish", "id": "1"}}', "'wish'"),
    ],
)
def test_label_that_holds_no_pins_is_refused_and_otherwise_a_finding(label: str, says: str) -> None:
    with pytest.raises(UsageError, match=f"carries no pins .*{says}"):
        checks(label)
    assert checks(label, against_image=False)["pins label"].status is Status.FINDING


def test_pin_that_the_label_leaves_out_is_told() -> None:
    found = checks({"tool": TOOL})

    assert list(found) == ["torch pins label"]
    assert (found["torch pins label"].status, found["torch pins label"].place) == (Status.FINDING, "pins.yaml:4")


@pytest.mark.parametrize(("against_image", "status"), [(True, Status.FAILED), (False, Status.FINDING)])
def test_label_that_its_hash_does_not_fit_fails_where_it_judges(against_image: bool, status: Status) -> None:
    found = checks({"tool": TOOL, "torch": TORCH}, against_image=against_image, **{"org.imagepins.pins-hash": "0"})

    assert found["pins label"].status is status


def test_label_as_the_build_wrote_it_is_not_spoken_of() -> None:
    pins = {"tool": TOOL, "torch": TORCH}
    written = sha256(json.dumps(pins, sort_keys=True, separators=(",", ":")).encode()).hexdigest()

    assert checks(pins, against_image=True, **{"org.imagepins.pins-hash": written}) == {}


def test_environment_that_the_parent_asks_for_is_checked_against_the_image_too() -> None:
    parent = "base: {template: t, pins: [tool], env: {MODE: fast}, variants: {b: {}}}"
    pins = loads((PINS % ("a" * 64)).replace("images: {a: {", f"images: {{{parent}, a: {{parent: base, "))
    image = {"labels": {"org.imagepins.pins": json.dumps({"tool": TOOL})}, "env": {"MODE": "slow"}}
    seen = read({"format": "imagepins-observed", "version": 1, "image": image})

    found = {check.name: check for check in verify(pins.targets["a/b"], pins, seen, against_image=True).checks}

    assert (found["env MODE"].status, found["env MODE"].found) == (Status.FAILED, "slow")
