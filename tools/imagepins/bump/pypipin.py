"""A pypi pin and a version → the Move to it, once an index says that it is there."""

import re
from collections.abc import Mapping

from packaging.version import InvalidVersion, Version

from imagepins.bump.move import Change, Move, Options, Side, known_id
from imagepins.bump.order import check_order
from imagepins.bump.pypiindex import Release, configured_indexes, releases
from imagepins.errors import NetworkError, RefError
from imagepins.pins.model import PypiPin


def propose_pypi(pin: PypiPin, ref: str | None, options: Options) -> Move:
    """The move of one pypi pin; without ``ref`` to the newest release. Raises RefError, NetworkError."""
    old = Side(known_id(pin))
    if options.offline:
        return _offline(pin, ref, old, options)
    known = releases(pin.pypi, [str(pin.index)] if pin.index else configured_indexes(), options.mirrors)
    typed = None if ref is None else _typed(ref, pin)
    chosen = _newest(known, pin) if typed is None else _exact(known, typed, pin)
    text = str(chosen.version) if typed is None else typed
    notes: tuple[str, ...] = (
        () if chosen.yanked is None else (f"version {text} was yanked: {chosen.yanked or 'no reason given'}",)
    )
    if ref is None:
        notes = _about_pinned(known, pin)
    notes = (*check_order(pin, old.id, text, options, "; ".join(notes)), *notes)
    changes = (Change("version", text),) if text != pin.version else ()
    return Move(pin=pin.name, kind=pin.kind, old=old, new=Side(text), changes=changes, notes=notes)


def _newest(known: Mapping[Version, Release], pin: PypiPin) -> Release:
    """The newest final release that was not yanked, with the same kind of local part (rocm10.0.0) as now."""
    flavour = re.match(r"[a-z]*", (pin.version.partition("+")[2] or ""))
    wanted = flavour[0] if flavour else ""
    fitting = [
        release
        for version, release in known.items()
        if release.yanked is None and not version.is_prerelease and (version.local or "").startswith(wanted)
    ]
    if not fitting:
        raise RefError(f"the index holds no final release of {pin.pypi}; name a version")
    return max(fitting, key=lambda release: release.version)


def _about_pinned(known: Mapping[Version, Release], pin: PypiPin) -> tuple[str, ...]:
    pinned = next((release for version, release in known.items() if version == _parsed(pin.version)), None)
    if pinned is None:
        return (f"the pinned version {pin.version} is not in the index",)
    if pinned.yanked is not None:
        return (f"the pinned version {pin.version} was yanked: {pinned.yanked or 'no reason given'}",)
    return ()


def _parsed(text: str) -> Version | None:
    try:
        return Version(text)
    except InvalidVersion:
        return None


def _typed(ref: str, pin: PypiPin) -> str:
    """The version as it was typed, without the v that tags have. Raises RefError for what is none."""
    typed = ref.strip()
    if _parsed(typed) is None:
        raise RefError(f"'{typed}' is not an exact version of {pin.pypi}")
    return re.sub(r"^[vV]", "", typed)


def _exact(known: Mapping[Version, Release], text: str, pin: PypiPin) -> Release:
    version = Version(text)
    if version not in known:
        latest = ", ".join(str(each) for each in sorted(known)[-5:]) or "nothing"
        raise RefError(f"there is no version {text} of {pin.pypi}; the index ends with {latest}")
    return known[version]


def _offline(pin: PypiPin, ref: str | None, old: Side, options: Options) -> Move:
    if ref is None:
        raise NetworkError("the newest version cannot be looked up offline; name one")
    text = _typed(ref, pin)
    notes = check_order(pin, old.id, text, options)
    changes = (Change("version", text),) if text != pin.version else ()
    unchecked = (f"that version {text} exists (offline)",) if changes else ()
    new = Side(text)
    return Move(pin=pin.name, kind=pin.kind, old=old, new=new, changes=changes, notes=notes, unchecked=unchecked)
