"""Pins and an observed document → a report. Pure; ``container`` collects, ``stored`` knows the pins in labels."""

import time
from collections.abc import Iterable
from dataclasses import replace

from imagepins.pins.model import PinSet, Target
from imagepins.verify.checks.image import check_gpu, check_image
from imagepins.verify.checks.pins import check_pin
from imagepins.verify.findings import Check, Report, Status
from imagepins.verify.observed import Observed


def verify(
    target: Target, pins: PinSet, observed: Observed, *, is_gpu_asked: bool = False, is_gpu_required: bool = False
) -> Report:
    """Judge what an image showed against the pins of its target."""
    begin = time.monotonic()
    checks: list[Check] = []
    for pin in {pin.name: pin for pin in target.all_pins.values()}.values():
        checks += check_pin(pin, target, pins, observed)
    checks += check_image(target, pins, observed)
    checks.append(check_gpu(target, observed, is_asked=is_gpu_asked, is_required=is_gpu_required))
    return Report(
        target=target.name,
        ref=observed.image.ref,
        image_id=observed.image.id,
        checks=tuple(_unique(checks)),
        notes=tuple(_notes(observed)),
        seconds=time.monotonic() - begin,
    )


def _unique(checks: Iterable[Check]) -> Iterable[Check]:
    """Give checks of one name numbers, so that every report can name each by itself."""
    seen: dict[str, int] = {}
    for check in checks:
        seen[check.name] = seen.get(check.name, 0) + 1
        count = seen[check.name]
        yield check if count == 1 else replace(check, name=f"{check.name} #{count}")


def _notes(observed: Observed) -> Iterable[str]:
    unreadable = observed.document.get("unreadable") or ()
    if unreadable:
        user = observed.document.get("user")
        yield f"{len(unreadable)} folders could not be read by user {user} of the image, for example {unreadable[0]}"
    if observed.document.get("is_cut"):
        yield "the image has so many files of the looked-for kinds that some were left out"


def failures(report: Report) -> tuple[Check, ...]:
    """The checks that failed."""
    return tuple(check for check in report.checks if check.status is Status.FAILED)
