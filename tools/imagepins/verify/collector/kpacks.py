"""A library whose GPU code lies in .kpack files → the architectures that these hold.

Layouts: the section .rocm_kpack_ref is a MessagePack map whose kpack_search_paths are relative to the library, with
@GFXARCH@ for an architecture; an archive begins with KPAK, a version and the place of its table, a MessagePack map with
gfx_arches.
"""

from __future__ import annotations

import mmap
import os
import re
import struct

from imagepins.verify.collector.paths import canonical

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Packed = bytes | mmap.mmap

ANY_ARCH = "@GFXARCH@"


def split_architectures(library: str, reference: bytes) -> list[str] | None:
    """Architectures with code for a library, by its reference to archives; None where that cannot be read."""
    paths = strings_of(reference, b"kpack_search_paths", 0)
    if not paths:
        return None
    folder = os.path.dirname(canonical(library))
    archives = [archive for path in paths for archive in _archives(os.path.join(folder, path))]
    return [arch for archive in archives for arch in _architectures(archive)]


def _archives(path: str) -> Iterator[str]:
    """Files that a search path can lead to."""
    folder, name = os.path.split(path)
    pattern = re.escape(name).replace(re.escape(ANY_ARCH), r"gfx[\w:+-]+")
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    yield from (os.path.join(folder, each) for each in names if re.fullmatch(pattern, each))


def _architectures(archive: str) -> list[str]:
    try:
        with open(archive, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            magic, _, table = struct.unpack_from("<4sIQ", data, 0)
            return strings_of(data, b"gfx_arches", table) if magic == b"KPAK" else []
    except (OSError, ValueError, OverflowError, struct.error):
        return []


def strings_of(data: Packed, name: bytes, begin: int) -> list[str]:
    """The strings of a list that a MessagePack map holds under a name; none where there is no such list."""
    at = data.find(bytes([0xA0 | len(name)]) + name, begin)
    found: list[str] = []
    try:
        if at >= 0:
            count, at = _count_at(data, at + 1 + len(name), 0x90, 0xF, {0xDC: ">H"})
            for _ in range(count):
                size, at = _count_at(data, at, 0xA0, 0x1F, {0xD9: ">B", 0xDA: ">H"})
                found.append(data[at : at + size].decode("utf-8", "backslashreplace"))
                at += size
    except (struct.error, IndexError, ValueError):
        return []
    return found


def _count_at(data: Packed, at: int, short: int, most: int, long: dict[int, str]) -> tuple[int, int]:
    """How many parts follow, and where they begin. Raises ValueError where something else stands there."""
    kind = data[at]
    if kind & ~most == short:
        return kind & most, at + 1
    if kind not in long:
        raise ValueError("neither a list nor a string")
    return int(struct.unpack_from(long[kind], data, at + 1)[0]), at + 1 + struct.calcsize(long[kind])
