"""One bare cache per repository under the user's cache folder: where it is, its lock, and keeping it sound."""

import fcntl
import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

from imagepins.dirlock import acquire
from imagepins.errors import NetworkError, UsageError
from imagepins.gitrepo.command import FETCH_SECONDS, git
from imagepins.gitrepo.url import git_address
from imagepins.terminal import to_stderr

# Given with each fetch and never stored: with these in the cache's configuration, git would fetch whatever it misses
# while reading, one object at a time.
PARTIAL = ("-c", "remote.origin.promisor=true", "-c", "remote.origin.partialclonefilter=tree:0")
PACK_LIMIT = 100
"""Packs a cache may hold; every fetch adds one, and git looks into all of them."""

_DAMAGE = re.compile(
    r"corrupt|bad object|unable to read|loose object|packfile .* (cannot|not)|did not send all necessary objects"
    r"|not a git repository|bad config|unable to resolve reference|index file|unknown object type|inflate",
    re.IGNORECASE,
)
_ROT = re.compile(
    r"inflate|is corrupt|packfile .* (cannot|not)|(sha1|hash|checksum) mismatch|garbage at end|unknown object type",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Repository:
    """A repository (``url`` as pinned, ``address`` where it is asked for) and its cache.

    ``is_offline`` asks nobody; once ``stop`` is set, asking ends. ``warn`` is told of detours.
    """

    url: str
    address: str
    path: Path
    is_offline: bool = False
    stop: Event | None = field(default=None, compare=False)
    warn: Callable[[str], None] = field(default=to_stderr, compare=False)
    _told: set[str] = field(default_factory=set, compare=False)

    def warn_once(self, message: str) -> None:
        """``warn`` of what every request would tell again."""
        if message not in self._told:
            self._told.add(message)
            self.warn(message)

    @property
    def here(self) -> str:
        """The option that makes git work in the cache and nowhere else.

        Left to look for a repository by itself, git goes on to the folders above one that is none, and refuses bare
        ones where the user's safe.bareRepository says so.
        """
        return f"--git-dir={self.path}"


def cache_root(env: Mapping[str, str] | None = None) -> Path:
    """The folder all caches live in: XDG_CACHE_HOME/imagepins, by default ~/.cache/imagepins.

    Raises UsageError for a user without a home, as containers have them.
    """
    base = (env or os.environ).get("XDG_CACHE_HOME", "")
    try:
        return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "imagepins"
    except RuntimeError as error:
        raise UsageError("this user has no home directory; name a cache folder by XDG_CACHE_HOME") from error


def open_repository(
    url: str, mirrors: Mapping[str, str], root: Path, *, is_offline: bool = False, stop: Event | None = None
) -> Repository:
    """Name the cache of ``url`` below ``root`` and make it where it is missing.

    Raises RefError for a refused URL, UsageError where the cache folder cannot be written.
    """
    address = git_address(url, mirrors)
    name = re.sub(r"[^a-z0-9.]+", "-", url.lower().removesuffix(".git")).strip("-")[-60:]
    path = root / "git" / f"{name}-{hashlib.sha256(address.encode()).hexdigest()[:12]}.git"
    repository = Repository(url, address, path, is_offline, stop)
    try:
        path.mkdir(parents=True, exist_ok=True)
        if not _is_sound(path):
            with locked(repository):
                empty(repository)
    except OSError as error:
        raise UsageError(f"{root}: {error.strerror}; name another cache folder by XDG_CACHE_HOME") from error
    return repository


@contextmanager
def locked(repository: Repository) -> Iterator[None]:
    """Hold this cache for one writer; parallel runs wait their turn. Raises NetworkError when that takes too long."""
    handle = os.open(repository.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if not acquire(handle, fcntl.LOCK_EX, FETCH_SECONDS, stop=repository.stop):
            raise NetworkError(f"{repository.url}: another run has been fetching for {FETCH_SECONDS:g} s")
        yield
    finally:
        os.close(handle)


def empty(repository: Repository) -> None:
    """Begin the cache anew, unless another run just did. The folder itself stays, since it carries the lock."""
    path = repository.path
    if _is_sound(path):
        return
    for child in path.iterdir():
        shutil.rmtree(child) if child.is_dir() and not child.is_symlink() else child.unlink()
    git(["init", "--quiet", "--bare", "--template=", "--object-format=sha1", str(path)], cwd=path)
    git([repository.here, "config", "remote.origin.url", repository.address], cwd=path)
    (path / "imagepins").write_text(f"{repository.url}\n", encoding="utf-8")


def _is_sound(path: Path) -> bool:
    """Whether the folder is a cache of ours, by what git itself looks at to tell a repository, with all history."""
    try:
        head, config = ((path / name).read_bytes() for name in ("HEAD", "config"))
    except FileNotFoundError:
        return False
    is_whole = head.startswith(b"ref: refs/") and config.startswith(b"[core]")
    # A server's history that was cut off may be whole now.
    is_cut_off = (path / "shallow").exists()
    return is_whole and not is_cut_off and all((path / part).exists() for part in ("imagepins", "objects", "refs"))


def is_damaged(repository: Repository, reason: str) -> bool:
    """Whether what git says for ``reason`` speaks of the cache, which then is marked for ``empty``."""
    return not reason.startswith("remote:") and _is_marked(repository, _DAMAGE.search(reason))


def is_rotten(repository: Repository, output: str) -> bool:
    """Whether git met bytes that it never wrote, and not only something missing; the cache then is marked as well."""
    return _is_marked(repository, _ROT.search(output))


def _is_marked(repository: Repository, found: re.Match[str] | None) -> bool:
    if found:
        (repository.path / "imagepins").unlink(missing_ok=True)
    return found is not None


def tidy(repository: Repository) -> None:
    """Join the packs of many fetches into one."""
    packs = repository.path / "objects/pack"
    if len(list(packs.glob("*.pack"))) > PACK_LIMIT:
        argv = [repository.here, *PARTIAL, "repack", "-a", "-d", "-k", "-q"]
        git(argv, cwd=repository.path, check=False, timeout=FETCH_SECONDS)


def remove_left_locks(repository: Repository, reason: str) -> bool:
    """Remove the lock files of a killed git where those are the reason. To be called under the lock."""
    if "File exists" not in reason:
        return False
    for left in [*repository.path.glob("*.lock"), *(repository.path / "refs").rglob("*.lock")]:
        left.unlink(missing_ok=True)
    return True
