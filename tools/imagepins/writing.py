"""A text → a file that is whole or not there, whatever interrupts the writing."""

import os
from pathlib import Path
from threading import get_ident

from imagepins.errors import UsageError


def replace_text(path: Path, text: str) -> None:
    """Write ``text`` as UTF-8 by replacing the file: readers, which hold no lock, see the old or the new.

    Raises OSError.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.{get_ident()}")
    try:
        partial.write_text(text, encoding="utf-8", errors="backslashreplace")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write ``text`` where a person asked for it; folders are made. Raises UsageError where it cannot be written."""
    try:
        if path.exists() and not path.is_file():
            # A pipe or /dev/stdout cannot be replaced, only written to.
            path.write_text(text, encoding="utf-8", errors="backslashreplace")
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_text(path, text)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None


def append_text(path: Path, text: str) -> None:
    """Append ``text`` in one write, as steps of CI share one summary. Raises UsageError as ``write_text`` does."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab", buffering=0) as file:
            file.write(text.encode(errors="backslashreplace"))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
