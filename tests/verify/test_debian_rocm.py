"""The small image on Debian's real HIP and RCCL: proven as it is, and caught when it is made to lie."""

from collections.abc import Callable
from typing import Protocol

import pytest

from copying import Copy
from imagepins.pins.load import load
from imagepins.verify.findings import Check, Rank, Report, Status
from imagepins.verify.keeper import Keeper
from imagepins.verify.run import Options, verify_target

pytestmark = pytest.mark.engine

STAGES = {
    "debian-second-librccl": "COPY rccl-old.so /usr/local/lib/librccl.so.1\nRUN ldconfig",
    "debian-claims": "LABEL com.example.rccl.version=2.30.7\nENV NCCL_VERSION=2.15.5\n"
    "RUN mkdir /app && echo 'rccl version: 2.27.7' >/app/versions.txt",
    "debian-removed": "RUN rm /usr/lib/x86_64-linux-gnu/librccl.so.1.0",
    "debian-without-python": "RUN rm /usr/bin/python3*",
    "debian-banner": 'RUN printf "#!/bin/sh\\necho BANNER\\n" >/entry && chmod +x /entry\nENTRYPOINT ["/entry"]',
}


class Lab(Protocol):
    """The fixture that builds images."""

    def ref(self, name: str) -> str:
        """The reference of an image."""

    def build(self, stages: dict[str, str]) -> None:
        """Build every stage."""


@pytest.fixture(scope="module")
def verify(lab: Lab, debian_rocm: Copy) -> Callable[[str | None], Report]:
    """Verify debian_rocm itself (None), or one of the images made from it."""
    pins = load(debian_rocm.pins)
    target = pins.targets["debian_rocm/trixie"]
    lab.build({name: f"FROM {target.tags[0]} AS SELF\n{lines}" for name, lines in STAGES.items()})

    def call(name: str | None) -> Report:
        with Keeper() as keeper:
            return verify_target(pins, target, Options(ref=lab.ref(name) if name else None), keeper)

    return call


def named(report: Report, name: str) -> Check:
    """The check of that name."""
    return next(check for check in report.checks if check.name == name)


def test_versions_are_those_the_mapped_libraries_answer(verify: Callable[[str | None], Report]) -> None:
    report = verify(None)

    hip, rccl = named(report, "hip-debian version"), named(report, "rccl-debian version")
    assert (hip.found, hip.rank, hip.status) == ("5.7.31921", Rank.MAPPED, Status.PASSED)
    assert (rccl.found, rccl.rank, rccl.status) == ("2.13.4", Rank.MAPPED, Status.PASSED)
    assert hip.file == "/usr/lib/x86_64-linux-gnu/libamdhip64.so.5.7.31921"
    assert report.is_good()


def test_second_librccl_earlier_in_the_search_path_is_what_processes_load(
    verify: Callable[[str | None], Report],
) -> None:
    report = verify("debian-second-librccl")

    version = named(report, "rccl-debian version")
    assert (version.status, version.found, version.file) == (Status.FAILED, "2.27.7", "/usr/local/lib/librccl.so.1")
    assert named(report, "rccl-debian owner").status is Status.FAILED
    assert named(report, "rccl-debian copies of librccl.so").status is Status.FAILED
    assert named(report, "rccl-debian package").status is Status.PASSED


def test_label_env_and_version_file_that_claim_another_version_are_findings(
    verify: Callable[[str | None], Report],
) -> None:
    report = verify("debian-claims")

    found = {check.found for check in report.checks if check.status is Status.FINDING and "base" not in check.name}
    assert found == {"2.30.7", "2.15.5", "2.27.7"}
    assert report.is_good()
    assert not report.is_good(strict=True)


def test_removed_library_is_told_as_removed(verify: Callable[[str | None], Report]) -> None:
    check = named(verify("debian-removed"), "rccl-debian library")

    assert (check.status, check.found) == (Status.FAILED, "none")
    assert "dangling link" in check.cause


def test_missing_python_is_a_clear_result(verify: Callable[[str | None], Report]) -> None:
    report = verify("debian-without-python")

    assert (report.outcome, report.checks) == ("no-python", ())


def test_entrypoint_with_a_banner_is_left_out(verify: Callable[[str | None], Report]) -> None:
    assert verify("debian-banner").is_good()
