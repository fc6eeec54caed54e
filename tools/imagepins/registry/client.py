"""One registry request → its answer, logged in as asked and tried again while the registry is busy."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from types import TracebackType

import requests

from imagepins.gitrepo.url import mirrored
from imagepins.registry.answers import Absent, Unknown
from imagepins.registry.auth import TIMEOUT, NotAuthorised, authorisation
from imagepins.registry.documents import mapping, parsed
from imagepins.registry.reference import Reference

TRIES = 4
LONGEST_WAIT_SECONDS = 30.0
"""A registry that wants a longer pause is one that did not answer."""
WHOLE_SECONDS = 60.0
SIZE_LIMIT = 8 << 20
"""Bytes of the largest manifest or config that is read."""

_ABSENT_CODES = {"MANIFEST_UNKNOWN", "NAME_UNKNOWN", "BLOB_UNKNOWN", "MANIFEST_BLOB_UNKNOWN", "NOT_FOUND"}


@dataclass(frozen=True)
class Reply:
    """A response, read to its end. Keys of ``headers`` are matched in any case."""

    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def status_text(self) -> str:
        """``404 Not Found``."""
        return f"{self.status} {self.reason}".strip()


class TooLong(requests.RequestException):
    """More bytes, or more time, than any manifest or config takes."""


@dataclass
class Client:
    """Requests to registries over kept connections; use it as a context manager.

    ``mirrors`` maps prefixes of API addresses (``https://registry-1.docker.io/``) for closed networks.
    """

    mirrors: Mapping[str, str] = field(default_factory=dict)
    sleep: Callable[[float], None] = time.sleep
    _session: requests.Session = field(default_factory=requests.Session)
    _logins: dict[tuple[str, str], str] = field(default_factory=dict)

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._session.close()

    def ask(
        self, method: str, reference: Reference, path: str, accept: tuple[str, ...] = ()
    ) -> Reply | Absent | Unknown:
        """Send ``METHOD /v2/REPOSITORY/path``; the reply is one of success.

        A HEAD that is refused is asked again as GET: some registries know none, and only a body tells why.
        """
        reason = "no answer"
        for attempt in range(TRIES):
            try:
                reply = self._send(method, reference, path, accept)
            except NotAuthorised as error:
                return Unknown(str(error))
            except requests.RequestException as error:
                reason, wait = f"{reference.registry} does not answer ({innermost(error)})", 0.5 * 2**attempt
            else:
                if reply.status < 400:
                    return reply
                if reply.status not in (408, 429) and reply.status < 500:
                    is_head = method == "HEAD"
                    return self.ask("GET", reference, path, accept) if is_head else _refusal(reply, reference, path)
                reason, wait = f"{reference.registry} answers {reply.status_text}", _pause(reply, attempt)
            if wait > LONGEST_WAIT_SECONDS:
                return Unknown(f"{reason} and wants {wait:.0f} s of pause")
            if attempt < TRIES - 1:
                self.sleep(wait)
        return Unknown(f"{reason}, after {TRIES} tries")

    def _send(self, method: str, reference: Reference, path: str, accept: tuple[str, ...]) -> Reply:
        url = mirrored(reference.base_url, self.mirrors) + f"v2/{reference.repository}/{path}"
        key = (reference.registry, reference.repository)
        headers = {"Accept": ", ".join(accept)} if accept else {}
        if key in self._logins:
            headers["Authorization"] = self._logins[key]
        reply = self._request(method, url, headers)
        if reply.status == 401 and "WWW-Authenticate" in reply.headers:
            # A token may also have run out: log in afresh, once.
            self._logins[key] = authorisation(self._session, reply.headers["WWW-Authenticate"], reference)
            reply = self._request(method, url, headers | {"Authorization": self._logins[key]})
        return reply

    def _request(self, method: str, url: str, headers: Mapping[str, str]) -> Reply:
        deadline = time.monotonic() + WHOLE_SECONDS
        # With no auth of its own, requests would put that of ~/.netrc in the place of the token.
        sent = self._session.request(method, url, headers=headers, timeout=TIMEOUT, stream=True, auth=_as_it_is)
        with sent as answer:
            body = bytearray()
            for part in answer.iter_content(1 << 16):
                body += part
                if len(body) > SIZE_LIMIT or time.monotonic() > deadline:
                    raise TooLong(f"more than {SIZE_LIMIT} bytes or {WHOLE_SECONDS:g} s")
            return Reply(answer.status_code, answer.reason or "", answer.headers, bytes(body))


def _refusal(reply: Reply, reference: Reference, path: str) -> Absent | Unknown:
    """Tell "not there" from "not for you" and from a proxy's error page."""
    if reply.status == 404 and _error_codes(reply) & _ABSENT_CODES:
        return Absent(f"{reference.registry} has no {reference.repository} {path.rsplit('/', 1)[-1]}")
    if reply.status in (401, 403):
        refused = f"{reference.registry} refuses {reference.repository} ({reply.status_text})"
        return Unknown(f"{refused}; log in, or it is not there")
    return Unknown(f"{reference.registry} answers {reply.status_text}, not as a registry does")


def _as_it_is(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request


def _error_codes(reply: Reply) -> set[str]:
    errors = mapping(parsed(reply.body)).get("errors")
    return {str(each.get("code")) for each in errors if isinstance(each, dict)} if isinstance(errors, list) else set()


def _pause(reply: Reply, attempt: int) -> float:
    """Seconds to wait: what Retry-After says (a number or a date), else twice as long each time."""
    asked = reply.headers.get("Retry-After", "")
    if asked.isascii() and asked.isdigit():
        return float(asked)
    try:
        return max(0.0, parsedate_to_datetime(asked).timestamp() - time.time())
    except ValueError:
        return float(0.5 * 2**attempt)


def innermost(error: BaseException) -> str:
    """What went wrong at the bottom of a chain of errors, which is what a person can act on."""
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return str(error) or type(error).__name__
