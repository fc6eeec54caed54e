"""What is fetched into a repository's cache, and what git says of it without asking anybody.

Every ref of the server is kept under a name of our own, ``refs/ip/HASH-``, where neither a branch that turned into a
directory nor letter case can clash. Objects are never thrown away, so a commit seen once stays known.
"""

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

from imagepins.errors import NetworkError, RefError
from imagepins.gitrepo.command import FETCH_SECONDS, git, git_remote, last_words
from imagepins.gitrepo.store import PARTIAL, empty, is_damaged, is_rotten, locked, remove_left_locks, tidy
from imagepins.gitrepo.store import Repository as Repository
from imagepins.gitrepo.store import cache_root as cache_root
from imagepins.gitrepo.store import open_repository as open_repository
from imagepins.pins.text import masked
from imagepins.process import ProcessFailed
from imagepins.writing import replace_text

_SHA = re.compile(r"[0-9a-f]{40}")
COMMITS_ONLY = "tree:0"
"""What a cache leaves out at first: folders and files."""


class Unreadable(ProcessFailed):
    """The cache does not hold what is asked of it, or is damaged."""

    exit_code = NetworkError.exit_code


class Damaged(Unreadable):
    """Files of the cache are not what git wrote. Opened again, it is made anew."""


def absent(repository: Repository, what: str) -> RefError | NetworkError:
    """The error for ``what``, which the cache does not hold: offline, nobody said that it does not exist."""
    if repository.is_offline:
        hint = "offline, nobody was asked whether it exists; ask again without --offline"
        return NetworkError(f"{what} is not in the cache of {repository.url}: {hint}")
    return RefError(f"{what} does not exist on {repository.url}")


def fetch_refs(repository: Repository, refs: Iterable[str]) -> None:
    """Bring the history of ``refs`` (full names) into the cache; what the server no longer has is forgotten.

    One look-up for all of them: each is asked for as a prefix, so that neither the server's other refs are sent nor
    a missing one is an error. Raises NetworkError, and RefError where the repository's commits are not of our kind.
    """
    wanted = [f"+{ref}*:{_local(ref)}*" for ref in dict.fromkeys(refs)]
    if not wanted or repository.is_offline:
        return
    arguments = ["--prune", filter_option(repository), "origin", *wanted]
    with locked(repository):
        reason = fetch(repository, arguments)
        if reason and is_damaged(repository, reason):
            empty(repository)
            reason = fetch(repository, arguments)
        tidy(repository)
    if reason and "mismatched algorithms" in reason:
        raise RefError(f"{repository.url}: names commits by SHA-256; pins hold SHA-1 commits, of 40 hex digits, only")
    if reason:
        raise NetworkError(f"{repository.url}: git fetch: {reason}")


def default_branch(repository: Repository) -> tuple[str | None, str | None]:
    """Name of the server's default branch, now and when it was last asked for. Raises NetworkError.

    Only a clone asks for HEAD alone: ls-remote would have every ref sent.
    """
    noted = repository.path / "default-branch"
    before = noted.read_text(errors="replace").strip() if noted.exists() else None
    if repository.is_offline:
        return before, before
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(dir=repository.path) as folder:
        bare = ["clone", "--quiet", "--bare", "--template=", "--depth=1", "--no-tags", "--single-branch"]
        bare += [f"--filter={COMMITS_ONLY}", repository.address, "head"]
        done = git_remote(bare, url=repository.url, cwd=Path(folder), stop=repository.stop)
        if done.code != 0:
            raise NetworkError(f"{repository.url}: git clone: {last_words(done.stderr)}")
        here = f"--git-dir={folder}/head"
        symbolic = git([here, "symbolic-ref", "HEAD"], cwd=Path(folder), check=False).stdout.strip()
    name = symbolic.removeprefix("refs/heads/") or None
    replace_text(noted, f"{name or ''}\n")
    return name, before


def fetch_commit(repository: Repository, sha: str) -> str | None:
    """Bring one commit and its history into the cache; the server's reason where it does not hand it out.

    Not the commit alone (``--depth=1``), though that would do to see that it exists: what contains it is asked next,
    which takes the history, and git marks a cache that holds a cut-off one as shallow, for all that is asked of it.
    """
    if repository.is_offline:
        return "not asked: offline"
    with locked(repository):
        return fetch(repository, [filter_option(repository), "origin", sha])


def filter_option(repository: Repository) -> str:
    """What git fetch leaves out: less, from the day on that the server did not hand out single files."""
    chosen = chosen_filter(repository)
    return f"--filter={chosen}" if chosen else "--no-filter"


