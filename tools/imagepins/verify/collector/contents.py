"""A mapped shared object → the literals and the GPU code objects inside it."""

from __future__ import annotations

import re

from imagepins.verify.collector.bundles import TRIPLE, CannotUnpack, compressed_bundles, plain_bundles
from imagepins.verify.collector.elf import SHF_EXECINSTR, Elf
from imagepins.verify.collector.kpacks import split_architectures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

LITERALS = 64
SEARCHED = 32_000_000
# Compilers put string literals into .rodata; what else is large holds tables, kernels or whole precompiled headers.
OTHER_SECTION_LIMIT = 1_000_000
# Kernels and unwinding tables hold hundreds of megabytes and none of the literals that are looked for.
SKIPPED = re.compile(
    r"\.(hip_?fatbin|nv_fatbin|eh_frame|gcc_except|debug|gnu|dyn|data\.rel|rel|sym|str|shstr|note|got|plt)", re.I
)


def literals(elf: Elf, patterns: dict[str, str]) -> dict[str, list[str]]:
    """What each pattern finds in the data sections (the whole file where it has no section table).

    The first group of a pattern is the literal; patterns see a NUL before the first byte and after the last. Of what
    is larger than any section of literals, only the beginning is searched.
    """
    found: dict[str, list[str]] = {name: [] for name in patterns}
    compiled = {name: re.compile(pattern.encode()) for name, pattern in patterns.items()}
    for offset, size in _data_ranges(elf):
        block = b"\0" + elf.data[offset : offset + min(size, SEARCHED)] + b"\0"
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


def code_objects(elf: Elf, path: str) -> tuple[list[str], list[str]]:
    """GPU architectures that the file at ``path`` has code for, and what hides more of them: ``compressed``, ``kpack``.

    ``split``: the code lies in .kpack files, and the architectures are theirs. ``named``: there is no code object, and
    the architectures are those that strings of the file name.
    """
    archs: set[str] = set()
    hidden: set[str] = set()
    has_code = False
    for name, offset, size, _ in elf.sections:
        if name == ".rocm_kpack_ref":
            split = split_architectures(path, elf.data[offset : offset + size])
            hidden.add("kpack" if split is None else "split")
            archs.update(split or ())
        if is_code_section(name):
            has_code = True
            archs.update(plain_bundles(elf.data, offset, offset + size))
            try:
                archs.update(compressed_bundles(elf.data, offset, offset + size))
            except CannotUnpack:
                hidden.add("compressed")
    if not has_code and not hidden:
        archs.update(_mentioned(elf))
        hidden.update({"named"} if archs else ())
    return sorted(archs), sorted(hidden)


def is_code_section(name: str) -> bool:
    """Whether a section holds offload bundles."""
    return "fatbin" in name.lower() or name.startswith("__CLANG_OFFLOAD")


def _mentioned(elf: Elf) -> Iterator[str]:
    for offset, size in _data_ranges(elf):
        for match in TRIPLE.finditer(elf.data, offset, offset + size):
            yield match.group(1).decode()
