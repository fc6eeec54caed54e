"""Paths and bytes of any image → texts that JSON can hold, and reads that never raise."""

from __future__ import annotations

import os

TEXT_LIMIT = 65536


def shown(path: str) -> str:
    """A path with bytes that are not UTF-8 written as escapes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def read_bytes(path: str, limit: int = TEXT_LIMIT) -> bytes:
    """The first ``limit`` bytes of a regular file; nothing where it cannot be read."""
    try:
        # A pipe without a writer would block an open for ever.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        with open(handle, "rb") as file:
            return file.read(limit) or b""
    except OSError:
        return b""


def read_text(path: str, limit: int = TEXT_LIMIT) -> str:
    """The beginning of a file as text; bytes that are not UTF-8 written as escapes."""
    return read_bytes(path, limit).decode("utf-8", "backslashreplace")


def canonical(path: str) -> str:
    """The path behind all symbolic links; the path itself where they form a loop."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError, RecursionError):
        return path
