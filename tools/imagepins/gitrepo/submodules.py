"""Two commits → the submodules that differ between them."""

import re
from dataclasses import dataclass

from imagepins.gitrepo.cache import Repository
from imagepins.gitrepo.history import describe_commits
from imagepins.gitrepo.trees import MODE_SUBMODULE, lookup, read_file


@dataclass(frozen=True)
class SubmoduleMove:
    """A submodule's commit before and after; None where it is not there."""

    path: str
    old: str | None
    new: str | None


def submodules_moved(repository: Repository, old: str, new: str) -> tuple[SubmoduleMove, ...]:
    """Submodules that were added, removed or moved. Raises NetworkError when the trees cannot be read."""
    commits = describe_commits(repository, [old, new])
    trees = [commits[sha].tree for sha in (old, new)]
    lists = lookup(repository, trees, [".gitmodules"])
    if not any(lists.values()):
        return ()
    paths = sorted({path for tree in trees for path in _paths(read_file(repository, tree, ".gitmodules") or "")})
    entries = lookup(repository, trees, paths)

    def commit_at(tree: str, path: str) -> str | None:
        entry = entries[tree, path]
        return entry.id if entry and entry.mode == MODE_SUBMODULE else None

    both = ((path, commit_at(trees[0], path), commit_at(trees[1], path)) for path in paths)
    return tuple(SubmoduleMove(path, before, after) for path, before, after in both if before != after)


def _paths(text: str) -> list[str]:
    found = re.findall(r"^\s*path\s*=\s*(.+?)\s*$", text, re.MULTILINE)
    return [path.strip('"').strip("/") for path in found]
