"""Checks of single pins and of the image, on documents made by hand."""

from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest

from imagepins.pins.load import loads
from imagepins.verify.checks.architectures import serves
from imagepins.verify.findings import Check, Rank, Report, Status
from imagepins.verify.observed import read
from imagepins.verify.reports import as_json, as_junit, as_markdown, explain, headline, plain_table
from imagepins.verify.verify import verify

SUM = sha256(b"tool").hexdigest()
PINS = f"""\
schema: 1
pins:
  debian: {{image: debian, tag: trixie-slim, allow_tag: no registry}}
  other: {{image: tools, tag: "1", allow_tag: no registry}}
  tool: {{url: "https://upstream.example/tool", sha256: "{SUM}"}}
  later: {{git: "https://upstream.example/later.git", track: {{branch: main}}}}
  torch: {{pypi: torch, version: "2.12.0"}}
images:
  a:
    template: t
    pins: [debian, other, tool, later, torch]
    platform: linux/amd64
    archs: [gfx942, gfx950]
    variants: {{b: {{}}}}
"""


def checks(**document: Any) -> dict[str, Check]:
    """Checks of the image ``a`` by name."""
    pins = loads(PINS)
    seen = read({"format": "imagepins-observed", "version": 1, **document})
    return {check.name: check for check in verify(pins.targets["a/b"], pins, seen).checks}


def image(*layers: str, platform: str = "linux/amd64") -> dict[str, Any]:
    """What an engine that has both bases says of an image."""
    bases = {
        "debian:trixie-slim": {"layers": ["d"], "origin": "debootstrap"},
        "tools:1": {"layers": ["t"], "origin": "registry"},
    }
    return {"layers": list(layers), "bases": bases, "platform": platform}


def test_base_is_told_by_its_layers_and_by_how_it_came_to_be() -> None:
    found = checks(image=image("d", "x"))

    assert (found["debian base"].status, found["debian base"].found) == (Status.PASSED, "its 1 layers (debootstrap)")
    assert found["other base"].status is Status.UNPROVEN


def test_tag_that_moved_since_the_build_is_a_finding() -> None:
    assert checks(image=image("x", "d"))["debian base"].status is Status.FINDING


def test_other_layers_than_those_of_a_pinned_digest_fail() -> None:
    digest = f"sha256:{'0' * 64}"
    pins = loads(PINS.replace("allow_tag: no registry", f"digest: '{digest}'"))
    bases = {f"debian:trixie-slim@{digest}": {"layers": ["d"], "origin": "registry"}}
    seen = read({"format": "imagepins-observed", "version": 1, "image": {"layers": ["x"], "bases": bases}})

    found = {check.name: check for check in verify(pins.targets["a/b"], pins, seen).checks}

    assert found["debian base"].status is Status.FAILED


def test_base_that_is_not_here_is_unproven() -> None:
    assert checks(image={"layers": ["d"]})["debian base"].status is Status.UNPROVEN


@pytest.mark.parametrize(("digest", "status"), [(SUM, Status.PASSED), (sha256(b"other").hexdigest(), Status.UNPROVEN)])
def test_downloaded_program_is_told_by_its_checksum(digest: str, status: Status) -> None:
    found = checks(programs=[{"name": "tool", "path": "/usr/bin/tool", "sha256": digest}])

    assert found["tool file"].status is status


def test_pin_without_an_id_is_unproven_with_the_next_step() -> None:
    check = checks()["later pin"]

    assert (check.status, check.cause) == (Status.UNPROVEN, "nobody knows its id yet; run tools/bump_pin later")


def test_image_of_another_platform_fails() -> None:
    assert checks(image=image("d", platform="linux/arm64/v8"))["platform"].status is Status.FAILED


