"""Nothing passes because nobody looked: time limits, what was left out, and what a saved document was not asked."""

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from imagepins.errors import UsageError
from imagepins.pins.load import loads
from imagepins.verify.collector import walk
from imagepins.verify.findings import Check, Status
from imagepins.verify.observed import SECTIONS, read
from imagepins.verify.request import make_request
from imagepins.verify.verify import verify

PINS = """\
schema: 1
pins:
  torch: {pypi: torch, version: "2.12.0"}
images:
  a:
    template: t
    pins: [torch]
    loads: [import torch]
    variants: {b: {}}
"""
LATER = """\
schema: 1
pins:
  torch: {pypi: torch, version: "2.12.0"}
  kernels: {pypi: k, version: "1.0"}
images:
  a:
    template: t
    pins: [torch, kernels]
    loads: [import torch, librccl.so.1]
    archs: [gfx942]
    variants: {b: {}}
"""


def whole(**parts: Any) -> dict[str, Any]:
    """A document that holds all that the pins ask for."""
    request = make_request(loads(PINS).targets["a/b"])
    sections: Mapping[str, Any] = {section: [] for section in SECTIONS}
    head = {"format": "imagepins-observed", "version": 1, "request": request}
    return {**head, **sections, "texts": {}, **parts}


def collector(document: Mapping[str, Any], pins: str = PINS) -> list[Check]:
    """Checks of the collector itself."""
    known = loads(pins)
    return [
        check for check in verify(known.targets["a/b"], known, read(document)).checks if check.subject == "collector"
    ]


def test_whole_document_is_no_matter() -> None:
    assert collector(whole()) == []


def test_document_of_an_older_pins_yaml_fails_for_what_nobody_looked_for() -> None:
    (check,) = collector(whole(), LATER)

    assert check.status is Status.FAILED
    assert check.found == "not asked for: loads librccl.so.1, distributions k, want_archs"


def test_document_that_does_not_tell_what_was_asked_is_unproven() -> None:
    (check,) = collector(whole(request=None))

    assert check.status is Status.UNPROVEN


@pytest.mark.parametrize("section", SECTIONS)
def test_document_without_one_of_its_parts_fails(section: str) -> None:
    document = whole()
    del document[section]

    assert [(check.status, check.found) for check in collector(document)] == [(Status.FAILED, f"no {section}")]


def test_damaged_request_is_no_request() -> None:
    (check,) = collector(whole(request={"loads": 1, "families": [], "distributions": None, "python": "python3"}))

    assert check.found.startswith("not asked for: ")
    with pytest.raises(UsageError, match="damaged"):
        read(whole(request=[]))


def test_what_was_left_out_fails() -> None:
    (check,) = collector(whole(left_out=["5 of 20005 objects"]))

    assert (check.status, check.found) == (Status.FAILED, "5 of 20005 objects left out")


def test_more_files_of_a_kind_than_are_kept_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "KEPT", 3)
    for number in range(5):
        (tmp_path / f"librccl.so.{number}").touch()
        (tmp_path / f"{number}.version").touch()

    found = walk.walk(str(tmp_path), ["librccl.so"], [], want_objects=False)

    assert (found.left_out, len(found.libraries), len(found.statements)) == (["2 of 5 libraries"], 3, 3)


def test_python_that_does_not_start_fails() -> None:
    load = {"what": "modules", "error": "no answer (exit code 7)"}
    pins = loads(PINS)

    checks = {check.name: check for check in verify(pins.targets["a/b"], pins, read(whole(loads=[load]))).checks}

    assert (checks["python"].status, checks["python"].found) == (Status.FAILED, "no answer (exit code 7)")


def test_time_limit_sends_what_was_found_by_then(
    collect: Callable[..., dict[str, Any]], tmp_path: Path, library: Callable[..., Path]
) -> None:
    library(tmp_path / "librccl.so.1", "-DHANG")

    document = collect(loads=[f"{tmp_path}/librccl.so.1"], seconds=10, is_whole=False)

    assert document["errors"] == ["TimeLimit: the collector's time is over"]
    assert [each["soname"] for each in document["libraries"]] == ["librccl.so.1"]


def test_time_limit_is_not_taken_for_a_file_that_cannot_be_read(
    collect: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    (tmp_path / "records").mkdir()
    (tmp_path / "records/rccl.txt").write_text(f"commit: {'1' * 40}\n{'0' * 64}  {tmp_path}/endless\n")
    # No machine reads as much in a second.
    subprocess.run(["truncate", "--size=1T", f"{tmp_path}/endless"], check=True)

    document = collect(seconds=1, is_whole=False)

    (tmp_path / "endless").unlink()
    assert document["errors"] == ["TimeLimit: the collector's time is over"]


def test_files_whose_content_was_not_compared_are_noted() -> None:
    package = {"name": "k", "version": "1", "unchecked": ["/a.so", "/b.so"]}
    wheel = {"path": "/s/torch-2.12.0.dist-info", "name": "torch", "version": "2.12.0", "unchecked": ["/c.so"]}
    pins = loads(PINS)

    report = verify(pins.targets["a/b"], pins, read(whole(packages=[package], distributions=[wheel])))

    assert report.notes == (
        "k: of /a.so and 1 more the content was not compared",
        "torch: of /c.so the content was not compared",
    )
