"""A pin and an answer → a check that stands at the pin's place in pins.yaml."""

from imagepins.pins.model import Pin, PinSet
from imagepins.verify.findings import Check, Rank, Status


def pin_check(
    pin: Pin,
    pins: PinSet,
    name: str,
    status: Status,
    *,
    expected: str,
    found: str,
    rank: Rank | None = None,
    file: str = "",
    how: str = "",
    cause: str = "",
) -> Check:
    """A check of one pin, named ``PIN NAME``."""
    return Check(
        name=f"{pin.name} {name}",
        subject=pin.name,
        status=status,
        expected=expected,
        found=found,
        rank=rank,
        file=file,
        how=how,
        place=pins.place(pin.id or pin.name),
        cause=cause,
    )
