"""Records a build stage left of what it installed, and whether the files are still those.

A record is a text file: ``commit: SHA``, ``dirty: yes|no`` and lines of ``sha256sum`` (``HEX  PATH``).
"""

from __future__ import annotations

import os
import re

from imagepins.verify.collector.paths import read_text, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LINE = re.compile(r"^\\?([0-9a-f]{64}) [ *](/.+)$")
FIELD = re.compile(r"^([a-z_]+): *(.*)$")


def read_records(folder: str) -> list[dict[str, Any]]:
    """All records of a folder, each with the present sha256 of its files (empty: gone or unreadable)."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [_record(os.path.join(folder, name)) for name in names if name.endswith(".txt")]


def _record(path: str) -> dict[str, Any]:
    fields: dict[str, str] = {}
    files: dict[str, dict[str, str]] = {}
    strange = 0
    for line in read_text(path, 20_000_000).splitlines():
        recorded, field = LINE.match(line), FIELD.match(line)
        if recorded:
            files[recorded.group(2)] = {"recorded": recorded.group(1), "present": digest(recorded.group(2))}
        elif field:
            fields[field.group(1)] = field.group(2).strip()
        elif line.strip() and not line.startswith("#"):
            strange += 1
    name = os.path.basename(path).rpartition(".")[0]
    return {"path": shown(path), "name": name, "fields": fields, "files": files, "strange": strange}


def digest(path: str, kind: str = "sha256") -> str:
    """The checksum of a regular file; empty where it cannot be read."""
    import hashlib

    try:
        state = hashlib.new(kind, usedforsecurity=False)
    except TypeError:
        # Python 3.8 does not know what it is used for.
        state = hashlib.new(kind)
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(handle, "rb", buffering=0) as file:
            if not os.path.isfile(path):
                return ""
            block = file.read(1 << 20)
            while block:
                state.update(block)
                block = file.read(1 << 20)
    except OSError:
        return ""
    return state.hexdigest()
