"""``build/state.json`` ↔ duration and size of the last build of each target."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeGuard

from imagepins.writing import replace_text


@dataclass(frozen=True)
class LastBuild:
    """What is remembered of a build: seconds it took, bytes of the image, its digest."""

    seconds: float
    size: int | None
    digest: str | None


def read_state(path: Path) -> dict[str, LastBuild]:
    """Last builds by target; empty where nothing, or nothing readable, is recorded."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    entries = document.items() if isinstance(document, dict) else ()
    return {name: found for name, fields in entries if (found := _last_build(fields))}


def _last_build(fields: Any) -> LastBuild | None:
    """One entry, or None where it is not what ``write_state`` writes: the file may be from anywhere."""
    if not isinstance(fields, dict):
        return None
    seconds, size, digest = (fields.get(key) for key in ("seconds", "size", "digest"))
    if not _is_number(seconds) or not (size is None or _is_number(size)) or not isinstance(digest, str | None):
        return None
    return LastBuild(float(seconds), None if size is None else int(size), digest)


def _is_number(value: Any) -> TypeGuard[float]:
    # JSON of Python's knows NaN and Infinity, which no clock and no disk has given.
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 10**18


def write_state(path: Path, builds: Mapping[str, LastBuild]) -> None:
    """Add ``builds`` to what is recorded, by replacing the file."""
    every = {**read_state(path), **builds}
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_text(path, json.dumps({name: asdict(each) for name, each in sorted(every.items())}, indent=2) + "\n")
