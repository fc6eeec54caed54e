"""What a host's API knows of a pull request and git refs do not: that it was closed. Only ever an addition.

Without a token, with an answer that is none, or beyond the rate limit, everything is as git alone tells it.
"""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

from imagepins.errors import NetworkError
from imagepins.gitrepo.cache import Repository, commits_of
from imagepins.gitrepo.history import is_ancestor
from imagepins.gitrepo.pulls import PullState, is_on_the_way
from imagepins.terminal import to_stderr

_SECONDS = 8.0
"""Less than it takes to give up a connection, so that an API behind a firewall that drops is waited for once."""
_SIZE_LIMIT = 4 << 20


@dataclass
class Hosting:
    """The API of GitHub, or of a server like it (GITHUB_SERVER_URL, GITHUB_API_URL), asked with the user's token.

    ``warn`` is told once why the API is no longer asked, whatever the number of threads that ask.
    """

    env: Mapping[str, str] = field(default_factory=dict)
    warn: Callable[[str], None] = to_stderr
    _is_silenced: bool = False
    _lock: Lock = field(default_factory=Lock)

    @classmethod
    def of_user(cls, warn: Callable[[str], None]) -> "Hosting":
        """The API as the environment of this process allows it."""
        return cls(os.environ, warn)

    def refine(self, state: PullState, repository: Repository, branch: str) -> PullState:
        """``state``, told from git refs, with what the API adds to it."""
        if state.state in ("merged", "gone") or repository.is_offline:
            return state
        document = self._pull(repository.url, state.number)
        if document is None:
            return state
        if document.get("state") != "closed":
            return replace(state, is_sure=True)
        commit = document.get("merge_commit_sha")
        if not document.get("merged") or not isinstance(commit, str):
            return replace(state, state="closed", is_sure=True)
        # The API is believed only where the branch really holds that commit.
        known = commits_of(repository, [commit, f"refs/heads/{branch}"])
        tip = known[f"refs/heads/{branch}"]
        if known[commit] and tip and is_ancestor(repository, commit, tip):
            is_settled = is_on_the_way(repository, commit, state.pinned, tip)
            merged = replace(state, state="merged", merged_as=commit, how="squash", is_exact=False)
            return replace(merged, is_settled=is_settled, is_sure=True, doubt="")
        return replace(state, state="closed", doubt=f"merged, but not into {branch}")

    def _pull(self, url: str, number: str) -> Mapping[str, Any] | None:
        token = self.env.get("GITHUB_TOKEN") or self.env.get("GH_TOKEN")
        server = self.env.get("GITHUB_SERVER_URL", "https://github.com")
        host, path = urlsplit(url).hostname, urlsplit(url).path
        if not token or self._is_silenced or host != urlsplit(server).hostname:
            return None
        api = self.env.get("GITHUB_API_URL", "https://api.github.com").rstrip("/")
        return self._get(f"{api}/repos/{path.strip('/').removesuffix('.git')}/pulls/{number}", token)

    def _get(self, address: str, token: str) -> Mapping[str, Any] | None:
        import requests

        from imagepins import web

        if not _is_safe(address):
            self._silence("its address is not https")
            return None
        limits, headers = web.Limits(_SECONDS, _SIZE_LIMIT), {"Authorization": f"Bearer {token}"}
        try:
            with requests.Session() as session:
                ask = partial(web.send, session, "GET", address, limits, headers=headers, auth=web.as_it_is)
                reply = web.retried(urlsplit(address).netloc, ask)
        except NetworkError as error:
            self._silence(str(error))
            return None
        if reply.status == 404:
            return None
        document = _object(reply.body) if reply.status == 200 else None
        if document is None:
            is_limit = reply.headers.get("x-ratelimit-remaining") == "0" or reply.status == 429
            self._silence("rate limit" if is_limit else reply.status_text)
        return document

    def _silence(self, reason: str) -> None:
        with self._lock:
            was_silenced, self._is_silenced = self._is_silenced, True
        if not was_silenced:
            self.warn(f"the host's API is not used ({reason}); git refs alone answer")


def _is_safe(address: str) -> bool:
    """Whether a token may be sent there: encrypted, or within this machine."""
    parts = urlsplit(address)
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost", "::1"))


def _object(body: bytes) -> Mapping[str, Any] | None:
    try:
        document: Any = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None
