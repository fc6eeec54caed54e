"""Pins and an observed document → a report. Pure; ``container`` collects."""

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from imagepins.labels import PINS
from imagepins.pins.model import PinSet, Target
from imagepins.verify.checks.image import check_gpu, check_image
from imagepins.verify.checks.label import check_label
from imagepins.verify.checks.pins import check_pin
from imagepins.verify.findings import Check, Rank, Report, Status
from imagepins.verify.observed import Observed
from imagepins.verify.stored import differences, with_stored

OTHER_PINS = (
    "the image holds what it was built from, and the pin has moved since; build it again, or use --against image"
)


def verify(
    target: Target,
    pins: PinSet,
    observed: Observed,
    *,
    against_image: bool = False,
    is_gpu_asked: bool = False,
    is_gpu_required: bool = False,
) -> Report:
    """Judge what an image showed by the pins of its target, or (``against_image``) by those it carries itself.

    Raises UsageError where it is to be judged by its own pins and carries none.
    """
    begin = time.monotonic()
    name = target.name
    label = list(check_label(target, pins, observed, is_judge=against_image))
    if against_image:
        target, pins = with_stored(target, pins, observed.image.labels)
    moved = {} if against_image else differences(target, pins, observed.image.labels)
    checks = _check(target, pins, observed)
    if moved:
        before = _check(*with_stored(target, pins, observed.image.labels), observed)
        checks = list(_built_from_others(checks, before, moved))
    checks += label
    checks.append(check_gpu(target, observed, is_asked=is_gpu_asked, is_required=is_gpu_required))
    return Report(
        target=name,
        ref=observed.image.ref,
        image_id=observed.image.id,
        checks=tuple(_unique(checks)),
        notes=tuple(_notes(observed)),
        seconds=time.monotonic() - begin,
        differences=tuple(moved.values()),
    )


def _check(target: Target, pins: PinSet, observed: Observed) -> list[Check]:
    mine = {pin.name: pin for pin in target.all_pins.values()}.values()
    checks = [check for pin in mine for check in check_pin(pin, target, pins, observed)]
    return [*checks, *check_image(target, pins, observed)]


def _built_from_others(checks: list[Check], before: list[Check], moved: Mapping[str, str]) -> Iterator[Check]:
    """Failures that judging by the image's own pins does not give are one result of their own, not mismatches."""
    wrong_before = {check.name for check in before if check.status is Status.FAILED}
    explained = set()
    for check in checks:
        if check.status is Status.FAILED:
            explained.add(check.subject)
        is_other = check.status is Status.FAILED and check.name not in wrong_before
        yield replace(check, status=Status.OTHER_PINS, cause=OTHER_PINS) if is_other else check
    for name in moved.keys() - explained:
        yield Check(
            name=f"{name} pins label",
            subject=name,
            status=Status.FINDING,
            expected="the pin of pins.yaml",
            found=moved[name],
            rank=Rank.STATED,
            file=PINS,
            how="label",
            cause="the label names another pin, and nothing better disagrees with pins.yaml",
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
    unchecked = [(each.name, each.unchecked) for each in observed.packages if each.unchecked]
    unchecked += [(each.name, each.unchecked) for each in observed.distributions if each.unchecked]
    for name, files in unchecked:
        others = f" and {len(files) - 1} more" if len(files) > 1 else ""
        yield f"{name}: of {files[0]}{others} the content was not compared"
