"""Two versions of a pin → which is older, by the rules of its kind; going back needs leave.

Git pins are ordered by their history alone (``gitpin``); tags of images and addresses have no order.
"""

import re

from imagepins import versions
from imagepins.bump.move import Options
from imagepins.errors import RefError
from imagepins.pins.model import AptPin, Pin

Parts = list[tuple[tuple[int, ...], int]]
DebianKey = tuple[int, Parts, Parts]


def check_order(pin: Pin, old: str | None, new: str, options: Options, why: str = "") -> tuple[str, ...]:
    """Notes on a step back, which needs ``allow_downgrade``; ``why`` is told with it. Raises RefError."""
    if old is None or not is_older(pin, new, old):
        return ()
    said = f"{new} is OLDER than {old}, which {pin.name} is at" + (f" ({why})" if why else "")
    if not options.allow_downgrade:
        raise RefError(f"{said}; say --allow-downgrade if that is meant")
    return (said,)


def is_older(pin: Pin, one: str, other: str) -> bool:
    """Whether version ``one`` comes before ``other``: by dpkg's order for apt pins, else PEP 440's.

    Texts that are no versions have no order.
    """
    if isinstance(pin, AptPin):
        return debian_key(one) < debian_key(other)
    first, second = versions.parse(one), versions.parse(other)
    return first is not None and second is not None and first < second


def debian_key(version: str) -> DebianKey:
    """A key that sorts as dpkg does (deb-version(7)): the epoch, the upstream version, the Debian revision."""
    epoch, colon, rest = version.partition(":")
    if not (colon and epoch.isdigit()):
        epoch, rest = "0", version
    upstream, _, revision = rest.rpartition("-") if "-" in rest else (rest, "", "")
    return int(epoch), _parts(upstream), _parts(revision)


def _parts(text: str) -> Parts:
    """Words and numbers in turn. What is not there, a number or the whole revision, counts as 0."""
    found = re.findall(r"([^0-9]*)([0-9]*)", text or "0")
    return [((*map(_weight, word), 0), int(digits or 0)) for word, digits in found]


def _weight(character: str) -> int:
    """``~`` comes before the end, which is 0; letters come before all else."""
    if character == "~":
        return -1
    return ord(character) if character.isalpha() else ord(character) + 256
