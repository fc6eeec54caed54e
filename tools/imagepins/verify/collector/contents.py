"""A mapped shared object → the literals and the GPU code objects inside it."""

from __future__ import annotations

import re
import struct

from imagepins.verify.collector.elf import SHF_EXECINSTR, Elf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

LITERALS = 64
# Compilers put string literals into .rodata; what else is large holds tables, kernels or whole precompiled headers.
OTHER_SECTION_LIMIT = 1_000_000
# Kernels and unwinding tables hold hundreds of megabytes and none of the literals that are looked for.
SKIPPED = re.compile(
    r"\.(hip_?fatbin|nv_fatbin|eh_frame|gcc_except|debug|gnu|dyn|data\.rel|rel|sym|str|shstr|note|got|plt)", re.I
)
BUNDLE = b"__CLANG_OFFLOAD_BUNDLE__"
COMPRESSED = b"CCOB"
TRIPLE = re.compile(rb"amdgcn-amd-amdhsa-{1,3}(gfx[0-9a-f]+)")


def literals(elf: Elf, patterns: dict[str, str]) -> dict[str, list[str]]:
    """What each pattern finds in the data sections (the whole file where it has no section table).

    The first group of a pattern is the literal; patterns see a NUL before the first byte and after the last.
    """
    found: dict[str, list[str]] = {name: [] for name in patterns}
    compiled = {name: re.compile(pattern.encode()) for name, pattern in patterns.items()}
    for offset, size in _data_ranges(elf):
        block = b"\0" + elf.data[offset : offset + size] + b"\0"
        for name, pattern in compiled.items():
            for match in pattern.finditer(block):
                text = match.group(1)[:200].decode("utf-8", "backslashreplace")
                if text not in found[name] and len(found[name]) < LITERALS:
                    found[name].append(text)
    return found


def _data_ranges(elf: Elf) -> list[tuple[int, int]]:
    if not elf.sections:
        return [(0, len(elf.data))]
    return [
        (offset, size)
        for name, offset, size, flags in elf.sections
        if (name.startswith(".rodata") or size <= OTHER_SECTION_LIMIT)
        if size and not flags & SHF_EXECINSTR and not SKIPPED.match(name)
    ]


def code_objects(elf: Elf) -> tuple[list[str], list[str]]:
    """GPU architectures with code in the file, and what hides more of them: ``compressed``, ``kpack``."""
    archs: set[str] = set()
    hidden: set[str] = set()
    for name, offset, size, _ in elf.sections:
        if name == ".rocm_kpack_ref":
            hidden.add("kpack")
        if "fatbin" in name.lower() or name.startswith("__CLANG_OFFLOAD"):
            if elf.data.find(COMPRESSED, offset, offset + min(size, 64)) >= 0:
                hidden.add("compressed")
            archs.update(_bundled(elf, offset, offset + size))
    if not archs and not hidden:
        archs.update(_mentioned(elf))
    return sorted(archs), sorted(hidden)


def _bundled(elf: Elf, place: int, end: int) -> Iterator[str]:
    """Read the header of every offload bundle, jumping over the code between them."""
    while True:
        place = elf.data.find(BUNDLE, place, end)
        if place < 0 or place + 32 > end:
            return
        (count,) = struct.unpack_from("<Q", elf.data, place + 24)
        after = entry = place + 32
        for _ in range(min(count, 256)):
            if entry + 24 > end:
                return
            offset, size, length = struct.unpack_from("<QQQ", elf.data, entry)
            match = TRIPLE.search(elf.data[entry + 24 : entry + 24 + min(length, 256)])
            # An entry without code is a promise nobody kept.
            if match and size:
                yield match.group(1).decode()
            entry += 24 + min(length, 256)
            after = max(after, entry, min(place + offset + size, end))
        place = after


def _mentioned(elf: Elf) -> Iterator[str]:
    for offset, size in _data_ranges(elf):
        for match in TRIPLE.finditer(elf.data[offset : offset + size]):
            yield match.group(1).decode()
