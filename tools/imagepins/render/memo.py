"""Remembers that rendered files were fresh, by the content of everything that decides it.

Rendering is a pure function of files, so while every one of them has the content it had when a check last passed, the
answer is the same, and neither YAML nor Jinja needs to be loaded to give it.
"""

import json
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

TOOL = Path(__file__).resolve().parents[1]
INPUTS_AND_OUTPUTS = ("*.j2", "docs/*.j2", "images/**/*", ".github/workflows/*")
"""Templates may include any file below images/, and a stray output must be seen, too."""


def recall(pins: Path) -> str | None:
    """What the last full check of this pin file said, if it passed and nothing has changed since; else None."""
    try:
        record = json.loads(_record(pins).read_text())
        same = all(_digest(Path(path)) == digest for path, digest in record["files"].items())
        return str(record["said"]) if same and record["present"] == _present(pins.parent) else None
    except (OSError, RuntimeError, ValueError, KeyError, TypeError):
        return None


def remember(pins: Path, outputs: Iterable[Path], said: str) -> None:
    """Keep ``said`` as the answer for the files as they are now; without a writable cache nothing is kept."""
    present = _present(pins.parent)
    own = [*(TOOL / "pins").glob("*.py"), *(TOOL / "render").glob("*.py"), *TOOL.glob("*.py")]
    with suppress(OSError, RuntimeError):
        files = {str(path): _digest(path) for path in [pins.resolve(), *map(Path, present), *outputs, *own]}
        record = _record(pins)
        record.parent.mkdir(parents=True, exist_ok=True)
        partial = record.with_suffix(f".{os.getpid()}")
        partial.write_text(json.dumps({"said": said, "present": present, "files": files}))
        partial.replace(record)


def _record(pins: Path) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    name = sha256(f"{pins.resolve()} {sys.prefix} {sys.version}".encode()).hexdigest()[:32]
    return cache / "imagepins" / "fresh" / name


def _present(root: Path) -> list[str]:
    found = (path for pattern in INPUTS_AND_OUTPUTS for path in root.glob(pattern) if path.is_file())
    return sorted(str(path.resolve()) for path in found)


def _digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()
