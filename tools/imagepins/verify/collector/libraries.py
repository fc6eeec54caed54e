"""Files of the wanted library families → one description per file (device and inode), with all its names."""

from __future__ import annotations

import os
import re

from imagepins.verify.collector.children import describe
from imagepins.verify.collector.contents import code_objects, is_code_section, literals
from imagepins.verify.collector.elf import Elf, NotAnObject
from imagepins.verify.collector.loads import family_by_name
from imagepins.verify.collector.paths import canonical, shown
from imagepins.verify.collector.records import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# What patchelf and strip rewrite, and nothing that is run or read: tables of the loader, symbols, debugging.
REWRITTEN = re.compile(r"\.(dyn|gnu|hash|rel|note|interp|got|symtab|strtab|shstrtab|comment|debug|gdb)|$")


def describe_libraries(paths: list[str], families: dict[str, Any], *, want_archs: bool) -> list[dict[str, Any]]:
    """All files behind ``paths``, each with what tells it from other files of its family."""
    files: dict[tuple[int, int], dict[str, Any]] = {}
    for path in paths:
        try:
            state = os.stat(path)
        except OSError as error:
            files[(0, len(files))] = _broken(path, families, error.strerror)
            continue
        known = files.get((state.st_dev, state.st_ino))
        if known is None:
            known = files[(state.st_dev, state.st_ino)] = _describe(path, state, families, want_archs=want_archs)
        known["links" if os.path.islink(path) else "names"].append(shown(path))
    for family in families:
        _tell_apart([each for each in files.values() if each["family"] == family and not each["error"]])
    return [{key: value for key, value in each.items() if key != "real"} for each in files.values()]


def _tell_apart(copies: list[dict[str, Any]]) -> None:
    """Give copies their sha256 and, where these differ, that of what is run and read: ``content``."""
    if len(copies) < 2:
        return
    for each in copies:
        each["sha256"] = digest(each["real"])
    if len({each["sha256"] for each in copies}) > 1:
        for each in copies:
            each["content"] = _content(each["real"])


def _content(path: str) -> str:
    """The sha256 of the code and data of a shared object; empty where its sections cannot be told."""
    import hashlib

    try:
        with Elf(path) as elf:
            kept = sorted(row for row in elf.sections if not REWRITTEN.match(row[0]))
            state = hashlib.sha256(repr([(name, size) for name, _, size, _ in kept]).encode())
            for _, offset, size, _ in kept:
                end = min(offset + size, len(elf.data))
                for place in range(offset, end, 1 << 20):
                    state.update(elf.data[place : min(place + (1 << 20), end)])
    except NotAnObject:
        return ""
    return state.hexdigest() if kept else ""


def describe_objects(paths: list[str]) -> list[dict[str, Any]]:
    """Architectures of all other shared objects that hold GPU code in sections made for it."""
    found = []
    for path in paths:
        try:
            with Elf(path) as elf:
                if any(is_code_section(name) or "kpack" in name for name, _, _, _ in elf.sections):
                    archs, hidden = code_objects(elf, path)
                    found.append({"path": shown(path), "archs": archs, "hidden": hidden})
        except Exception:  # noqa: BLE001, S112 - as below
            continue
    return found


def _describe(path: str, state: os.stat_result, families: dict[str, Any], *, want_archs: bool) -> dict[str, Any]:
    real = canonical(path)
    family = family_by_name(os.path.basename(path), families)
    entry: dict[str, Any] = {"family": family, "path": shown(real), "real": real, "names": [], "links": []}
    entry.update(device=state.st_dev, inode=state.st_ino, size=state.st_size, error="", sha256="", content="")
    try:
        with Elf(path) as elf:
            entry.update(elf.describe())
            family = family or family_by_name(entry["soname"], families)
            entry["family"] = family
            entry["literals"] = literals(elf, families[family]["literals"])
            entry["archs"], entry["hidden"] = code_objects(elf, path) if want_archs else ([], [])
    except NotAnObject as error:
        # A linker script or a Python file may bear such a name by right; what stands for a library must be told.
        entry.update(error=str(error))
    except Exception as error:  # noqa: BLE001 - no file may keep the others from being looked at
        entry.update(error=describe(error))
    return entry


def _broken(path: str, families: dict[str, Any], reason: str | None) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "family": family_by_name(os.path.basename(path), families),
        "path": shown(path),
        "names": [],
        "links": [],
    }
    entry.update(device=0, inode=0, size=0, error=f"dangling link: {reason}", real="")
    entry["links"].append(shown(path))
    return entry
