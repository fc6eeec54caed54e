"""A document must hold all that a verification asks for, so that nothing passes because nobody looked."""

from collections.abc import Iterator

from imagepins.pins.model import Target
from imagepins.verify.findings import Check, Status
from imagepins.verify.observed import SECTIONS, Observed
from imagepins.verify.request import make_request, unasked

AGAIN = "saved before pins.yaml asked for it; collect it again (verify --save)"


def check_complete(target: Target, observed: Observed) -> Iterator[Check]:
    """What stopped the collector, what it left out, and what it was not asked for."""
    for error in observed.errors:
        yield _check(Status.FAILED, error, "the time was up, or a fault of the collector")
    for part in observed.left_out:
        cause = "an image has no use for so many; what is left out was not looked at"
        yield _check(Status.FAILED, f"{part} left out", cause)
    if observed.request is None:
        yield _check(Status.UNPROVEN, "no word of what was asked for", "not saved by this tool; collect it again")
        return
    missing = unasked(make_request(target), observed.request)
    if missing:
        yield _check(Status.FAILED, f"not asked for: {', '.join(missing)}", AGAIN)
    lost = [section for section in SECTIONS if section not in observed.document]
    if lost and not observed.errors:
        yield _check(Status.FAILED, f"no {', '.join(lost)}", "the document was cut")


def _check(status: Status, found: str, cause: str) -> Check:
    return Check(name="collector", subject="collector", status=status, expected="complete", found=found, cause=cause)
