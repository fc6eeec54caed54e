"""A url pin and an address → the Move of address and checksum together."""

import re

from imagepins.bump.download import checksum
from imagepins.bump.move import Change, Move, Options, Side, known_id
from imagepins.errors import NetworkError, RefError
from imagepins.gitrepo.url import mirrored
from imagepins.pins.model import UrlPin
from imagepins.pins.scalars import URL


def propose_url(pin: UrlPin, ref: str | None, options: Options) -> Move:
    """The move of one url pin; without ``ref`` the same address is read again. Raises RefError, NetworkError."""
    url = str(pin.url) if ref is None else ref.strip()
    if not re.fullmatch(URL.pattern, url):
        raise RefError(f"{url}: is not an address for pin '{pin.name}'; give {URL.expected}")
    if url.startswith("file:") and url != pin.url:
        raise RefError(f"{url}: no build can fetch a file of this machine; give an https:// address")
    if options.offline:
        raise NetworkError(f"{url} cannot be read offline")
    found = checksum(mirrored(url, options.mirrors))
    pinned = known_id(pin)
    is_changed = pinned is not None and found.sha256 != pinned
    if is_changed and url == pin.url and not options.force:
        raise RefError(
            f"{url} now holds another file (sha256 {found.sha256}, pinned {pinned}); "
            "find out why, then say --force to take it"
        )
    changes = [Change("url", url)] if url != pin.url else []
    if found.sha256 != pinned:
        changes.append(Change("sha256", found.sha256, after="url"))
    notes = (f"{found.size} bytes from {found.source}",)
    old, new = Side(pinned, subject=pin.url), Side(found.sha256, subject=url)
    return Move(pin=pin.name, kind=pin.kind, old=old, new=new, changes=tuple(changes), notes=notes)
