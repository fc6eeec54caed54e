"""Pinned commit + pull request → what became of it, from git refs alone.

Hosts keep the head of a pull request for ever, so an open one and a closed one look alike here; ``hosting`` can tell.
"""

import re
from dataclasses import dataclass
from typing import Literal

from imagepins.gitrepo.cache import Repository, commits_of, read
from imagepins.gitrepo.history import describe_commits, is_ancestor, log, merge_base
from imagepins.gitrepo.patches import changed_files, commit_patch_id, find_equivalent, first_parent, range_patch_id
from imagepins.gitrepo.resolve import pull_refs

State = Literal["open", "updated", "elsewhere", "force-pushed", "merged", "closed", "gone"]


@dataclass(frozen=True)
class PullState:
    """``head`` is the pull's commit now. ``merged_as`` is the commit of the target branch that brought the change in,
    ``how`` by which way, and ``is_exact`` whether its content is the pinned one's."""

    number: str
    state: State
    head: str | None
    merged_as: str | None = None
    how: Literal["merge", "rebase", "squash", ""] = ""
    is_exact: bool = True

    @property
    def words(self) -> str:
        """The state in one line."""
        match self.state:
            case "merged":
                differs = "" if self.is_exact else "; the merged files differ from the pinned ones"
                return f"pull {self.number} was merged ({self.how}) as {(self.merged_as or '')[:12]}{differs}"
            case "force-pushed":
                return f"pull {self.number} was force-pushed: the pinned commit is no longer part of it"
            case "updated":
                return f"pull {self.number} is open and has newer commits"
            case "elsewhere":
                return f"pull {self.number} is open; the pinned commit is one of the branch, without the pull"
            case "gone":
                return f"pull {self.number} has no head any more"
            case _:
                return f"pull {self.number} is {self.state}"

    @property
    def needs_attention(self) -> bool:
        """Whether somebody has to decide something."""
        return self.state not in ("open", "updated")


def pull_state(repository: Repository, number: str, pinned: str, branch: str) -> PullState:
    """What became of pull ``number``, once its head and ``branch`` are in the cache. ``pinned`` must be there too."""
    refs = pull_refs(number, repository.url)
    known = commits_of(repository, [*refs, f"refs/heads/{branch}"])
    tip = known[f"refs/heads/{branch}"]
    head = next((known[ref] for ref in refs if known[ref]), None)
    if tip and (merged := _merged(repository, number, head, pinned, tip)):
        return merged
    if head is None:
        return PullState(number, "gone", None)
    if head == pinned:
        return PullState(number, "open", head)
    if is_ancestor(repository, pinned, head):
        return PullState(number, "updated", head)
    if tip and is_ancestor(repository, pinned, tip):
        return PullState(number, "elsewhere", head)
    return PullState(number, "force-pushed", head)


def _merged(repository: Repository, number: str, head: str | None, pinned: str, tip: str) -> PullState | None:
    """The head decides; the pinned commit counts where it went in another way than by being the branch's own."""
    for commit in dict.fromkeys((head, pinned)):
        if commit is None or (commit != head and head and is_ancestor(repository, commit, tip)):
            continue
        if found := _merged_commit(repository, number, commit, tip):
            merged_as, how = found
            trees = describe_commits(repository, [pinned, merged_as])
            is_exact = trees[pinned].tree == trees[merged_as].tree
            return PullState(number, "merged", head, merged_as, how, is_exact)
    return None


def _merged_commit(
    repository: Repository, number: str, commit: str, tip: str
) -> tuple[str, Literal["merge", "rebase", "squash"]] | None:
    if is_ancestor(repository, commit, tip):
        path = read(repository, "rev-list", "--first-parent", "--ancestry-path", f"{commit}..{tip}").split()
        on_branch = read(repository, "rev-list", "--first-parent", tip).split()
        return (commit if commit in set(on_branch) else path[-1]), "merge"
    base = merge_base(repository, commit, tip)
    if base is None or base == commit:
        return None
    files = changed_files(repository, base, commit)
    squashed = find_equivalent(repository, range_patch_id(repository, base, commit), files, base, tip)
    if squashed:
        return squashed, "squash"
    last_files = changed_files(repository, first_parent(repository, commit), commit)
    rebased = find_equivalent(repository, commit_patch_id(repository, commit), last_files, base, tip)
    if rebased and _has_all(repository, base, commit, tip):
        return rebased, "rebase"
    # Conflicts solved while merging change the patch; hosts still write the number into the subject.
    named = [each for each in log(repository, base, tip, limit=None) if re.search(rf"\(#{number}\)$", each.subject)]
    return (named[-1].sha, "squash") if named else None


def _has_all(repository: Repository, base: str, commit: str, tip: str) -> bool:
    for each in log(repository, base, commit, limit=None):
        files = changed_files(repository, first_parent(repository, each.sha), each.sha)
        patch = commit_patch_id(repository, each.sha)
        if patch and find_equivalent(repository, patch, files, base, tip) is None:
            return False
    return True
