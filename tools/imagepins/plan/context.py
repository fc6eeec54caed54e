"""Patterns of COPY and ADD → the files of ``images/IMAGE/context/`` that a build needs, and nothing else.

A build never sees the repository: its context is a folder this tool fills with these files. So no .dockerignore is
needed, whose rules differ between clients (docker/docker-py#1471), and no context grows unnoticed.
"""

import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from imagepins.errors import PinsError
from imagepins.plan.stages import Use

LIMIT_BYTES = 50 * 1024 * 1024
"""Largest context, in bytes: what is bigger belongs into a pin of kind url or git."""


@dataclass(frozen=True)
class ContextFile:
    """One entry of a context: path below it, mode as git keeps it, size in bytes, and what identifies its content."""

    path: str
    mode: int
    size: int
    content: str

    @property
    def identity(self) -> str:
        """Mode and content in one text; times and owners do not count."""
        return f"{self.mode:o} {self.content}"


def read_context(root: Path, uses: Iterable[Use], *, dockerfile: str) -> tuple[ContextFile, ...]:
    """Files below ``root`` that the patterns of ``uses`` take, sorted by path.

    Raises PinsError for a pattern that takes nothing, that leaves the context, and for more than LIMIT_BYTES.
    """
    chosen: set[Path] = set()
    for use in uses:
        matched = list(_matches(root, use, dockerfile))
        if not matched:
            raise PinsError(f"{dockerfile}:{use.line}: '{use.name}' matches nothing in {_shown(root)}/")
        chosen.update(matched)
    files = tuple(_describe(root, path) for path in sorted(chosen))
    total = sum(each.size for each in files)
    if total > LIMIT_BYTES:
        raise PinsError(_too_large(root, files, total, dockerfile))
    return files


def _matches(root: Path, use: Use, dockerfile: str) -> Iterator[Path]:
    pattern = use.name.lstrip("/").removeprefix("./") or "."
    if ".." in Path(pattern).parts:
        raise PinsError(f"{dockerfile}:{use.line}: '{use.name}' leaves the build context; put the file below it")
    # pathlib reads [..] and * as Go's matcher does, but ** crosses directories here and not there.
    found = [root] if pattern == "." else root.glob(re.sub(r"\*\*+", "*", pattern))
    for path in found:
        if path.is_dir() and not path.is_symlink():
            yield from (each for each in path.rglob("*") if each.is_symlink() or not each.is_dir())
        elif path.exists() or path.is_symlink():
            yield path


def _describe(root: Path, path: Path) -> ContextFile:
    status = path.lstat()
    name = path.relative_to(root).as_posix()
    if stat.S_ISLNK(status.st_mode):
        return ContextFile(name, 0o120000, 0, f"link to {path.readlink()}")
    if not stat.S_ISREG(status.st_mode):
        raise PinsError(f"{_shown(root)}/{name}: neither a file nor a symbolic link; a build cannot take it")
    # As git keeps them: a checkout's other permission bits come from somebody's umask, and would make hashes local.
    mode = 0o755 if status.st_mode & stat.S_IXUSR else 0o644
    try:
        content = path.read_bytes()
    except OSError as error:
        raise PinsError(f"{_shown(root)}/{name}: cannot be read: {error.strerror}") from None
    return ContextFile(name, mode, status.st_size, sha256(content).hexdigest())


def _too_large(root: Path, files: tuple[ContextFile, ...], total: int, dockerfile: str) -> str:
    largest = sorted(files, key=lambda each: -each.size)[:10]
    rows = "\n".join(f"  {each.size / 1e6:8.1f} MB  {each.path}" for each in largest)
    limit = LIMIT_BYTES // (1024 * 1024)
    return (
        f"{dockerfile}: the build context {_shown(root)}/ takes {total / 1e6:.1f} MB, more than {limit} MiB; "
        f"pin large files as url or git instead. The largest:\n{rows}"
    )


def _shown(root: Path) -> str:
    return "/".join(root.parts[-3:])
