"""What a process in the image loads is what is pinned: the same checks as ``tools/image verify``, one test per pin."""

import pytest

from imagepins.verify.findings import Check, Report, Status
from imagepins.verify.reports import explain

pytestmark = pytest.mark.engine


def told(report: Report, checks: list[Check]) -> str:
    """Everything that a report says of these checks."""
    return "\n".join([report.message, *(explain(report, check) for check in checks)])


def test_pin_is_what_the_image_holds(subject: Report, pin_name: str) -> None:
    mine = [check for check in subject.checks if check.subject == pin_name]

    assert subject.outcome == "checked", subject.message
    assert mine, f"no check speaks of {pin_name}"
    bad = [check for check in mine if check.status in (Status.FAILED, Status.OTHER_PINS)]
    assert not bad, told(subject, bad)


def test_image_as_a_whole_is_what_its_pins_promise(subject: Report) -> None:
    bad = [check for check in subject.checks if check.status in (Status.FAILED, Status.OTHER_PINS)]

    assert subject.outcome == "checked", subject.message
    assert not bad, told(subject, bad)
