"""Pinned commit + pull request → what became of it, from git refs alone.

Hosts keep the head of a pull request for ever, so an open one and a closed one look alike here; ``hosting`` can tell.
"""

import re
from dataclasses import dataclass, replace
from typing import Literal

from imagepins.gitrepo.cache import Repository, absent, commits_of, read
from imagepins.gitrepo.history import describe_commits, is_ancestor, log, merge_base, reverted_by
from imagepins.gitrepo.patches import (
    TooManyCandidates,
    changed_files,
    commit_patch_id,
    find_equivalent,
    first_parent,
    range_patch_id,
)
from imagepins.gitrepo.resolve import pull_refs

_PROBABLY = "probably merged"
State = Literal["open", "updated", "elsewhere", "force-pushed", "merged", "closed", "gone"]


@dataclass(frozen=True)
class PullState:
    """``head`` is the pull's commit now. ``merged_as`` is the commit of the target branch that brought the change in,
    ``how`` by which way, and ``is_exact`` whether its content is the pinned one's.

    ``is_settled`` says that the pinned commit is one of the branch and has the merged change: nothing is left to do.
    ``is_sure`` says that the host itself was asked, and ``doubt`` what could not be told; it never makes a target.
    """

    number: str
    state: State
    head: str | None
    pinned: str
    merged_as: str | None = None
    how: Literal["merge", "rebase", "squash", ""] = ""
    is_exact: bool = True
    is_settled: bool = False
    is_sure: bool = False
    doubt: str = ""

    @property
    def words(self) -> str:
        """The state in one line."""
        return f"pull {self.number} {self._said}" + (f"; {self.doubt}" if self.doubt else "")

    @property
    def _said(self) -> str:
        match self.state:
            case "merged":
                said = f"was merged ({self.how}) as {(self.merged_as or '')[:12]}"
                if self.is_settled:
                    return f"{said}, which the pinned commit has"
                return said if self.is_exact else f"{said}; the merged files differ from the pinned ones"
            case "force-pushed":
                return "was force-pushed: the pinned commit is no longer part of it"
            case "updated":
                return f"has newer commits; it {self._open}"
            case "elsewhere":
                return f"{self._open}; the pinned commit is one of the branch, without the pull"
            case "open":
                return self._open
            case "gone":
                return "has no head any more"
            case _:
                return f"is {self.state}"

    @property
    def _open(self) -> str:
        return "is open" if self.is_sure else "is open, or was closed (refs alone do not tell)"

    @property
    def needs_attention(self) -> bool:
        """Whether somebody has to decide something."""
        is_in_order = self.state in ("open", "updated") or self.is_settled
        return not is_in_order or self.doubt.startswith(_PROBABLY)


@dataclass(frozen=True)
class _Merge:
    commit: str
    how: Literal["merge", "rebase", "squash"]


def pull_state(repository: Repository, number: str, pinned: str, branch: str) -> PullState:
    """What became of pull ``number``, once its head and ``branch`` are in the cache. ``pinned`` must be there too.

    Raises NetworkError where, offline, the cache holds too little to tell.
    """
    refs = pull_refs(number, repository.url)
    known = commits_of(repository, [*refs, f"refs/heads/{branch}"])
    tip = known[f"refs/heads/{branch}"]
    head = next((known[ref] for ref in refs if known[ref]), None)
    if repository.is_offline and (head is None or tip is None):
        raise absent(repository, f"branch {branch}" if head else f"the head of pull {number}")
    state = PullState(number, _unmerged(repository, head, pinned, tip), head, pinned)
    if tip is None:
        return state
    try:
        if merge := _merge(repository, head, pinned, tip):
            return _merged(repository, state, tip, merge)
        return replace(state, doubt=_probable_merge(repository, number, head or pinned, tip))
    except TooManyCandidates as error:
        return replace(state, doubt=f"whether it was merged is not known: {error}")


def _unmerged(repository: Repository, head: str | None, pinned: str, tip: str | None) -> State:
    if head is None:
        return "gone"
    if head == pinned:
        return "open"
    if is_ancestor(repository, pinned, head):
        return "updated"
    return "elsewhere" if tip and is_ancestor(repository, pinned, tip) else "force-pushed"


def _merged(repository: Repository, state: PullState, tip: str, merge: _Merge) -> PullState:
    trees = describe_commits(repository, [state.pinned, merge.commit])
    is_exact = trees[state.pinned].tree == trees[merge.commit].tree
    is_settled = is_on_the_way(repository, merge.commit, state.pinned, tip)
    merged = replace(state, state="merged", merged_as=merge.commit, how=merge.how)
    undoing = reverted_by(repository, merge.commit, tip)
    doubt = f"{undoing[:12]} has taken it back since" if undoing else ""
    return replace(merged, is_exact=is_exact, is_settled=is_settled, doubt=doubt)


def is_on_the_way(repository: Repository, old: str, commit: str, new: str) -> bool:
    """Whether ``commit`` contains ``old`` and is contained in ``new``."""
    return is_ancestor(repository, commit, new) and is_ancestor(repository, old, commit)


def _merge(repository: Repository, head: str | None, pinned: str, tip: str) -> _Merge | None:
    """The head decides; the pinned commit counts where it went in another way than by being the branch's own."""
    for commit in dict.fromkeys((head, pinned)):
        if commit is None or (commit != head and head and is_ancestor(repository, commit, tip)):
            continue
        if found := _merge_of(repository, commit, tip):
            return found
    return None


def _merge_of(repository: Repository, commit: str, tip: str) -> _Merge | None:
    if is_ancestor(repository, commit, tip):
        path = read(repository, "rev-list", "--first-parent", "--ancestry-path", f"{commit}..{tip}").split()
        on_branch = read(repository, "rev-list", "--first-parent", tip).split()
        return _Merge(commit if commit in set(on_branch) else path[-1], "merge")
    base = merge_base(repository, commit, tip)
    if base is None or base == commit:
        return None
    files = changed_files(repository, base, commit)
    squashed = find_equivalent(repository, range_patch_id(repository, base, commit), files, base, tip)
    if squashed:
        return _Merge(squashed, "squash")
    last_files = changed_files(repository, first_parent(repository, commit), commit)
    rebased = find_equivalent(repository, commit_patch_id(repository, commit), last_files, base, tip)
    return _Merge(rebased, "rebase") if rebased and _has_all(repository, base, commit, tip) else None


def _probable_merge(repository: Repository, number: str, commit: str, tip: str) -> str:
    """What looks like the merge of a pull whose conflicts were solved on the way, which changes the patch.

    Hosts write the number into the subject, and so may anybody: told, with the same files touched, but not believed.
    """
    base = merge_base(repository, commit, tip)
    if base is None or base == commit:
        return ""
    files = set(changed_files(repository, base, commit))
    for each in log(repository, base, tip, limit=None):
        if re.search(rf"\(#{number}\)$", each.subject) and files == set(
            changed_files(repository, first_parent(repository, each.sha), each.sha)
        ):
            return f"{_PROBABLY} as {each.sha[:12]}, which touches the same files; if so, move the pin to that commit"
    return ""


def _has_all(repository: Repository, base: str, commit: str, tip: str) -> bool:
    for each in log(repository, base, commit, limit=None):
        files = changed_files(repository, first_parent(repository, each.sha), each.sha)
        patch = commit_patch_id(repository, each.sha)
        if patch and find_equivalent(repository, patch, files, base, tip) is None:
            return False
    return True
