"""Root trees + paths → what stands there, fetching only the trees along the paths, one round trip per level.

A mono-repo's trees are far larger than its commits, so neither a blob-less clone nor git's own one-by-one fetching
will do: for a thousand commits and ``projects/rccl`` this takes two requests.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from imagepins.gitrepo.cache import Repository, read
from imagepins.gitrepo.history import Commit, describe_commits, log
from imagepins.gitrepo.memo import recall, remember
from imagepins.gitrepo.objects import ObjectsUnavailable, require

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
MODE_TREE = "040000"
MODE_SUBMODULE = "160000"
RANGE_LIMIT = 20_000
"""Commits beyond which a range is not searched: one request would carry them all."""
_NOTHING = "0" * 40
_RAW = re.compile(r":(?P<old_mode>\d{6}) (?P<mode>\d{6}) (?P<old>[0-9a-f]{40}) (?P<id>[0-9a-f]{40}) \w\t(?P<name>.*)")


@dataclass(frozen=True)
class Entry:
    """What a tree holds under a name: git's mode and the object's id."""

    mode: str
    id: str


def lookup(repository: Repository, trees: Iterable[str], paths: Sequence[str]) -> dict[tuple[str, str], Entry | None]:
    """``(tree, path)`` → what stands there, or None. Raises ObjectsUnavailable."""
    reached = {
        (tree, path): Entry(MODE_TREE, tree) if tree else None for tree in dict.fromkeys(trees) for path in paths
    }
    for level in range(max((path.count("/") + 1 for path in paths), default=0)):
        deeper = {key: entry for key, entry in reached.items() if len(key[1].split("/")) > level}
        nodes = {entry.id for entry in deeper.values() if entry and entry.mode == MODE_TREE}
        names = {key[1].split("/")[level] for key in deeper}
        children = _children(repository, nodes, names)
        for key, entry in deeper.items():
            reached[key] = children.get((entry.id, key[1].split("/")[level])) if entry else None
    return reached


def touching(repository: Repository, old: str, new: str, paths: Sequence[str]) -> tuple[Commit, ...]:
    """Commits of ``new`` that ``old`` lacks and that change something under ``paths``, newest first.

    A merge counts if it differs there from each of its parents. Done here and not by ``git log -- PATH``, which reads
    every tree below the paths. Raises ObjectsUnavailable.
    """
    question = ("touching", old, new, *paths)
    if (known := recall(repository, *question)) is not None:
        return tuple(describe_commits(repository, known).values())
    found = _search(repository, old, new, paths)
    remember(repository, [commit.sha for commit in found], *question)
    return found


def _search(repository: Repository, old: str, new: str, paths: Sequence[str]) -> tuple[Commit, ...]:
    commits = log(repository, old, new, limit=RANGE_LIMIT)
    if len(commits) == RANGE_LIMIT:
        raise ObjectsUnavailable(f"{repository.url}: {RANGE_LIMIT} commits or more, not searched for paths")
    trees = {commit.sha: commit.tree for commit in commits}
    outside = {parent for commit in commits for parent in commit.parents if parent not in trees}
    trees |= {sha: commit.tree for sha, commit in describe_commits(repository, sorted(outside)).items()}
    entries = lookup(repository, trees.values(), paths)

    def is_changed(commit: Commit) -> bool:
        before = [trees[parent] for parent in commit.parents] or [EMPTY_TREE]
        return all(any(entries.get((tree, path)) != entries[commit.tree, path] for path in paths) for tree in before)

    return tuple(commit for commit in commits if is_changed(commit))


def read_file(repository: Repository, tree: str, path: str) -> str | None:
    """Text of one file, or None where it is not there. Raises ObjectsUnavailable."""
    entry = lookup(repository, [tree], [path])[(tree, path)]
    if entry is None or entry.mode in (MODE_TREE, MODE_SUBMODULE):
        return None
    require(repository, [entry.id])
    return read(repository, "cat-file", "blob", entry.id)


def load_difference(repository: Repository, old: str, new: str) -> None:
    """Bring in what a full diff between two trees reads: the trees and files that differ. Raises ObjectsUnavailable."""
    pairs = {(old, new)} if old != new else set()
    files: set[str] = set()
    while pairs:
        require(repository, {tree for pair in pairs for tree in pair} - {EMPTY_TREE})
        lines = "".join(f"{before} {after}\n" for before, after in sorted(pairs))
        pairs = set()
        for raw in map(
            _RAW.fullmatch, read(repository, "diff-tree", "--stdin", "--no-renames", stdin=lines).split("\n")
        ):
            if raw and MODE_TREE in (raw["old_mode"], raw["mode"]):
                before = raw["old"] if raw["old_mode"] == MODE_TREE else EMPTY_TREE
                pairs.add((before, raw["id"] if raw["mode"] == MODE_TREE else EMPTY_TREE))
            if raw:
                modes = ((raw["old_mode"], raw["old"]), (raw["mode"], raw["id"]))
                files.update(each for mode, each in modes if mode not in (MODE_TREE, MODE_SUBMODULE))
    require(repository, files - {_NOTHING})


def _children(repository: Repository, trees: set[str], names: set[str]) -> dict[tuple[str, str], Entry]:
    trees = trees - {EMPTY_TREE}
    if not trees:
        return {}
    require(repository, trees)
    pairs = "".join(f"{EMPTY_TREE} {tree}\n" for tree in sorted(trees))
    arguments = ["-c", "core.quotePath=false", "--literal-pathspecs", "diff-tree", "--stdin", "--no-renames", "--"]
    found: dict[tuple[str, str], Entry] = {}
    current = ""
    for line in read(repository, *arguments, *sorted(names), stdin=pairs).splitlines():
        if raw := _RAW.fullmatch(line):
            found[current, raw["name"]] = Entry(raw["mode"], raw["id"])
        else:
            current = line.split()[-1]
    return found
