"""A git pin and two refs → the commits between them that touch the pin's path, and what is known of one of them."""

import re
from dataclasses import dataclass

from imagepins.bump.lookup import git_request, repositories
from imagepins.bump.move import Options
from imagepins.errors import ImagePinsError, RefError, UsageError
from imagepins.evidence.bisection.search import Span
from imagepins.gitrepo.cache import Repository, read
from imagepins.gitrepo.history import Commit, describe_commits, is_ancestor
from imagepins.gitrepo.resolve import resolve
from imagepins.gitrepo.trees import lookup
from imagepins.gitrepo.url import web_url
from imagepins.pins.model import GitPin, Pin

_PULL = re.compile(
    r"\(#(?P<subject>\d+)\)\s*$|^Merge pull request #(?P<pull>\d+)\b|^See merge request \S*!(?P<merge>\d+)$",
    re.MULTILINE,
)


@dataclass(frozen=True)
class History:
    """The good commit and the span behind it; ``all_count`` counts the commits that do not touch the path as well."""

    repository: Repository
    good: str
    span: Span
    all_count: int


@dataclass(frozen=True)
class Described:
    """A commit with its whole message and the address of its pull request ('' where none is named)."""

    commit: Commit
    message: str
    pull: str


def read_history(pin: Pin, good: str, bad: str, options: Options) -> History:
    """Resolve both refs and list what lies between. Raises UsageError, RefError, NetworkError."""
    if not isinstance(pin, GitPin):
        raise UsageError(f"pin '{pin.name}' is no git pin, and only the history of git pins can be bisected")
    requests = [git_request(pin, ref) for ref in (good, bad)]
    repository = repositories(requests, options)[pin.git]
    if isinstance(repository, ImagePinsError):
        raise repository
    wanted = [request.wanted for request in requests if request.wanted]
    first, last = (resolve(repository, each, requests[0].tracked).commit for each in wanted)
    if first == last or not is_ancestor(repository, first, last):
        raise RefError(f"{good} ({first[:12]}) does not come before {bad} ({last[:12]}) in the history of {pin.name}")
    line = _first_parents(repository, first, last)
    commits = _touching(repository, line, pin.path) if pin.path else line
    if not commits:
        raise RefError(f"no commit between {good} and {bad} touches {', '.join(pin.path)}: the images do not differ")
    return History(repository, first, Span(commits), len(line))


def describe_commit(history: History, commit: str) -> Described:
    """What a person wants to know of the first bad commit."""
    message = read(history.repository, "log", "-1", "--format=%B", commit).strip()
    found = _PULL.search(message)
    kind, number = (found.lastgroup or "", found[found.lastgroup or 0]) if found else ("", "")
    web = web_url(history.repository.url)
    page = "-/merge_requests" if kind == "merge" else "pull"
    pull = f"{web}/{page}/{number}" if web and number else f"pull {number}" if number else ""
    return Described(describe_commits(history.repository, [commit])[commit], message, pull)


def _first_parents(repository: Repository, first: str, last: str) -> tuple[str, ...]:
    """Oldest first. A branch counts as its merge alone, since in its middle nobody built an image."""
    return tuple(read(repository, "rev-list", "--reverse", "--first-parent", last, f"^{first}").split())


def _touching(repository: Repository, line: tuple[str, ...], paths: tuple[str, ...]) -> tuple[str, ...]:
    """Commits of ``line`` in which something under ``paths`` is not as in their first parent."""
    commits = describe_commits(repository, line)
    parents = describe_commits(repository, [each.parents[0] for each in commits.values() if each.parents])
    trees = {sha: each.tree for sha, each in (parents | commits).items()}
    entries = lookup(repository, trees.values(), paths)

    def is_changed(commit: Commit) -> bool:
        before = trees[commit.parents[0]] if commit.parents else ""
        return any(entries.get((before, path)) != entries[commit.tree, path] for path in paths)

    return tuple(sha for sha in line if is_changed(commits[sha]))
