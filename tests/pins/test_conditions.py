"""Conditions over pins and over what an image was found to hold."""

import pytest

from imagepins.pins.conditions import parse
from imagepins.pins.load import loads

SOURCE = """\
schema: 1
pins:
  runtime: {git: 'https://h/x.git', commit: "25e14349f2606a6b95c4ccd45eb92a1835646cf2", version: "7.16", component: hip}
  aiter: {git: 'https://h/a.git', commit: "31350226161346314b3d8882c8085bd31dce6a34", track: {tag: v0.1.19}}
  sdk: {pypi: rocm, version: "10.0.0"}
  torch: {pypi: torch, version: "2.12.0+rocm10.0.0"}
images: {}
"""


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("hip >= 7.16", True),
        ("runtime >= 7.16", True),
        ("hip < 7.16", False),
        ("hip == 7", True),
        ("hip != 7.16", False),
        ("aiter >= 0.1", False),
        ("aiter @ v0.1.19", True),
        ("aiter @ 31350226", True),
        ("aiter @ 31350227", False),
        ("torch carries sdk", True),
        ("torch carries runtime", False),
        ("hip >= 7 and torch carries sdk", True),
        ("hip >= 7 and aiter @ v0.1.20", False),
        ("nothing >= 1", False),
    ],
)
def test_condition_over_pins(condition: str, expected: bool) -> None:
    assert parse(condition).holds(loads(SOURCE).pins.values()) is expected


@pytest.mark.parametrize(("sdk", "expected"), [("10.0.0", True), ("10.0", False), ("0.0", False), ("10.0.01", False)])
def test_carries_compares_whole_versions(sdk: str, expected: bool) -> None:
    pins = loads(SOURCE.replace('rocm, version: "10.0.0"', f'rocm, version: "{sdk}"')).pins.values()
    assert parse("torch carries sdk").holds(pins) is expected


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (None, False),
        ("7.2.26015", False),
        ("7.15.26333", False),
        ("7.16.26361", True),
        ("8.0.1", True),
        ("junk", False),
    ],
)
def test_gate_over_found_versions_is_off_while_the_version_is_unknown(found: str | None, expected: bool) -> None:
    assert parse("hip >= 7.16").holds_for({"hip": found}) is expected