def chosen_filter(repository: Repository) -> str:
    """The filter of this cache, '' for none."""
    try:
        noted = (repository.path / "filter").read_text(errors="replace").strip()
    except FileNotFoundError:
        return COMMITS_ONLY
    return noted if noted in ("", "blob:none") else COMMITS_ONLY


def choose_filter(repository: Repository, chosen: str) -> None:
    """Leave out ``chosen`` from now on, so that what is new is as whole as what is there."""
    replace_text(repository.path / "filter", f"{chosen}\n")


def read(repository: Repository, *arguments: str, stdin: str | None = None, check: bool = True) -> str:
    """What git says of the cache, without asking the server. Raises Unreadable."""
    try:
        return git([repository.here, *arguments], cwd=repository.path, stdin=stdin, check=check).stdout
    except ProcessFailed as error:
        hint = f"{error.output.strip()}\nif that stays, remove the cache of {repository.url}: {repository.path}"
        kind = Damaged if not repository.is_offline and is_rotten(repository, error.output) else Unreadable
        raise kind(["git", *arguments], error.reason, code=error.code, output=hint) from error


def commits_of(repository: Repository, expressions: Iterable[str]) -> dict[str, str | None]:
    """Full refs or shas → the commit each leads to (tags are peeled), or None where the cache has none."""
    names = list(dict.fromkeys(expressions))
    known: dict[str, str | None] = {name: _branch_tip(repository, name) for name in names}
    asked = [name for name in names if known[name] is None]
    if asked:
        lines = [f"{_local(name) if _is_ref(name) else name}^{{commit}}\n" for name in asked]
        answer = read(repository, "cat-file", "--batch-check=%(objectname)", stdin="".join(lines))
        for name, line in zip(asked, answer.splitlines(), strict=True):
            known[name] = line if _SHA.fullmatch(line) else None
    return known


def _branch_tip(repository: Repository, name: str) -> str | None:
    """What a ref that is always a commit holds, read without a process where git keeps it in a file of its own."""
    if not _is_ref(name) or name.startswith("refs/tags/"):
        return None
    try:
        found = (repository.path / _local(name)).read_text().strip()
    except OSError:
        return None
    return found if _SHA.fullmatch(found) else None


def tips_below(repository: Repository, prefixes: Iterable[str]) -> list[str]:
    """Objects, in the cache, of every ref fetched as one of whole ``prefixes`` such as ``refs/heads/``."""
    # For git a star ends at the next slash.
    patterns = [f"{_local(prefix)}{stars}" for prefix in prefixes for stars in ("*", "*/**")]
    return read(repository, "for-each-ref", "--format=%(objectname)", *patterns).split()


def refs_merged(repository: Repository, commit: str, prefix: str) -> dict[str, str]:
    """Refs fetched with ``prefix`` that ``commit`` contains, newest first: name → what the cache calls it."""
    arguments = ["for-each-ref", f"--merged={commit}", "--sort=-creatordate", "--format=%(refname)", "refs/ip/"]
    own = _local(prefix)
    return {prefix + ref.removeprefix(own): ref for ref in read(repository, *arguments).split() if ref.startswith(own)}


def _is_ref(name: str) -> bool:
    return name.startswith("refs/") or name == "HEAD"


def _local(ref: str) -> str:
    return f"refs/ip/{hashlib.sha256(ref.encode()).hexdigest()[:20]}-"


def fetch(
    repository: Repository, arguments: Iterable[str], settings: Iterable[str] = (), *, stdin: str | None = None
) -> str | None:
    """Run git fetch in the cache, which the caller has locked; the server's reason where it does not do so.

    Raises NetworkError when there is no answer.
    """
    # Not --quiet, under which git says nothing of an address that leads elsewhere.
    how = ["fetch", "--no-progress", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"]
    # A shallow server's refs are taken as well, so that its state is known; without this git would look for the
    # missing parents in a process of its own, which would look for them in a process of its own.
    how.append("--update-shallow")
    argv = [repository.here, *PARTIAL, *settings, *how, *arguments]
    reason = _fetched(repository, argv, stdin)
    if reason and remove_left_locks(repository, reason):
        reason = _fetched(repository, argv, stdin)
    return reason


def _fetched(repository: Repository, argv: list[str], stdin: str | None) -> str | None:
    done = git_remote(
        argv, url=repository.url, cwd=repository.path, stdin=stdin, timeout=FETCH_SECONDS, stop=repository.stop
    )
    if moved := re.search(r"^warning: redirecting to (\S+?)/?$", done.stderr, re.MULTILINE):
        repository.warn_once(
            f"{repository.url} leads to {masked(moved[1])} now; "
            "write that into pins.yaml, for others may come to own the old address"
        )
    return None if done.code == 0 else last_words(done.stderr)
