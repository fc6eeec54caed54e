"""Which commits carry the change of another commit or of a whole range, told by patch-id.

A rebase keeps the patch-id of each commit; a squash merge keeps that of the whole range only.
"""

from collections.abc import Sequence

from imagepins.gitrepo.cache import Repository, read
from imagepins.gitrepo.history import Commit, describe_commits, is_ancestor, merge_base, reverted_by
from imagepins.gitrepo.objects import ObjectsUnavailable
from imagepins.gitrepo.trees import EMPTY_TREE, load_difference, touching

CANDIDATE_LIMIT = 500
_NARROWING_FILES = 3


class TooManyCandidates(ObjectsUnavailable):
    """Whether a change is contained is not known: more commits touch its files than are compared."""


def range_patch_id(repository: Repository, old: str, new: str) -> str | None:
    """Patch-id of everything between two commits, or None where they hold the same files."""
    _load(repository, old, new)
    diff = read(repository, "diff-tree", "-p", "--binary", "--no-renames", old, new)
    words = read(repository, "patch-id", "--stable", stdin=diff).split()
    return words[0] if words else None


def commit_patch_id(repository: Repository, commit: str) -> str | None:
    """Patch-id of one commit against its first parent, or None for an empty one."""
    return range_patch_id(repository, first_parent(repository, commit), commit)


def changed_files(repository: Repository, old: str, new: str) -> list[str]:
    """Paths that differ between two commits."""
    _load(repository, old, new)
    text = read(repository, "diff-tree", "-r", "-z", "--name-only", "--no-renames", old, new)
    return [path for path in text.split("\0") if path]


def first_parent(repository: Repository, commit: str) -> str:
    """The commit before ``commit``, or the empty tree for a first one."""
    return read(repository, "rev-parse", "--verify", "--quiet", f"{commit}^1", check=False).strip() or EMPTY_TREE


def find_equivalent(repository: Repository, patch: str | None, files: Sequence[str], base: str, tip: str) -> str | None:
    """The newest commit of ``base..tip`` that makes the change ``patch``, looking only where ``files`` were touched.

    Raises TooManyCandidates where none of the newest does and there are more.
    """
    if patch is None or not files:
        return None
    candidates = _touching_all(repository, base, tip, files)
    for commit in candidates[:CANDIDATE_LIMIT]:
        if commit_patch_id(repository, commit.sha) == patch:
            return commit.sha
    if len(candidates) > CANDIDATE_LIMIT:
        raise TooManyCandidates(
            f"{repository.url}: {len(candidates)} commits touch the same files, {CANDIDATE_LIMIT} were compared"
        )
    return None


def _touching_all(repository: Repository, base: str, tip: str, files: Sequence[str]) -> list[Commit]:
    """A commit with the change touches each of its files; a few, deep in the tree, narrow the search enough."""
    narrow = sorted(files, key=lambda path: (-path.count("/"), path))[:_NARROWING_FILES]
    found = list(touching(repository, base, tip, narrow[:1]))
    for path in narrow[1:]:
        if found:
            shas = {commit.sha for commit in touching(repository, base, tip, [path])}
            found = [commit for commit in found if commit.sha in shas]
    return found


def contained_as(repository: Repository, commit: str, tip: str) -> str | None:
    """The commit by which ``tip`` contains the change of ``commit``: itself or a copy; None where that was reverted."""
    found = commit if is_ancestor(repository, commit, tip) else _copy_of(repository, commit, tip)
    return found if found and not reverted_by(repository, found, tip) else None


def _copy_of(repository: Repository, commit: str, tip: str) -> str | None:
    base = merge_base(repository, commit, tip)
    if base is None:
        return None
    files = changed_files(repository, first_parent(repository, commit), commit)
    return find_equivalent(repository, commit_patch_id(repository, commit), files, base, tip)


def _load(repository: Repository, old: str, new: str) -> None:
    shas = [each for each in (old, new) if each != EMPTY_TREE]
    trees = {sha: commit.tree for sha, commit in describe_commits(repository, shas).items()}
    load_difference(repository, trees.get(old, EMPTY_TREE), trees[new])
