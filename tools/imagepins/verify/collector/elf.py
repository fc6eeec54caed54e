"""A shared object → its soname, needed libraries, search paths, build id and sections, by a parse of our own."""

from __future__ import annotations

import mmap
import os
import stat
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PT_LOAD, PT_DYNAMIC, PT_NOTE = 1, 2, 4
DT_NEEDED, DT_STRTAB, DT_SONAME, DT_RPATH, DT_RUNPATH = 1, 5, 14, 15, 29
NT_GNU_BUILD_ID = 3
SHT_NOBITS, SHF_EXECINSTR = 8, 4
TABLE_LIMIT = 4096


class NotAnObject(Exception):
    """The file is no 64-bit little-endian ELF file that can be read."""


class Elf:
    """A mapped ELF file. ``sections`` are (name, offset, size, flags) of what lies in the file."""

    def __init__(self, path: str) -> None:
        self.data = _map(path)
        try:
            self._parse()
        except (struct.error, IndexError, ValueError, OverflowError) as error:
            self.close()
            raise NotAnObject(f"malformed ELF: {error}") from None

    def __enter__(self) -> Elf:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Unmap the file."""
        self.data.close()

    def _parse(self) -> None:
        header = struct.unpack_from("<16sHHIQQQIHHHHHH", self.data, 0)
        program_offset, section_offset = header[5], header[6]
        self.segments = [
            struct.unpack_from("<IIQQQQQQ", self.data, program_offset + index * header[9])
            for index in range(min(header[10], TABLE_LIMIT))
        ]
        self.dynamic: dict[int, list[int]] = {}
        self.build_id = ""
        for kind, _, offset, _, _, size, _, _ in self.segments:
            if kind == PT_DYNAMIC:
                self._read_dynamic(offset, size)
            elif kind == PT_NOTE and not self.build_id:
                self.build_id = self._find_build_id(offset, size)
        self.sections = self._read_sections(section_offset, header[11], header[12], header[13])

    def _read_dynamic(self, offset: int, size: int) -> None:
        for place in range(offset, min(offset + size, len(self.data) - 15), 16):
            tag, value = struct.unpack_from("<QQ", self.data, place)
            if tag == 0:
                break
            self.dynamic.setdefault(tag, []).append(value)

    def _find_build_id(self, offset: int, size: int) -> str:
        end = offset + size
        while offset + 12 <= end:
            name_size, value_size, kind = struct.unpack_from("<III", self.data, offset)
            name = self.data[offset + 12 : offset + 12 + min(name_size, 16)]
            value_at = offset + 12 + (name_size + 3) // 4 * 4
            if kind == NT_GNU_BUILD_ID and name == b"GNU\0" and value_size <= 64:
                return self.data[value_at : value_at + value_size].hex()
            offset = value_at + (value_size + 3) // 4 * 4
        return ""

    def _read_sections(self, offset: int, size: int, count: int, names_at: int) -> list[tuple[str, int, int, int]]:
        if not offset or names_at >= count:
            return []
        rows = [struct.unpack_from("<IIQQQQ", self.data, offset + size * i) for i in range(min(count, TABLE_LIMIT))]
        names = rows[names_at][4]
        return [(self._string(names + row[0]), row[4], row[5], row[2]) for row in rows if row[1] not in (0, SHT_NOBITS)]

    def _string(self, offset: int) -> str:
        if offset > len(self.data):
            raise NotAnObject(f"malformed ELF: a string at {offset:#x}, beyond the end of the file")
        end = self.data.find(b"\0", offset, offset + 4096)
        return self.data[offset:end].decode("utf-8", "backslashreplace") if end >= 0 else ""

    def texts(self, tag: int) -> list[str]:
        """The strings of a tag of the dynamic section."""
        base = self._file_offset(self.dynamic.get(DT_STRTAB, [0])[0])
        return [self._string(base + value) for value in self.dynamic.get(tag, [])]

    def _file_offset(self, address: int) -> int:
        for kind, _, offset, virtual, _, size, _, _ in self.segments:
            if kind == PT_LOAD and virtual <= address < virtual + size:
                return int(offset + address - virtual)
        return address

    def describe(self) -> dict[str, Any]:
        """What the loader goes by, as it stands in the file."""
        return {
            "soname": "".join(self.texts(DT_SONAME)[:1]),
            "needed": self.texts(DT_NEEDED)[:200],
            "rpath": "".join(self.texts(DT_RPATH)[:1]),
            "runpath": "".join(self.texts(DT_RUNPATH)[:1]),
            "build_id": self.build_id,
        }


def _map(path: str) -> mmap.mmap:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise NotAnObject(error.strerror) from None
    try:
        # Devices and pipes that bear a library's name must not be mapped or read.
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise NotAnObject("not a regular file")
        data = mmap.mmap(handle, 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise NotAnObject(str(error)) from None
    finally:
        os.close(handle)
    if data[:6] != b"\x7fELF\x02\x01":
        data.close()
        raise NotAnObject("not a 64-bit little-endian ELF file")
    return data
