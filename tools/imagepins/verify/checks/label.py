"""The label by which an image carries its pins: readable, whole, and as the build wrote it."""

from collections.abc import Iterator

from imagepins.labels import PINS, PINS_HASH, label_fault, pins_hash, stored_pins
from imagepins.pins.model import PinSet, Target
from imagepins.verify.findings import Check, Rank, Status
from imagepins.verify.observed import Observed


def check_label(target: Target, pins: PinSet, observed: Observed, *, is_judge: bool) -> Iterator[Check]:
    """What is wrong with the label. ``is_judge``: the image is judged by it, so what it leaves out goes unchecked."""
    labels = observed.image.labels
    if PINS not in labels:
        return
    fault = label_fault(labels)
    if fault:
        yield _label_check("pins label", Status.FINDING, "the pins of the image", fault, "something rewrote it")
        return
    stored = stored_pins(labels) or {}
    written = labels.get(PINS_HASH)
    now = pins_hash(stored)
    if written is not None and written != now:
        status = Status.FAILED if is_judge else Status.FINDING
        cause = "the label was rewritten after the build, or the hash was"
        yield _label_check("pins label", status, written, now, cause, how=PINS_HASH)
    for pin in target.all_pins.values() if is_judge else ():
        if pin.name not in stored:
            cause = "the image was built without this pin, so nothing was checked of it"
            name, place = f"{pin.name} pins label", pins.place(pin.id or pin.name)
            yield _label_check(name, Status.FINDING, f"a pin {pin.name}", "none", cause, place=place, subject=pin.name)


def _label_check(
    name: str,
    status: Status,
    expected: str,
    found: str,
    cause: str,
    *,
    how: str = "label",
    place: str = "",
    subject: str = "image",
) -> Check:
    return Check(
        name=name,
        subject=subject,
        status=status,
        expected=expected,
        found=found,
        rank=Rank.STATED,
        file=PINS,
        how=how,
        place=place,
        cause=cause,
    )
