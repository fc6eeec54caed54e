"""Version texts → values that compare, and the two ways of comparing them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from packaging.version import Version


@lru_cache(maxsize=4096)
def parse(text: str) -> Version | None:
    """``text`` as a PEP 440 version (a leading ``v`` is allowed), or None: the version is unknown."""
    from packaging.version import InvalidVersion, Version

    try:
        return Version(text)
    except InvalidVersion:
        return None


def satisfies(found: str | None, operator: str, wanted: str) -> bool:
    """Whether ``found OPERATOR wanted`` holds; an unknown version satisfies nothing.

    ``==`` and ``!=`` compare the release numbers that ``wanted`` has: 7.16.26361 == 7.16.
    """
    version, bound = parse(found or ""), parse(wanted)
    if version is None or bound is None:
        return False
    if operator in {"==", "!="}:
        return matches(wanted, found or "") is (operator == "==")
    mine, other = (version, bound) if version.local and bound.local else (_public(version), _public(bound))
    return {"<": mine < other, "<=": mine <= other, ">": mine > other, ">=": mine >= other}[operator]


def matches(expected: str, found: str) -> bool:
    """Whether ``found`` is ``expected``, which may leave out trailing numbers (7.16) or the local part (2.12.0)."""
    wanted, version = parse(expected), parse(found)
    if wanted is None or version is None:
        return expected == found
    numbers = version.release[: len(wanted.release)]
    if len(wanted.release) > len(version.release):
        numbers += (0,) * (len(wanted.release) - len(version.release))
    if numbers != wanted.release or (wanted.local and wanted.local != version.local):
        return False
    is_prefix = len(wanted.release) < len(version.release)
    return is_prefix or (wanted.pre, wanted.post, wanted.dev) == (version.pre, version.post, version.dev)


def _public(version: Version) -> Version:
    from packaging.version import Version

    return Version(version.public)
