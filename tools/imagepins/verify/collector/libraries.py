"""Files of the wanted library families → one description per file (device and inode), with all its names."""

from __future__ import annotations

import os

from imagepins.verify.collector.children import describe
from imagepins.verify.collector.contents import code_objects, is_code_section, literals
from imagepins.verify.collector.elf import Elf, NotAnObject
from imagepins.verify.collector.loads import family_by_name
from imagepins.verify.collector.paths import canonical, shown
from imagepins.verify.collector.records import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

COPIES = 200


def describe_libraries(paths: list[str], families: dict[str, Any], *, want_archs: bool) -> list[dict[str, Any]]:
    """All files behind ``paths``. Where a family has several files, each has its sha256, to tell copies apart."""
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
    objects = list(files.values())[:COPIES]
    for each in objects:
        rivals = [other for other in objects if other["family"] == each["family"] and not other["error"]]
        each["sha256"] = digest(each.pop("real")) if len(rivals) > 1 and not each["error"] else ""
        each.pop("real", None)
    return objects


def describe_objects(paths: list[str]) -> list[dict[str, Any]]:
    """Architectures of all other shared objects that hold GPU code in sections made for it."""
    found = []
    for path in paths:
        try:
            with Elf(path) as elf:
                if any(is_code_section(name) or "kpack" in name for name, _, _, _ in elf.sections):
                    archs, hidden = code_objects(elf)
                    found.append({"path": shown(path), "archs": archs, "hidden": hidden})
        except Exception:  # noqa: BLE001, S112 - as below
            continue
    return found


def _describe(path: str, state: os.stat_result, families: dict[str, Any], *, want_archs: bool) -> dict[str, Any]:
    real = canonical(path)
    family = family_by_name(os.path.basename(path), families)
    entry: dict[str, Any] = {"family": family, "path": shown(real), "real": real, "names": [], "links": []}
    entry.update(device=state.st_dev, inode=state.st_ino, size=state.st_size, error="")
    try:
        with Elf(path) as elf:
            entry.update(elf.describe())
            entry["literals"] = literals(elf, families[family]["literals"])
            entry["archs"], entry["hidden"] = code_objects(elf) if want_archs else ([], [])
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
