"""Commits in the cache → who, when, in which relation to one another, and what lies between them."""

from collections.abc import Iterable
from dataclasses import dataclass

from imagepins.columns import counted
from imagepins.errors import NetworkError
from imagepins.gitrepo.cache import Repository, read
from imagepins.gitrepo.memo import recall, remember

LOG_LIMIT = 20
_FIELDS = "%H%x00%T%x00%cI%x00%an%x00%s%x00%P"


@dataclass(frozen=True)
class Commit:
    """``date`` is the committer's, in ISO 8601 with offset; ``tree`` identifies the content."""

    sha: str
    tree: str
    date: str
    author: str
    subject: str
    parents: tuple[str, ...] = ()


@dataclass(frozen=True)
class Relation:
    """How a new commit stands to an old one: ``ahead`` commits only the new one has, ``behind`` only the old one."""

    ahead: int
    behind: int

    @property
    def is_forward(self) -> bool:
        """Whether the new commit contains the old one."""
        return self.behind == 0

    @property
    def words(self) -> str:
        """The relation as people say it."""
        if not self.ahead and not self.behind:
            return "the same commit"
        if not self.behind:
            return f"{counted(self.ahead, 'commit')} ahead"
        if not self.ahead:
            return f"{counted(self.behind, 'commit')} BEFORE"
        return f"diverged: {counted(self.ahead, 'commit')} ahead, {counted(self.behind, 'commit')} missing"


def describe_commits(repository: Repository, shas: Iterable[str]) -> dict[str, Commit]:
    """What the cache knows of ``shas``, all of which must be in it."""
    wanted = list(dict.fromkeys(shas))
    if not wanted:
        return {}
    arguments = ["log", "--no-walk=unsorted", "--stdin", "-z", f"--format={_FIELDS}"]
    return {each.sha: each for each in _parsed(read(repository, *arguments, stdin="\n".join(wanted) + "\n"))}


def relate(repository: Repository, old: str, new: str) -> Relation:
    """Count what lies between two commits of the cache."""
    _refuse_shallow(repository)
    counts = recall(repository, "relate", old, new)
    if counts is None:
        counts = read(repository, "rev-list", "--left-right", "--count", f"{old}...{new}").split()
        remember(repository, counts, "relate", old, new)
    behind, ahead = map(int, counts)
    return Relation(ahead, behind)


def is_ancestor(repository: Repository, ancestor: str, descendant: str) -> bool:
    """Whether ``descendant`` contains ``ancestor``."""
    _refuse_shallow(repository)
    if ancestor == descendant:
        return True
    # rev-list rather than merge-base: an exit code of 1 could also be an error.
    return not read(repository, "rev-list", "--max-count=1", ancestor, f"^{descendant}").strip()


def merge_base(repository: Repository, one: str, other: str) -> str | None:
    """The best common ancestor, or None for unrelated histories."""
    _refuse_shallow(repository)
    found = read(repository, "merge-base", one, other, check=False).split()
    return found[0] if found else None


def log(repository: Repository, old: str, new: str, *, limit: int | None = LOG_LIMIT) -> tuple[Commit, ...]:
    """Commits of ``new`` that ``old`` lacks, newest first."""
    capped = [f"--max-count={limit}"] if limit is not None else []
    return tuple(_parsed(read(repository, "log", "-z", f"--format={_FIELDS}", *capped, new, f"^{old}", "--")))


def reverted_by(repository: Repository, commit: str, tip: str) -> str | None:
    """The commit between ``commit`` and ``tip`` that says it reverts the former and is not itself reverted, or None."""
    said = ["--fixed-strings", f"--grep=This reverts commit {commit}"]
    found = read(repository, "log", "--format=%H", *said, tip, f"^{commit}", "--").split()
    return next((each for each in found if reverted_by(repository, each, tip) is None), None)


def _parsed(text: str) -> Iterable[Commit]:
    # -z ends each record with the byte that also parts its fields.
    fields = text.split("\0")
    for start in range(0, len(fields) - 5, 6):
        sha, tree, date, author, subject, parents = fields[start : start + 6]
        yield Commit(sha, tree, date, author, subject, tuple(parents.split()))


def _refuse_shallow(repository: Repository) -> None:
    if (repository.path / "shallow").exists():
        raise NetworkError(
            f"{repository.url}: {repository.address} holds a shallow clone, which cannot tell what contains what; "
            "give it the whole history (git fetch --unshallow)"
        )
