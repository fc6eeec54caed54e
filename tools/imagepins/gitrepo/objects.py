"""Ids of trees and files → in the cache, by themselves where the server allows it, else with the whole history."""

from collections.abc import Iterable, Sequence

from imagepins.errors import NetworkError
from imagepins.gitrepo.cache import (
    COMMITS_ONLY,
    Repository,
    choose_filter,
    chosen_filter,
    fetch,
    filter_option,
    read,
)
from imagepins.gitrepo.command import git_remote
from imagepins.gitrepo.store import locked

# From the least to everything, with what comes along.
_FILTERS = {COMMITS_ONLY: "commits", "blob:none": "all folders", "": "all folders and files"}


class ObjectsUnavailable(NetworkError):
    """The server does not hand out trees or files, or was not asked."""


def require(repository: Repository, ids: Iterable[str]) -> None:
    """Make sure that objects are in the cache. Raises ObjectsUnavailable."""
    absent = _missing(repository, sorted(set(ids)))
    if not absent:
        return
    if repository.is_offline:
        raise ObjectsUnavailable(f"{repository.url}: files and folders could not be read (not asked: offline)")
    with locked(repository):
        # Another pin of the same repository may have asked for them meanwhile.
        absent = _missing(repository, absent)
        reason = _fetch_alone(repository, absent) if absent else None
        if reason:
            reason = _fetch_with_history(repository, absent, reason)
    if reason or _missing(repository, absent):
        raise ObjectsUnavailable(f"{repository.url}: files and folders could not be read ({reason})")


def _fetch_alone(repository: Repository, ids: Sequence[str]) -> str | None:
    settings = ["-c", "fetch.negotiationAlgorithm=noop"]
    arguments = [f"--filter={COMMITS_ONLY}", "--stdin", "origin"]
    return fetch(repository, arguments, settings, stdin="".join(f"{each}\n" for each in ids))


def _fetch_with_history(repository: Repository, ids: Sequence[str], refusal: str) -> str | None:
    """Fetch what the cache has of the server's refs again, each time leaving out less, until ``ids`` are there."""
    tips = _advertised_tips(repository)
    filters = list(_FILTERS)
    for chosen in filters[filters.index(chosen_filter(repository)) + 1 :]:
        choose_filter(repository, chosen)
        arguments = ["--refetch", filter_option(repository), "--stdin", "origin"]
        if reason := fetch(repository, arguments, stdin="".join(f"{each}\n" for each in tips)):
            choose_filter(repository, COMMITS_ONLY)
            return reason
        repository.warn(
            f"{repository.url} does not hand out single files and folders ({refusal}); "
            f"fetched its history again with {_FILTERS[chosen]}"
        )
        if not _missing(repository, ids):
            return None
    return refusal


def _advertised_tips(repository: Repository) -> list[str]:
    """What a strict server gives by id: the objects its refs point at, as far as the cache knows them."""
    known = set(read(repository, "for-each-ref", "--format=%(objectname)", "refs/ip/").split())
    argv = [repository.here, "ls-remote", "--refs", "origin"]
    answer = git_remote(argv, url=repository.url, cwd=repository.path, stop=repository.stop)
    return sorted(known & {line.split("\t")[0] for line in answer.stdout.splitlines()})


def _missing(repository: Repository, ids: Sequence[str]) -> list[str]:
    answer = read(repository, "cat-file", "--batch-check=%(objectname)", stdin="".join(f"{each}\n" for each in ids))
    return [line.split()[0] for line in answer.splitlines() if line.endswith("missing")]
