"""The label by which an image carries its pins: readable, whole, and as the build wrote it."""

import json
from collections.abc import Iterator
from hashlib import sha256

from imagepins.pins.model import PinSet, Target
from imagepins.verify.claims import PINS_LABEL
from imagepins.verify.findings import Check, Rank, Status
from imagepins.verify.observed import Observed
from imagepins.verify.stored import Document, label_fault, stored_pins

HASH_LABEL = "org.imagepins.pins-hash"


def check_label(target: Target, pins: PinSet, observed: Observed, *, is_judge: bool) -> Iterator[Check]:
    """What is wrong with the label. ``is_judge``: the image is judged by it, so what it leaves out goes unchecked."""
    labels = observed.image.labels
    if PINS_LABEL not in labels:
        return
    fault = label_fault(labels)
    if fault:
        yield _label_check("pins label", Status.FINDING, "the pins of the image", fault, "something rewrote it")
        return
    stored = stored_pins(labels) or {}
    written = labels.get(HASH_LABEL)
    if written is not None and written != _hash(stored):
        status = Status.FAILED if is_judge else Status.FINDING
        cause = "the label was rewritten after the build, or the hash was"
        yield _label_check("pins label", status, written, _hash(stored), cause, how=HASH_LABEL)
    for pin in target.all_pins.values() if is_judge else ():
        if pin.name not in stored:
            cause = "the image was built without this pin, so nothing was checked of it"
            name, place = f"{pin.name} pins label", pins.place(pin.id or pin.name)
            yield _label_check(name, Status.FINDING, f"a pin {pin.name}", "none", cause, place=place, subject=pin.name)


def _hash(stored: Document) -> str:
    """The hash of all pins as the build writes it beside them."""
    return sha256(json.dumps(stored, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


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
        file=PINS_LABEL,
        how=how,
        place=place,
        cause=cause,
    )
