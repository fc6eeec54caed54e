"""Every ARG of upstream's Dockerfiles is answered by a pin of ours, or left out for a reason that is written down."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from imagepins.pins.load import load
from imagepins.pins.model import GitPin, ImagePin, Pin, PinSet

ROOT = Path(__file__).parents[2]
TABLE: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "upstream_args.yaml").read_text())
OURS: Mapping[str, str] = TABLE.pop("ours")
WAYS = {"pin", "repo", "index", "arg", "rendered", "archs", "picks", "reverts", "left_out"}


def rows() -> Iterator[Any]:
    """Every ARG of every file, as a parameter."""
    for file, facts in TABLE.items():
        for name, row in facts["args"].items():
            images = row.get("images", facts["images"])
            yield pytest.param(name.partition(" ")[0], row, images, id=f"{file}: {name}")


@pytest.fixture(scope="module")
def pinset() -> PinSet:
    """The project's own pins."""
    return load(ROOT / "pins.yaml")


def first_arg(dockerfile: str, name: str) -> str | None:
    """Value of the first ``ARG NAME=`` line, read as upstream's own tests do: comment and double quotes stripped."""
    line = next((line for line in dockerfile.splitlines() if line.startswith(f"ARG {name}=")), None)
    return None if line is None else line.partition("=")[2].partition("#")[0].strip().strip('"')


def names_of(pin: Pin) -> set[str]:
    """What upstream may call a pin's value."""
    found = {str(pin.value), str(pin.component_version or "")}
    if isinstance(pin, ImagePin):
        found.add(f"{pin.image}:{pin.tag}")
    if isinstance(pin, GitPin):
        found |= {str(pin.commit or "")}
        if pin.track:
            found |= {str(each) for each in (pin.track.tag, pin.track.branch) if each}
    return found - {""}


@pytest.mark.parametrize(("name", "row", "images"), list(rows()))
def test_an_upstream_arg_is_answered(name: str, row: Mapping[str, Any], images: list[str], pinset: PinSet) -> None:
    [way] = WAYS & set(row)
    value, ours = str(row["value"]), row.get("as", name)
    rendered = {image: first_arg((ROOT / pinset.targets[image].dockerfile).read_text(), ours) for image in images}
    if way == "pin":
        pin = pinset.pin(row["pin"])
        assert any(each.startswith(value) for each in names_of(pin)), names_of(pin)
        assert rendered == dict.fromkeys(images, pin.value)
    elif way in {"arg", "rendered", "archs"}:
        assert rendered == dict.fromkeys(images, value)
    else:
        assert answer(way, row[way], pinset) in {value, None}


def answer(way: str, what: str, pinset: PinSet) -> str | None:
    """What a pin says that upstream has an ARG for beside its commit or version; None for a reason to leave it out."""
    if way == "left_out":
        assert len(what) > 10
        return None
    pin = pinset.pin(what)
    if way == "repo":
        return str(pin.source)
    return str(getattr(pin, "index", "")) if way == "index" else " ".join(each.commit for each in getattr(pin, way))


def test_every_table_says_its_source_and_date() -> None:
    for facts in TABLE.values():
        assert re.search(r"[\w-]+/[\w-]+", facts["source"])
        assert re.fullmatch(r"20\d\d-\d\d", facts["date"])


def test_every_pin_of_an_image_is_upstreams_or_ours_for_a_reason(pinset: PinSet) -> None:
    answered = {row["pin"] for facts in TABLE.values() for row in facts["args"].values() if "pin" in row}
    used = {str(pin.name) for target in pinset.targets.values() for pin in target.pins.values()}
    assert used - answered == set(OURS)


def test_a_file_whose_pin_is_gone_fails(pinset: PinSet) -> None:
    text = (ROOT / pinset.targets["rocm_base/rocm10"].dockerfile).read_text()
    assert first_arg(text, "ROCM_RUNTIME_COMMIT") == pinset.pin("rocm-runtime").value
    assert first_arg(text.replace("ARG ROCM_RUNTIME_COMMIT=", "ARG RUNTIME="), "ROCM_RUNTIME_COMMIT") is None