@pytest.mark.parametrize(
    ("archs", "hidden", "status"),
    [
        (["gfx942", "gfx950", "gfx1100"], [], None),
        (["gfx942"], [], Status.FINDING),
        (["gfx906"], [], Status.FAILED),
        ([], ["compressed"], Status.UNPROVEN),
        ([], ["kpack"], Status.UNPROVEN),
        ([], ["split"], Status.FAILED),
        (["gfx942"], ["split"], Status.FINDING),
    ],
)
def test_other_objects_may_lack_some_architectures_but_not_all(
    archs: list[str], hidden: list[str], status: Status | None
) -> None:
    found = checks(objects=[{"path": "/x/_C.so", "archs": archs, "hidden": hidden}])

    check = found.get("architectures of _C.so")
    assert (check.status if check else None) is status


def test_wheel_and_its_own_version_file_may_not_disagree() -> None:
    site = "/usr/lib/python3/dist-packages"
    found = checks(
        distributions=[{"path": f"{site}/torch-2.12.0.dist-info", "name": "torch", "version": "2.12.0"}],
        texts={f"{site}/torch/version.py": "__version__ = '2.11.0'\n"},
    )

    assert found["torch package"].status is Status.PASSED
    assert (found["torch version"].status, found["torch version"].rank) == (Status.FAILED, Rank.FILE)


def test_collector_that_did_not_end_fails_the_image() -> None:
    assert checks(errors=["TimeoutError: the collector's time limit"])["collector"].status is Status.FAILED


def test_failure_names_image_pin_values_evidence_place_and_cause() -> None:
    check = Check(
        name="rccl version",
        subject="rccl",
        status=Status.FAILED,
        expected="2.32.3",
        found="2.27.7",
        rank=Rank.MAPPED,
        file="/opt/librccl.so.1",
        how="ncclGetVersion",
        place="pins.yaml:18",
        cause="an older copy",
    )
    report = Report(target="a/b", ref="a:b", checks=(check,))

    assert explain(report, check) == (
        "FAILED: a/b: rccl version: expected 2.32.3, found 2.27.7\n"
        "  evidence: mapped by a process\n"
        "  seen in: /opt/librccl.so.1\n"
        "  by: ncclGetVersion\n"
        "  pinned at: pins.yaml:18\n"
        "  likely cause: an older copy"
    )


def test_reports_hold_what_hostile_images_put_into_names() -> None:
    import json
    import xml.etree.ElementTree as ET

    nasty = "a\x00\x1b[31m]]><b> | `x`\n\ud800"
    check = Check(name=nasty, subject="s", status=Status.FAILED, expected=nasty, found=nasty, cause=nasty)
    report = Report(target="a/b", ref=nasty, checks=(check,), notes=(nasty,))

    root = ET.fromstring(as_junit([report], strict=False).encode())  # noqa: S314 - our own output
    assert [suite.get("failures") for suite in root] == ["1"]
    assert json.loads(as_json([report], strict=False))["images"][0]["checks"][0]["name"] == nasty
    assert "\x1b" not in plain_table(report) + explain(report, check) + headline(replace(report, outcome="exited"))
    (explain(report, check) + plain_table(report)).encode()
    rows = [line for line in as_markdown([report]).splitlines() if line.startswith("|")]
    assert len(rows) == 3
    assert all(row.replace("\\|", "").count("|") == 7 for row in rows)


@pytest.mark.parametrize(
    ("found", "promised", "does"),
    [
        ("gfx90a", "gfx90a:xnack-", True),
        ("gfx90a:xnack-", "gfx90a", True),
        ("gfx90a:xnack-", "gfx90a:sramecc+:xnack-", True),
        ("gfx90a:xnack-", "gfx90a:xnack+", False),
        ("gfx9-4-generic", "gfx9", False),
        ("gfx9-4-generic", "gfx942", True),
        ("gfx9-4-generic:xnack-", "gfx950:xnack+", False),
        ("gfx11-generic", "gfx942", False),
    ],
)
def test_code_serves_the_architectures_and_features_it_was_compiled_for(found: str, promised: str, does: bool) -> None:
    assert serves(found, promised) is does
