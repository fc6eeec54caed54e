"""``build/state.json`` ↔ duration and size of the last build of each target."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class LastBuild:
    """What is remembered of a build: seconds it took, bytes of the image, its digest."""

    seconds: float
    size: int | None
    digest: str | None


def read_state(path: Path) -> dict[str, LastBuild]:
    """Last builds by target; empty where nothing, or nothing readable, is recorded."""
    try:
        return {name: LastBuild(**fields) for name, fields in json.loads(path.read_text(encoding="utf-8")).items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def write_state(path: Path, builds: Mapping[str, LastBuild]) -> None:
    """Add ``builds`` to what is recorded, by replacing the file."""
    every = {**read_state(path), **builds}
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".new")
    temporary.write_text(
        json.dumps({name: asdict(each) for name, each in sorted(every.items())}, indent=2) + "\n", encoding="utf-8"
    )
    temporary.replace(path)
