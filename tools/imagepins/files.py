"""Texts → files, all or nothing, under a lock.

A journal beside pins.yaml holds old and new content of every file of a transaction. Its appearance is the moment the
transaction counts: whoever takes the lock next finishes what a killed run began. The lock is on the directory itself,
so that it leaves nothing behind and readers can take it on a read-only tree.
"""

import base64
import errno
import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from imagepins.dirlock import LOCK_SECONDS, locked
from imagepins.errors import ImagePinsError, UsageError
from imagepins.terminal import to_stderr


class WriteFailed(ImagePinsError):
    """A file could not be written; every file is as it was before."""


@dataclass(frozen=True)
class _Change:
    target: Path
    old: bytes | None
    new: bytes


@contextmanager
def exclusive(pins: Path, *, timeout: float = LOCK_SECONDS) -> Iterator[None]:
    """Hold the lock for reading, changing and writing the files that belong to ``pins``.

    An interrupted write is finished first. ``timeout`` is in seconds; raises UsageError when another run keeps the
    lock for longer, naming it.
    """
    home = _home(pins)
    with locked(home, fcntl.LOCK_EX, timeout):
        _finish_interrupted(home / _journal_name(pins))
        yield


@contextmanager
def shared(pins: Path, *, timeout: float = LOCK_SECONDS) -> Iterator[None]:
    """Hold off writers while the files that belong to ``pins`` are read; writes nothing but an interrupted write."""
    home = _home(pins)
    journal = home / _journal_name(pins)
    while True:
        with locked(home, fcntl.LOCK_SH, timeout):
            if not journal.exists():
                yield
                return
        with exclusive(pins, timeout=timeout):
            pass


def replace_all(pins: Path, contents: Mapping[Path, bytes]) -> tuple[Path, ...]:
    """Write ``contents`` so that all files are new or, on any error, all are as before; return what changed.

    To be called inside ``exclusive(pins)``. Files whose bytes are already right are not touched. Mode, owner and
    symbolic links stay. Raises WriteFailed.
    """
    changes = [change for path, new in contents.items() if (change := _change(path, new)).old != new]
    if not changes:
        return ()
    journal = _home(pins) / _journal_name(pins)
    try:
        with _naming(pins):
            _write_journal(journal, "forward", changes)
        for change in changes:
            with _naming(change.target):
                _write_temporary(change.target, change.new)
        for change in changes:
            with _naming(change.target):
                _swap_in(change.target)
    except BaseException as error:
        is_undone = _undo(journal, changes)
        if isinstance(error, OSError):
            after = "no file was changed" if is_undone else "the next run puts every file back to what it was"
            raise WriteFailed(f"{_why(error)}; {after}") from error
        raise
    _remove(journal)
    return tuple(change.target for change in changes)


def _home(pins: Path) -> Path:
    return Path(os.path.realpath(pins)).parent


def _journal_name(pins: Path) -> str:
    return f".{Path(os.path.realpath(pins)).name}.journal"


def _change(path: Path, new: bytes) -> _Change:
    target = Path(os.path.realpath(path))
    try:
        return _Change(target, target.read_bytes(), new)
    except FileNotFoundError:
        return _Change(target, None, new)
    except OSError as error:
        raise WriteFailed(f"cannot read {path}: {error.strerror}; no file was changed") from error


def _write_journal(journal: Path, direction: Literal["forward", "back"], changes: list[_Change]) -> None:
    entries = [
        {
            "target": str(change.target),
            "old": None if change.old is None else base64.b64encode(change.old).decode(),
            "new": base64.b64encode(change.new).decode(),
        }
        for change in changes
    ]
    record = {"home": _identity(journal.parent), "direction": direction, "entries": entries}
    _write_temporary(journal, json.dumps(record).encode())
    _swap_in(journal)


def _finish_interrupted(journal: Path) -> None:
    """Bring every file of a killed run to its new (or, if that was being undone, its old) content."""
    try:
        _remove(_temporary(journal))
        raw = journal.read_bytes()
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"an interrupted write left {journal}, which cannot be read: {error.strerror}") from error
    try:
        record = json.loads(raw)
        if record["home"] != _identity(journal.parent):
            raise ValueError("written elsewhere")
        forward = record["direction"] == "forward"
        changes = [
            _Change(Path(entry["target"]), _decoded(entry["old"]), base64.b64decode(entry["new"]))
            for entry in record["entries"]
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{journal} was not written by this tool in this place; look at it and remove it") from error
    try:
        for change in changes:
            _restore(change, change.new if forward else change.old)
        _remove(journal)
    except OSError as error:
        raise UsageError(f"cannot finish the interrupted write of {error.filename}: {error.strerror}") from error


def _identity(directory: Path) -> str:
    """What a journal that came in by a clone or an archive cannot know, so that it is never replayed."""
    status = directory.stat()
    return f"{status.st_dev}:{status.st_ino}"


def _decoded(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


def _restore(change: _Change, wanted: bytes | None) -> None:
    _remove(_temporary(change.target))
    current = change.target.read_bytes() if change.target.exists() else None
    if current not in (change.old, change.new):
        # Somebody edited the file after the run was killed: their text is worth more than ours.
        to_stderr(f"{change.target} was edited after an interrupted write and is left alone")
    elif wanted is None:
        _remove(change.target)
    elif current != wanted:
        _write_temporary(change.target, wanted)
        _swap_in(change.target)


def _undo(journal: Path, changes: list[_Change]) -> bool:
    """Put every file back; whether that worked. Needs no room on the disk but for files that were replaced already."""
    with suppress(OSError):
        for path in (*(change.target for change in changes), journal):
            _remove(_temporary(path))
        if journal.exists() and any(map(_is_new, changes)):
            _write_journal(journal, "back", changes)
            for change in changes:
                _restore(change, change.old)
        _remove(journal)
        return True
    return False


def _is_new(change: _Change) -> bool:
    return change.target.is_file() and change.target.read_bytes() == change.new


def _why(error: OSError) -> str:
    said = f"cannot write {error.filename}: {error.strerror}"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"{said} (new files are made beside it: its folder must be writable, too)"
    return said


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Let errors of the system name ``path``: that of a full disk names no file, others name a temporary one."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def _temporary(target: Path) -> Path:
    # One name per target, so that a killed run's file is overwritten; the lock keeps two runs apart.
    return target.with_name(f".{target.name}.imagepins-new")


def _write_temporary(target: Path, content: bytes) -> None:
    temporary = _temporary(target)
    _remove(temporary)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    with os.fdopen(handle, "wb") as stream:
        if target.exists():
            before = target.stat()
            with suppress(PermissionError):
                os.fchown(stream.fileno(), before.st_uid, before.st_gid)
            os.fchmod(stream.fileno(), before.st_mode & 0o7777)
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def _swap_in(target: Path) -> None:
    temporary = _temporary(target)
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    temporary.replace(target)
    _sync_directory(target.parent)


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)


def _sync_directory(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
