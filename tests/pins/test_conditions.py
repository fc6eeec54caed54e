"""Conditions over pins and over what an image was found to hold."""

import pytest

from imagepins.pins.conditions import parse
from imagepins.pins.load import loads
from imagepins.pins.text import Findings

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


SENSELESS = {
    "triton @ xyz": "'xyz' begins no commit (7 to 40 lower-case hex digits), and 'triton' tracks no tag",
    "triton @ 89002A10": "'89002A10' begins no commit",
    "triton @ 890024": "'890024' begins no commit",
    "torch @ v2.12.0": "'@' compares commits and tags, and 'torch' is no git pin",
    "runtime < newest": "'newest' is no version that '<' could compare",
    "runtime == 7.*": "'7.*' is no version that '==' could compare",
    "hip >= 7.16,": "'7.16,' is no version that '>=' could compare",
    "hip < >": "'>' is no version",
    "torch carries torch": "'torch' is compared with itself",
    "hip >= 7 and torch carries nothing": "no pin or component 'nothing'",
}
SENSELESS_IN_GATES = {
    "hip @ 25e14349": "a gate compares versions found in the image, of which '@' says nothing",
    "torch carries sdk": "of which 'carries' says nothing",
    "runtime >= 7.16": "a gate speaks of what is found in the image; name the component 'hip'",
    "hip >= seven": "'seven' is no version that '>=' could compare",
}
MORE = f"""\
{SOURCE.partition("images:")[0]}  triton: {{git: 'https://h/t.git', commit: "{"8" * 40}", track: {{branch: main}}}}
images: {{}}
"""


@pytest.mark.parametrize(("condition", "words"), SENSELESS.items())
@pytest.mark.parametrize("key", ["require", "when"])
def test_condition_that_can_never_hold_is_refused_with_its_place(condition: str, words: str, key: str) -> None:
    other = "when" if key == "require" else "require"
    with pytest.raises(Findings) as caught:
        loads(f'{MORE}constraints:\n  - {key}: "{condition}"\n    {other}: hip >= 7\n    reason: r\n')
    place = f"pins.yaml:10:{7 + len(key)}: constraints[0].{key}: "
    assert str(caught.value).startswith(f"{place}{words}")


@pytest.mark.parametrize(("condition", "words"), SENSELESS_IN_GATES.items())
def test_gate_that_can_never_be_on_is_refused_with_its_place(condition: str, words: str) -> None:
    with pytest.raises(Findings) as caught:
        loads(f'{MORE}gates:\n  fast: "{condition}"\n')
    assert str(caught.value).startswith("pins.yaml:10:9: gates.fast: ")
    assert words in str(caught.value)


@pytest.mark.parametrize("condition", ["triton @ 8888888", f"triton @ {'8' * 40}", "aiter @ v0.1.20", "hip == 7"])
def test_condition_that_may_hold_is_taken(condition: str) -> None:
    assert loads(f'{MORE}constraints:\n  - {{require: "{condition}", reason: r}}\n').constraints
