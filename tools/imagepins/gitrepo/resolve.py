"""Wanted → one commit that exists, and the ref of the repository that leads to it.

That a server hands a commit out proves nothing: hosts serve the commits of forks under the upstream's name. So a
commit counts only with a ref that contains it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from imagepins.errors import RefError
from imagepins.gitrepo.cache import Repository, absent, commits_of, fetch_commit, fetch_refs, read, tips_below
from imagepins.gitrepo.history import describe_commits, is_ancestor
from imagepins.gitrepo.url import web_url
from imagepins.gitrepo.wanted import Wanted


@dataclass(frozen=True)
class Resolved:
    """The commit; the ref it was found by ('' for a sha); notes for the person who asked."""

    commit: str
    ref: str = ""
    notes: tuple[str, ...] = ()

    @property
    def tag(self) -> str | None:
        """Name of the tag that was asked for, if it was one."""
        return self.ref.removeprefix("refs/tags/") if self.ref.startswith("refs/tags/") else None


def short_name(ref: str) -> str:
    """A ref as people say it: ``branch develop``, ``tag v1``, ``pull 7``, ``the default branch``."""
    for prefix, noun in (("refs/heads/", "branch"), ("refs/tags/", "tag")):
        if ref.startswith(prefix):
            return f"{noun} {ref.removeprefix(prefix)}"
    if ref == "HEAD":
        return "the default branch"
    return f"pull {ref.split('/')[-2]}"


def pull_refs(number: str, url: str) -> tuple[str, ...]:
    """Refs under which the host of ``url`` may keep the head of a pull or merge request.

    Never the merge, which moves with its base. Of a host that is not known by its name both spellings are asked for.
    """
    both = (f"refs/pull/{number}/head", f"refs/merge-requests/{number}/head")
    host = (web_url(url) or "").removeprefix("https://").partition("/")[0]
    if "github" in host:
        return both[:1]
    return both[1:] if "gitlab" in host else both


def refs_asked(wanted: Wanted, url: str) -> tuple[str, ...]:
    """Full names of the refs of the repository at ``url`` that can be meant, or can lead to what is meant."""
    return (*_refs_meant(wanted, url), *_refs_of_page(wanted, url))


def _refs_of_page(wanted: Wanted, url: str) -> tuple[str, ...]:
    """The pull request on whose page a commit was found."""
    return pull_refs(wanted.pull, url) if wanted.pull and wanted.kind != "pull" else ()


def _refs_meant(wanted: Wanted, url: str) -> tuple[str, ...]:
    match wanted.kind:
        case "sha":
            return ()
        case "head":
            return ("HEAD",)
        case "branch":
            return (f"refs/heads/{wanted.value}",)
        case "tag":
            return (f"refs/tags/{wanted.value}",)
        case "pull":
            return pull_refs(wanted.value, url)
        case "tree":
            parts = wanted.value.split("/")
            names = ["/".join(parts[:length]) for length in range(len(parts), 0, -1)]
            return tuple(f"refs/{space}/{name}" for name in names for space in ("heads", "tags"))
        case _:
            return (f"refs/heads/{wanted.value}", f"refs/tags/{wanted.value}")


def resolve(repository: Repository, wanted: Wanted, tracked: Sequence[str]) -> Resolved:
    """Find the one commit that is meant, once ``refs_asked`` and ``tracked`` are in the cache.

    Raises RefError for what does not exist, is no commit, or could be several (with the candidates), and NetworkError
    for what only the server could tell.
    """
    tracked = (*tracked, *_refs_of_page(wanted, repository.url))
    if wanted.kind == "sha":
        return _existing(repository, wanted.value, tracked)
    refs = _refs_meant(wanted, repository.url)
    commits = commits_of(repository, refs)
    found = [Resolved(commit, ref) for ref in refs if (commit := commits[ref])]
    if wanted.kind == "tree":
        # The longest name wins; what follows it is a path in the tree.
        found = [each for each in found if found[0].ref.split("/", 2)[2] == each.ref.split("/", 2)[2]]
    if wanted.kind == "short":
        found += [Resolved(commit) for commit in _expand(repository, wanted.value.lower(), tracked)]
    return _only(repository, wanted, found)


def reaching(repository: Repository, commit: str, refs: Iterable[str]) -> str | None:
    """The first of ``refs`` that contains ``commit``, or None."""
    tips = commits_of(repository, refs)
    return next((ref for ref, tip in tips.items() if tip and is_ancestor(repository, commit, tip)), None)


def fetch_known(repository: Repository, sha: str) -> bool:
    """Whether the commit is in the cache, or could be brought there."""
    if commits_of(repository, [sha])[sha]:
        return True
    return fetch_commit(repository, sha) is None and commits_of(repository, [sha])[sha] is not None


def _existing(repository: Repository, sha: str, tracked: Sequence[str]) -> Resolved:
    notes: tuple[str, ...] = ()
    commit = commits_of(repository, [sha])[sha]
    if commit is None:
        reason = fetch_commit(repository, sha)
        commit = commits_of(repository, [sha])[sha]
        if commit is None and reason is not None and not repository.is_offline and "not our ref" not in reason:
            fetch_refs(repository, ["refs/heads/", "refs/tags/"])
            commit = commits_of(repository, [sha])[sha]
            asked = [*map(short_name, tracked), "all branches and tags"]
            notes = (f"{repository.url} refused the bare commit ({reason}); looked for it in {', '.join(asked)}",)
        if commit is None:
            if repository.is_offline:
                raise absent(repository, f"commit {sha}")
            raise RefError(_not_there(repository, sha, reason, notes))
    if commit != sha:
        notes += (f"{sha[:12]} is a tag object; its commit is {commit}",)
    return Resolved(commit, "", notes)


def _not_there(repository: Repository, sha: str, reason: str | None, notes: tuple[str, ...]) -> str:
    if reason is None:
        return f"{sha} is there at {repository.url}, but is a tree or a file, not a commit"
    if notes:
        return f"commit {sha} was not found: {notes[0]}"
    return f"commit {sha} does not exist at {repository.url} ({reason})"


def _expand(repository: Repository, digits: str, tracked: Sequence[str]) -> list[str]:
    """Commits that begin with ``digits``: of the tracked refs, else of all branches and tags.

    Only what a ref contains counts, so that the answer does not depend on what the cache has seen before.
    """
    found = _beginning_with(repository, digits, commits_of(repository, tracked).values())
    if not found and not repository.is_offline:
        everything = ["refs/heads/", "refs/tags/"]
        fetch_refs(repository, everything)
        tips = tips_below(repository, everything)
        found = _beginning_with(repository, digits, commits_of(repository, tips).values())
    return found


def _beginning_with(repository: Repository, digits: str, tips: Iterable[str | None]) -> list[str]:
    ids = read(repository, "rev-parse", f"--disambiguate={digits}").split()
    commits = {commit for commit in commits_of(repository, ids).values() if commit}
    known = {tip for tip in tips if tip}
    if not commits or not known:
        return []
    # One walk for all: what the candidates hold and no tip does.
    asked = "".join(f"{each}\n" for each in (*commits, *(f"^{tip}" for tip in known)))
    outside = set(read(repository, "rev-list", "--stdin", stdin=asked).split())
    return sorted(commits - outside)


def _only(repository: Repository, wanted: Wanted, found: list[Resolved]) -> Resolved:
    commits = {each.commit for each in found}
    if not found:
        raise absent(repository, _what(wanted))
    if len(commits) == 1:
        # A branch and a tag on one commit: the tag's name stays true for longer.
        return next((each for each in found if each.tag), found[0])
    known = describe_commits(repository, commits)
    lines = [
        f"  {_way_out(each):<24} {each.commit}  {known[each.commit].date[:10]}  {known[each.commit].subject}"
        for each in found
    ]
    raise RefError(f"{wanted.text} is ambiguous on {repository.url}; say which:\n" + "\n".join(lines))


def _what(wanted: Wanted) -> str:
    nouns = {
        "branch": f"branch {wanted.value}",
        "tag": f"tag {wanted.value}",
        "pull": f"pull {wanted.value}",
        "head": "a default branch",
        "short": f"branch, tag or commit {wanted.value}",
    }
    return nouns.get(wanted.kind, f"branch or tag {wanted.value}")


def _way_out(resolved: Resolved) -> str:
    return resolved.ref.removeprefix("refs/") if resolved.ref else "(the commit itself)"
