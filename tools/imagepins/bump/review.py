"""A pin's ``review_by`` and today → how long it is overdue."""

import datetime

from imagepins.errors import PinsError
from imagepins.pins.model import Pin

GRACE_DAYS = 14
"""Days from ``review_by`` during which a pin is warned about; then it fails."""


def days_overdue(pin: Pin, today: datetime.date) -> int | None:
    """Days since ``review_by``, or None where there is none or it is still to come. Raises PinsError for no date."""
    if pin.review_by is None:
        return None
    try:
        days = (today - datetime.date.fromisoformat(pin.review_by)).days
    except ValueError:
        raise PinsError(f"pin '{pin.name}': review_by {pin.review_by} is not in the calendar") from None
    return days if days > 0 else None
