"""An apt pin and an upstream version → the Move to it, once a Packages index of the suite says that it is there."""

import gzip
import lzma
import re
import zlib
from collections.abc import Iterable

from imagepins import process
from imagepins.bump.move import Change, Move, Options, Side, known_id
from imagepins.bump.order import check_order, debian_key
from imagepins.errors import NetworkError, RefError
from imagepins.pins.model import AptPin

_TIMEOUT = (10.0, 60.0)
_COMPONENTS = ("main", "universe", "contrib", "non-free")


def propose_apt(pin: AptPin, ref: str | None, options: Options) -> Move:
    """The move of one apt pin; without ``ref`` to the newest version of its suite. Raises RefError, NetworkError."""
    typed = None if ref is None else ref.strip()
    old = Side(known_id(pin))
    if options.offline and typed is None:
        raise NetworkError("the newest version cannot be looked up offline; name one")
    known = versions_here(pin.apt, pin.suite)
    if not known and not options.offline:
        known = versions_there(pin.apt, pin.suite)
    if not known and not options.offline:
        raise NetworkError(
            f"no package index of suite {pin.suite} with {pin.apt} can be read from this machine; "
            "add the suite to its apt sources, or say --offline to take the version unchecked"
        )
    upstream = _upstream(known[0]) if typed is None else _chosen(pin, typed, known)
    unchecked = () if known else (f"that version {upstream} exists in {pin.suite} (offline)",)
    changes = (Change("version", upstream),) if upstream != pin.version else ()
    notes = (*check_order(pin, old.id, upstream, options), *(f"{pin.suite} holds {each}" for each in known[:1]))
    return Move(
        pin=pin.name, kind=pin.kind, old=old, new=Side(upstream), changes=changes, notes=notes, unchecked=unchecked
    )


def versions_here(package: str, suite: str) -> list[str]:
    """Full versions of ``package`` in ``suite``, newest first, as this machine's own apt lists know them."""
    try:
        listed = process.run(["apt-cache", "madison", package], timeout=30, check=False).stdout
    except process.ProcessFailed:
        return []
    rows = [[cell.strip() for cell in line.split("|")] for line in listed.splitlines()]
    # What is built for the suite, but not in it unless somebody asks for that: backports and proposed updates.
    source = re.compile(rf"\s{re.escape(suite)}(?:-security|-updates)?/")
    return [row[1] for row in rows if len(row) == 3 and source.search(f" {row[2]}")]


def versions_there(package: str, suite: str) -> list[str]:
    """The same, read from the suite's index at the archives this machine's apt is configured for."""
    found = {
        version
        for uri, architecture in _archives()
        for component in _COMPONENTS
        for version in _versions(_packages(f"{uri}/dists/{suite}/{component}/binary-{architecture}"), package)
    }
    return sorted(found, key=debian_key, reverse=True)


def _chosen(pin: AptPin, typed: str, known: list[str]) -> str:
    for full in known:
        if typed in (full, _upstream(full)) or full.startswith(f"{typed}-"):
            return _upstream(full) if typed == full else typed
    if known:
        raise RefError(f"{pin.suite} has no {pin.apt} {typed}, but {', '.join(known[:5])}")
    return typed


def _upstream(full: str) -> str:
    return full.rpartition("-")[0] or full


def _archives() -> list[tuple[str, str]]:
    """(URI, architecture) of every archive in this machine's sources."""
    try:
        text = process.run(
            ["apt-get", "indextargets", "--format", "$(REPO_URI) $(ARCHITECTURE)", "Created-By: Packages"], timeout=30
        ).stdout
    except process.ProcessFailed:
        return []
    pairs = (line.split() for line in text.splitlines())
    return list(dict.fromkeys((pair[0].rstrip("/"), pair[1]) for pair in pairs if len(pair) == 2))


def _packages(folder: str) -> str:
    import requests

    for name, opened in (("Packages.xz", lzma.decompress), ("Packages.gz", gzip.decompress)):
        try:
            answer = requests.get(f"{folder}/{name}", timeout=_TIMEOUT)
            if answer.ok:
                return opened(answer.content).decode(errors="replace")
        except (requests.RequestException, lzma.LZMAError, zlib.error, EOFError, OSError):
            continue
    return ""


def _versions(packages: str, name: str) -> Iterable[str]:
    for entry in re.finditer(rf"^Package: {re.escape(name)}\n(?:.+\n)*?Version: (\S+)$", packages, re.MULTILINE):
        yield entry[1]
