"""How claims decide: by rank, by what is known, and against what only states."""

from typing import Any

import pytest

from imagepins.pins.load import loads
from imagepins.verify.checks.environment import env_pattern, search_path_faults
from imagepins.verify.checks.image import same_platform
from imagepins.verify.checks.libraries import leads_to
from imagepins.verify.checks.packages import apt_matches
from imagepins.verify.findings import Aspect, Check, Claim, Rank, Status
from imagepins.verify.judge import commits_match, judge, versions_match

COMMIT = "1c0ab425abda9d1fd80fa977c253556b14eb140b"
PINS = f"""\
schema: 1
pins:
  rccl:
    git: https://upstream.example/rocm-systems.git
    commit: "{COMMIT}"
    track: {{branch: develop}}
    version: "2.32.3"
    version_from: version.mk
    component: rccl
  picked:
    git: https://upstream.example/rocm-systems.git
    commit: "{COMMIT}"
    track: {{branch: develop}}
    picks: [{{commit: "{"a" * 40}", reason: a fix}}]
images: {{a: {{template: t, pins: [rccl], variants: {{b: {{}}}}}}}}
"""


def claim(value: str, rank: Rank, aspect: Aspect = Aspect.COMMIT, **more: Any) -> Claim:
    """A claim of that rank."""
    return Claim(aspect=aspect, value=value, rank=rank, file="/f", how="probe", **more)


def judged(*claims: Claim, pin: str = "rccl") -> list[Check]:
    """Checks of the pin's commit."""
    pins = loads(PINS)
    return [check for check in judge(pins.pins[pin], pins, list(claims)) if "commit" in check.name]


def statuses(*claims: Claim, pin: str = "rccl") -> list[Status]:
    """How these checks ended."""
    return [check.status for check in judged(*claims, pin=pin)]


def test_best_rank_decides_and_worse_disagreement_is_a_finding() -> None:
    assert statuses(claim("1c0ab42", Rank.MAPPED), claim("7da4302", Rank.FILE), claim("7da4302", Rank.STATED)) == [
        Status.PASSED,
        Status.FINDING,
        Status.FINDING,
    ]


def test_worse_agreement_does_not_mend_what_is_mapped() -> None:
    assert statuses(claim("7da4302", Rank.MAPPED), claim("1c0ab42", Rank.FILE)) == [Status.FAILED]


def test_disagreement_within_the_best_rank_fails() -> None:
    assert statuses(claim("1c0ab42", Rank.MAPPED), claim("7da4302", Rank.MAPPED)) == [Status.FAILED]


def test_statement_alone_proves_nothing() -> None:
    (check,) = judged(claim(COMMIT, Rank.STATED))

    assert (check.status, check.found) == (Status.UNPROVEN, COMMIT)


def test_nothing_known_is_unproven() -> None:
    assert statuses() == [Status.UNPROVEN]


def test_denial_of_the_mapped_file_beats_a_file_name() -> None:
    zeros = claim("", Rank.MAPPED, note="all zeros", denies=True)

    assert statuses(zeros, claim("1c0ab42", Rank.FILE)) == [Status.FAILED]


def test_proof_for_the_very_bytes_beats_a_denial() -> None:
    unknown = claim("", Rank.MAPPED, note="no history", denies=True)

    assert statuses(unknown, claim(COMMIT, Rank.FILE, is_proof=True)) == [Status.PASSED]


def test_changed_files_fail_unless_the_pin_has_picks() -> None:
    assert statuses(claim("1c0ab42", Rank.MAPPED, is_dirty=True)) == [Status.FAILED]
    assert statuses(claim("1c0ab42", Rank.MAPPED, is_dirty=True), pin="picked") == [Status.PASSED]


