"""Bake files hold literals, whatever the values are."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imagepins.errors import EngineError
from imagepins.plan.bake import BakeTarget, bake_text, differences, fields, read_printed
from imagepins.process import run

AWKWARD = [
    "a${B}c",
    "%{if}",
    "$$",
    "$${x}",
    "$$${x}",
    "%%{y}",
    "$",
    'q"\\ \\n',
    "line\nbreak",
    "ünïcode",
    "${",
    "/lib:${LP}",
]


def target(value: str) -> BakeTarget:
    """A target with ``value`` wherever a value can stand."""
    return BakeTarget(
        context="/tmp",
        dockerfile="/tmp/Dockerfile",
        platforms=["linux/amd64"],
        labels={"label": value},
        args={"ARG": value},
        contexts={"name": "target:other"},
    )


@given(st.text())
def test_reading_undoes_what_writing_did(value: str) -> None:
    written = {"t": target(value)}
    assert differences(written, read_printed(bake_text(written))) == []


def test_there_are_no_variables_and_no_keys_left_empty() -> None:
    document = json.loads(bake_text({"t": target("x")}))
    assert list(document) == ["target"]
    assert sorted(document["target"]["t"]) == ["args", "context", "contexts", "dockerfile", "labels", "platforms"]


@pytest.mark.engine
def test_bake_itself_resolves_every_value_to_what_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("B", "evil")
    monkeypatch.setenv("LP", "evil")
    written = {f"t{number}": target(value) for number, value in enumerate(AWKWARD)}
    written["other"] = BakeTarget(context="/tmp", dockerfile="/tmp/Dockerfile", platforms=["linux/amd64"])
    file = tmp_path / "bake.json"
    file.write_text(bake_text(written))
    printed = run(["docker", "buildx", "bake", "--file", str(file), "--print", *written]).stdout
    assert differences(written, read_printed(printed)) == []


def test_what_bake_resolved_otherwise_is_named() -> None:
    printed = {"t": {**target("b").as_json()}}
    assert differences({"t": target("a")}, printed) == [
        "t: labels is {'label': 'b'}, not {'label': 'a'}",
        "t: args is {'ARG': 'b'}, not {'ARG': 'a'}",
    ]


@pytest.mark.parametrize("text", ["", "no json", "[]", "{}"])
def test_output_that_is_no_definition_is_an_error(text: str) -> None:
    with pytest.raises(EngineError, match="did not print a definition"):
        read_printed(text)


def test_fields_with_commas_and_quotes_are_quoted() -> None:
    assert fields(type="oci", force_compression="true") == "type=oci,force-compression=true"
    assert fields(id="ca", src='/a, "b"/c') == 'id=ca,"src=/a, ""b""/c"'
