"""One registry request → its answer, logged in as asked and tried again while the registry is busy."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import local
from types import TracebackType

import requests

from imagepins.errors import NetworkError
from imagepins.gitrepo.url import mirrored
from imagepins.registry.answers import Absent, Unknown
from imagepins.registry.auth import LIMITS, NotAuthorised, authorisation
from imagepins.registry.documents import mapping, parsed
from imagepins.registry.reference import Reference
from imagepins.web import Busy, Reply, as_it_is, is_busy, retried, send

TRIES = 4

_ABSENT_CODES = {"MANIFEST_UNKNOWN", "NAME_UNKNOWN", "BLOB_UNKNOWN", "MANIFEST_BLOB_UNKNOWN", "NOT_FOUND"}


@dataclass
class Client:
    """Requests to registries over kept connections; use it as a context manager.

    ``mirrors`` maps prefixes of API addresses (``https://registry-1.docker.io/``) for closed networks.
    """

    mirrors: Mapping[str, str] = field(default_factory=dict)
    sleep: Callable[[float], None] = time.sleep
    _logins: dict[tuple[str, str], str] = field(default_factory=dict)
    _sessions: list[requests.Session] = field(default_factory=list)
    _of_thread: local = field(default_factory=local)

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for session in self._sessions:
            session.close()

    def ask(
        self, method: str, reference: Reference, path: str, accept: tuple[str, ...] = ()
    ) -> Reply | Absent | Unknown:
        """Send ``METHOD /v2/REPOSITORY/path``; the reply is one of success.

        A HEAD that is refused is asked again as GET: some registries know none, and only a body tells why.
        """

        def attempt() -> Reply:
            reply = self._send(method, reference, path, accept)
            if is_busy(reply.status):
                raise Busy(reply)
            return reply

        try:
            reply = retried(reference.registry, attempt, tries=TRIES, sleep=self.sleep)
        except (NotAuthorised, NetworkError) as error:
            return Unknown(str(error))
        if reply.status < 400:
            return reply
        return self.ask("GET", reference, path, accept) if method == "HEAD" else _refusal(reply, reference, path)

    def _send(self, method: str, reference: Reference, path: str, accept: tuple[str, ...]) -> Reply:
        url = mirrored(reference.base_url, self.mirrors) + f"v2/{reference.repository}/{path}"
        key = (reference.registry, reference.repository)
        headers = {"Accept": ", ".join(accept)} if accept else {}
        if key in self._logins:
            headers["Authorization"] = self._logins[key]
        reply = self._request(method, url, headers)
        if reply.status == 401 and "WWW-Authenticate" in reply.headers:
            # A token may also have run out: log in afresh, once.
            self._logins[key] = authorisation(self._session(), reply.headers["WWW-Authenticate"], reference)
            reply = self._request(method, url, headers | {"Authorization": self._logins[key]})
        return reply

    def _request(self, method: str, url: str, headers: Mapping[str, str]) -> Reply:
        return send(self._session(), method, url, LIMITS, headers=headers, auth=as_it_is)

    def _session(self) -> requests.Session:
        """The connections of this thread: requests does not promise that threads may share them."""
        if not hasattr(self._of_thread, "session"):
            self._of_thread.session = requests.Session()
            self._sessions.append(self._of_thread.session)
        session: requests.Session = self._of_thread.session
        return session


def _refusal(reply: Reply, reference: Reference, path: str) -> Absent | Unknown:
    """Tell "not there" from "not for you" and from a proxy's error page."""
    if reply.status == 404 and _error_codes(reply) & _ABSENT_CODES:
        return Absent(f"{reference.registry} has no {reference.repository} {path.rsplit('/', 1)[-1]}")
    if reply.status in (401, 403):
        refused = f"{reference.registry} refuses {reference.repository} ({reply.status_text})"
        return Unknown(f"{refused}; log in, or it is not there")
    return Unknown(f"{reference.registry} answers {reply.status_text}, not as a registry does")


def _error_codes(reply: Reply) -> set[str]:
    errors = mapping(parsed(reply.body)).get("errors")
    return {str(each.get("code")) for each in errors if isinstance(each, dict)} if isinstance(errors, list) else set()
