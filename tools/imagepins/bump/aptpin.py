"""An apt pin and an upstream version → the Move to it, once a Packages index of the suite says that it is there."""

from imagepins.bump.aptindex import look_up, versions_here
from imagepins.bump.move import Change, Move, Options, Side, known_id
from imagepins.bump.order import check_order, debian_key
from imagepins.errors import NetworkError, RefError
from imagepins.pins.model import AptPin


def propose_apt(pin: AptPin, ref: str | None, options: Options) -> Move:
    """The move of one apt pin; without ``ref`` to the newest version of its suite. Raises RefError, NetworkError."""
    typed = None if ref is None else ref.strip()
    old = Side(known_id(pin))
    if options.offline and typed is None:
        raise NetworkError("the newest version cannot be looked up offline; name one")
    known = sorted(versions_here(pin.apt, pin.suite), key=debian_key, reverse=True)
    unchecked: tuple[str, ...] = ()
    if _chosen(typed, known) is None:
        known, unchecked = _looked_up(pin, typed, known, options)
    upstream = _chosen(typed, known) or str(typed)
    changes = (Change("version", upstream),) if upstream != pin.version else ()
    notes = (*check_order(pin, old.id, upstream, options), *(f"{pin.suite} holds {each}" for each in known[:1]))
    return Move(
        pin=pin.name, kind=pin.kind, old=old, new=Side(upstream), changes=changes, notes=notes, unchecked=unchecked
    )


def _looked_up(pin: AptPin, typed: str | None, here: list[str], options: Options) -> tuple[list[str], tuple[str, ...]]:
    """All versions, newest first, of which one is ``typed``, and what could not be checked.

    Raises RefError where there is none, NetworkError where it may stand in an index that could not be read.
    """
    if options.offline:
        return here, (f"that version {typed} exists in {pin.suite} (offline)",)
    there = look_up(pin.apt, pin.suite, options.mirrors)
    known = sorted({*here, *there.versions}, key=debian_key, reverse=True)
    if _chosen(typed, known) is not None:
        return known, tuple(f"what an index that cannot be read holds ({reason})" for reason in there.unread)
    if not here and not there.is_read:
        hint = "add the suite to its apt sources, or say --offline to take the version unchecked"
        said = f"no package index of suite {pin.suite} can be read from this machine; {hint}"
        raise NetworkError("\n  ".join((said, *there.unread)))
    said = f"{pin.suite} has no {pin.apt}" + (f" {typed}, but {', '.join(known[:5])}" if known else "")
    if there.unread:
        raise NetworkError("\n  ".join((f"{said}, as far as its indexes can be read", *there.unread)))
    raise RefError(said)


def _chosen(typed: str | None, known: list[str]) -> str | None:
    """The upstream version that is meant by ``typed``, or the newest, or None where that is not ``known``."""
    if typed is None:
        return _upstream(known[0]) if known else None
    for full in known:
        if typed in (full, _upstream(full)) or full.startswith(f"{typed}-"):
            return _upstream(full) if typed == full else typed
    return None


def _upstream(full: str) -> str:
    return full.rpartition("-")[0] or full
