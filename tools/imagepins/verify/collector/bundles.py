"""Sections with GPU code → the architectures there is code for. Compressed bundles are unpacked as far as their table.

Layouts: clang's offload bundle, and its compressed form (magic CCOB; version, method, sizes, hash; zlib or zstd data).
"""

from __future__ import annotations

import re
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    import mmap
    from collections.abc import Iterator

    Bytes = bytes | mmap.mmap

BUNDLE = b"__CLANG_OFFLOAD_BUNDLE__"
COMPRESSED = re.compile(rb"CCOB([\x01-\x03])\0([\0\x01])\0")
HEADER_SIZES = {1: 20, 2: 24, 3: 32}
TRIPLE = re.compile(rb"amdgcn-amd-amdhsa-{1,3}(gfx[0-9a-f]+(?:-[0-9]+)*(?:-generic)?(?::(?:xnack|sramecc)[+-])*)")
TABLE_SIZE = 65536
MOST_UNPACKED = 200


class CannotUnpack(Exception):
    """The image has nothing that unpacks this kind of compression, or there are too many bundles to unpack."""


def plain_bundles(data: Bytes, place: int, end: int) -> Iterator[str]:
    """Read the table of every bundle, jumping over the code between them."""
    while True:
        place = data.find(BUNDLE, place, end)
        if place < 0 or place + 32 > end:
            return
        (count,) = struct.unpack_from("<Q", data, place + 24)
        after = entry = place + 32
        for _ in range(min(count, 256)):
            if entry + 24 > end:
                return
            offset, size, length = struct.unpack_from("<QQQ", data, entry)
            match = TRIPLE.search(data[entry + 24 : min(entry + 24 + min(length, 256), end)])
            # An entry without code is a promise nobody kept.
            if match and size:
                yield match.group(1).decode()
            entry += 24 + min(length, 256)
            after = max(after, entry, min(place + offset + size, end))
        place = after


def compressed_bundles(data: Bytes, place: int, end: int) -> Iterator[str]:
    """Unpack the table of every compressed bundle. Raises CannotUnpack."""
    for number, match in enumerate(COMPRESSED.finditer(data, place, end)):
        if number == MOST_UNPACKED:
            raise CannotUnpack(f"more than {MOST_UNPACKED} bundles")
        begin = match.start() + HEADER_SIZES[match.group(1)[0]]
        packed = data[begin : min(begin + 4 * TABLE_SIZE, end)]
        table = _unpack_zstd(packed) if match.group(2) == b"\x01" else _unpack_zlib(packed)
        yield from plain_bundles(table, 0, len(table))


def _unpack_zlib(packed: bytes) -> bytes:
    try:
        import zlib

        return zlib.decompressobj().decompress(packed, TABLE_SIZE)
    except Exception:  # noqa: BLE001 - a Python built without zlib, or data that is none
        raise CannotUnpack("zlib") from None


def _unpack_zstd(packed: bytes) -> bytes:
    """By the image's libzstd, which dpkg and rpm need; Python has one of its own only from 3.14 on."""
    import ctypes

    class Buffer(ctypes.Structure):
        _fields_ = (("address", ctypes.c_void_p), ("size", ctypes.c_size_t), ("place", ctypes.c_size_t))

    try:
        library = ctypes.CDLL("libzstd.so.1")
    except OSError:
        raise CannotUnpack("zstd") from None
    library.ZSTD_createDStream.restype = ctypes.c_void_p
    stream = ctypes.c_void_p(library.ZSTD_createDStream())
    source, target = ctypes.create_string_buffer(packed, len(packed)), ctypes.create_string_buffer(TABLE_SIZE)
    read = Buffer(ctypes.cast(source, ctypes.c_void_p), len(packed), 0)
    written = Buffer(ctypes.cast(target, ctypes.c_void_p), TABLE_SIZE, 0)
    library.ZSTD_decompressStream.restype = ctypes.c_size_t
    library.ZSTD_decompressStream(stream, ctypes.byref(written), ctypes.byref(read))
    library.ZSTD_freeDStream(stream)
    if not written.place:
        raise CannotUnpack("zstd")
    return target.raw[: written.place]