@pytest.mark.parametrize(
    ("is_proof", "status"), [(True, Status.FAILED), (False, Status.FINDING)], ids=["of the bytes", "beside them"]
)
def test_changed_files_that_worse_evidence_tells_of_are_not_lost(is_proof: bool, status: Status) -> None:
    mapped, record = claim("1c0ab42", Rank.MAPPED), claim(COMMIT, Rank.FILE, is_dirty=True, is_proof=is_proof)

    assert statuses(mapped, record) == [Status.PASSED, status]
    assert statuses(mapped, record, pin="picked") == [Status.PASSED]


def test_check_stands_at_the_line_of_the_value() -> None:
    (check,) = judged(claim("7da4302", Rank.MAPPED))

    assert (check.place, check.expected, check.found, check.file) == ("pins.yaml:5", COMMIT, "7da4302", "/f")


@pytest.mark.parametrize(
    ("found", "is_same"),
    [
        (COMMIT, True),
        ("1c0ab42", True),
        ("1C0AB425", True),
        ("1c0ab4", False),
        ("", False),
        ("1c0ab43", False),
        (COMMIT + "00", True),
    ],
)
def test_commits_are_compared_by_prefix_of_at_least_seven(found: str, is_same: bool) -> None:
    assert commits_match(COMMIT, found) is is_same


@pytest.mark.parametrize(
    ("expected", "found", "is_same"),
    [
        ("7.16", "7.16.26361", True),
        ("7.1", "7.16.26361", False),
        ("2.13.4", "2.13.4", True),
        ("2.13.4", "2.13.40", False),
        ("2.12.0", "2.12.0+rocm10.0.0", True),
        ("3.8.0+git669b31ac", "3.8.0+git669b31ac.rocm10.0.0", True),
        ("3.8.0+git669b31ac", "3.8.0+git00000000", False),
        ("3.8.0+git669b31ac", "3.8.0", False),
        ("1.2.3.post1", "1.2.3", False),
    ],
)
def test_versions_are_compared_as_values(expected: str, found: str, is_same: bool) -> None:
    assert versions_match(expected, found) is is_same


@pytest.mark.parametrize(
    ("expected", "found", "is_same"),
    [
        ("5.4.3", "5.4.3-3+b1", True),
        ("5.4", "5.4.3-3+b1", False),
        ("5.4.3-3+b1", "5.4.3-3+b1", True),
        ("5.4.3-3", "5.4.3-3+b1", False),
        ("13.4.0", "4:13.4.0-1", True),
        ("1.2-3", "1.2-3-4", True),
        ("20260101", "20260101", True),
    ],
)
def test_apt_version_is_the_upstream_part_or_the_whole(expected: str, found: str, is_same: bool) -> None:
    assert apt_matches(expected, found) is is_same


@pytest.mark.parametrize(
    ("value", "faults"),
    [
        ("/a:/b", []),
        ("/a:", ["an empty element"]),
        ("", ["an empty element"]),
        ("lib:/a", ["relative element lib"]),
        ("/a:/b:/a/", ["/a/ twice"]),
    ],
)
def test_search_path_faults_are_named(value: str, faults: list[str]) -> None:
    assert list(search_path_faults(value)) == faults


@pytest.mark.parametrize(
    ("value", "found", "is_same"),
    [
        ("64", "64", True),
        ("64", "640", False),
        ("/a:${OLD}", "/a:/b", True),
        ("$X.so", "y.so", True),
        ("a.c", "abc", False),
    ],
)
def test_env_value_with_references_matches_what_they_became(value: str, found: str, is_same: bool) -> None:
    assert (env_pattern(value).fullmatch(found) is not None) is is_same


def test_platform_is_compared_as_far_as_it_is_told() -> None:
    assert same_platform("linux/arm64", "linux/arm64/v8")
    assert not same_platform("linux/amd64", "linux/arm64")


def test_search_path_with_origin_leads_to_its_folder() -> None:
    assert leads_to("$ORIGIN/../lib:/x", "/opt/torch/lib/libtorch.so", "/opt/torch/lib")
    assert not leads_to("$ORIGIN", "/opt/torch/lib/libtorch.so", "/opt/rocm/lib")
