"""Patterns of COPY and ADD → the files of ``images/IMAGE/context/`` that a build needs, and nothing else.

A build never sees the repository: its context is a folder this tool fills with these files. So no .dockerignore is
needed, whose rules differ between clients (docker/docker-py#1471), and no context grows unnoticed.

A link that a COPY line names is followed, as BuildKit does, with the context as its root: the link, every link behind
it and what it leads to belong to the context. Links below a folder that is copied stay links. What is called
.git never belongs to it.
"""

import os
import posixpath
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path, PurePosixPath

from imagepins.errors import PinsError
from imagepins.plan.stages import Use

LIMIT_BYTES = 50 * 1024 * 1024
"""Largest context, in bytes: what is bigger belongs into a pin of kind url or git."""

GIT_DIR = ".git"
"""What git keeps of a repository or submodule. It differs between checkouts, so it is in no context."""

MAX_LINKS = 40
"""Links followed on the way to one file, as Linux does."""

_SPECIAL = re.compile(r"[*?\[\\]")
_TOKENS = re.compile(r"\\(.)|\[(\^?)((?:\\.|[^\]\\])+)\]|(\*)|(\?)|(.)", re.DOTALL)
_IGNORING = (".dockerignore", "Dockerfile.dockerignore")


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

    Raises PinsError for a pattern that takes nothing, or a link to nothing, that leaves the context, for more than
    LIMIT_BYTES, and for a .dockerignore, which would hide from the build what the hash counts.
    """
    for name in _IGNORING:
        if (root / name).is_symlink() or (root / name).exists():
            raise PinsError(
                f"{_shown(root)}/{name}: remove it; a build gets the files that COPY and ADD name, and nothing else"
            )
    chosen: set[Path] = set()
    for use in uses:
        matched = list(_matches(root, use, dockerfile))
        if not matched:
            raise PinsError(f"{dockerfile}:{use.line}: '{use.name}' matches nothing in {_shown(root)}/")
        chosen.update(matched)
    files = tuple(describe(root, path) for path in sorted(chosen))
    total = sum(each.size for each in files)
    if total > LIMIT_BYTES:
        raise PinsError(_too_large(root, files, total, dockerfile))
    return files


def _matches(root: Path, use: Use, dockerfile: str) -> Iterator[Path]:
    parts = PurePosixPath(posixpath.normpath(use.name.lstrip("/") or ".")).parts
    if ".." in parts:
        raise PinsError(f"{dockerfile}:{use.line}: '{use.name}' leaves the build context; put the file below it")
    if GIT_DIR in parts:
        raise PinsError(f"{dockerfile}:{use.line}: '{use.name}' differs between checkouts; no context holds {GIT_DIR}")
    for path in _glob(root, root, parts):
        links, end = _follow(root, path)
        if end is None or not os.path.lexists(end):
            if links:
                raise PinsError(f"{dockerfile}:{use.line}: '{use.name}' leads to nothing in {_shown(root)}/, by links")
            continue
        yield from links
        if end.is_dir():
            yield from _below(end)
        else:
            yield end


def _glob(root: Path, directory: Path, parts: tuple[str, ...]) -> Iterator[Path]:
    """Paths below ``directory`` that the parts of a pattern match, as Go's matcher has it: it differs from Python's.

    ``**`` is any directories below, as it is for COPY --parents; without that flag too much is taken, which does no
    harm.
    """
    if not parts:
        yield directory
        return
    first, rest = parts[0], parts[1:]
    here = _follow(root, directory)[1]
    if here is None or not here.is_dir():
        return
    if not _SPECIAL.search(first):
        yield from _glob(root, directory / first, rest) if os.path.lexists(here / first) else ()
        return
    if first == "**":
        yield from _glob(root, directory, rest)
    for name in sorted(path.name for path in here.iterdir() if path.name != GIT_DIR):
        path = directory / name
        if first == "**":
            yield from _glob(root, path, parts) if path.is_dir() and not path.is_symlink() else ()
        elif _regex(first).fullmatch(name):
            yield from _glob(root, path, rest)


def _below(directory: Path) -> Iterator[Path]:
    """Files and links below a directory, without what git keeps there."""
    for here, folders, files in os.walk(directory):
        folders[:] = [name for name in folders if name != GIT_DIR]
        links = [name for name in folders if (Path(here) / name).is_symlink()]
        yield from (Path(here) / name for name in (*links, *files) if name != GIT_DIR)


@cache
def _regex(part: str) -> re.Pattern[str]:
    """One part of a pattern: ``*``, ``?``, ``[a-z]``, ``[^a]`` and ``\\`` before what stands for itself."""
    out: list[str] = []
    for escaped, negation, members, star, question, plain in _TOKENS.findall(part):
        inside = re.sub(r"\\(.)|([^\w-])", lambda match: re.escape(match[1] or match[2]), members)
        special = ".*" if star else "." if question else f"[{negation}{inside}]" if members else ""
        out.append(special or re.escape(escaped or plain))
    return re.compile("".join(out), re.DOTALL)


def _follow(root: Path, path: Path) -> tuple[list[Path], Path | None]:
    """Links on the way to ``path``, and where it ends; None where that goes round in a circle.

    ``root`` is the root of absolute links, too, and nothing leads out of it, whatever lies on this machine.
    """
    links: list[Path] = []
    here, rest = root, list(path.relative_to(root).parts)
    while rest:
        part = rest.pop(0)
        if part == "..":
            here = here.parent if here != root else root
        elif not (step := here / part).is_symlink():
            here = step
        elif len(links) == MAX_LINKS:
            return links, None
        else:
            links.append(step)
            target = step.readlink()
            here = root if target.is_absolute() else here
            rest = [*(part for part in target.parts if part != target.anchor), *rest]
    return links, here


def describe(root: Path, path: Path) -> ContextFile:
    """What ``path`` below ``root`` is now. Raises PinsError for what a build cannot take."""
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
