"""An address → what a server sends for it, whole or not at all: one place for all that is asked by HTTP.

Time and size have limits, and what failed on the way is asked for again after a pause; an answer is an answer.
"""

import queue
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from threading import Thread
from typing import Any, TypeVar

import requests
from urllib3.exceptions import HTTPError

from imagepins.errors import NetworkError
from imagepins.pins.text import masked

TRIES = 3
TIMEOUT = (10.0, 30.0)
"""Seconds to connect, and between two bytes."""
LONGEST_WAIT_SECONDS = 30.0
"""A server that wants a longer pause is one that did not answer."""
_BACK_OFF_SECONDS = 0.5
_WAKE_SECONDS = 0.1
_PART = 1 << 16

Taken = TypeVar("Taken")
Take = Callable[[requests.Response, Iterator[bytes]], Taken]


@dataclass(frozen=True)
class Limits:
    """The seconds that one try may take from connecting to the last byte, and the bytes of the largest body."""

    seconds: float
    size: int


@dataclass(frozen=True)
class Reply:
    """A response, read to its end; ``url`` is where redirects led. Keys of ``headers`` are matched in any case."""

    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytes
    url: str

    @property
    def status_text(self) -> str:
        """``404 Not Found``."""
        return f"{self.status} {self.reason}".strip()

    @property
    def text(self) -> str:
        """The body as UTF-8; what is none is replaced."""
        return self.body.decode(errors="replace")


class TooLong(requests.RequestException):
    """More bytes, or more time, than anything of its kind takes."""


class Busy(Exception):
    """The server asks to come back later, in ``wait`` seconds where it says so."""

    def __init__(self, reply: Reply | requests.Response) -> None:
        status = reply.status if isinstance(reply, Reply) else reply.status_code
        super().__init__(f"{status} {reply.reason or ''}".strip())
        self.wait = _asked_pause(reply.headers.get("Retry-After", ""))


def is_busy(status: int) -> bool:
    """Whether a status says that the same question may be answered later."""
    return status in (408, 429) or status >= 500


def get(url: str, limits: Limits, *, headers: Mapping[str, str] | None = None, verify: bool | str = True) -> Reply:
    """What ``url`` answers, whatever the status. Raises NetworkError for no answer, or none but that it is busy."""

    def attempt() -> Reply:
        with requests.Session() as session:
            reply = send(session, "GET", url, limits, headers=dict(headers or {}), verify=verify)
        if is_busy(reply.status):
            raise Busy(reply)
        return reply

    return retried(url, attempt)


def send(session: requests.Session, method: str, url: str, limits: Limits, **options: Any) -> Reply:
    """One request and its whole reply. Raises TooLong, and what requests and urllib3 raise."""

    def take(answer: requests.Response, parts: Iterator[bytes]) -> Reply:
        body = b"".join(parts)
        return Reply(answer.status_code, answer.reason or "", answer.headers, body, answer.url)

    return stream(session, method, url, limits, take, **options)


def stream(
    session: requests.Session,
    method: str,
    url: str,
    limits: Limits,
    take: "Take[Taken]",
    *,
    is_decoded: bool = True,
    **options: Any,
) -> Taken:
    """What ``take`` makes of the answer's head and the parts of its body, as sent or with its encoding undone.

    Raises what ``send`` raises, and what ``take`` does.
    """
    deadline = time.monotonic() + limits.seconds

    def exchange() -> Taken:
        with _opened(session, method, url, options) as answer:
            return take(answer, _parts(answer, limits, deadline, is_decoded=is_decoded))

    return _within(limits.seconds, exchange)


def retried(
    who: str, attempt: Callable[[], Taken], *, tries: int = TRIES, sleep: Callable[[float], None] | None = None
) -> Taken:
    """The result of ``attempt``, tried again while the network fails or the server is Busy. Raises NetworkError."""
    reason = ""
    for number in range(1, tries + 1):
        wait: float = _BACK_OFF_SECONDS * 2 ** (number - 1)
        try:
            return attempt()
        except Busy as error:
            reason, wait = f"{who} answers {error}", wait if error.wait is None else error.wait
        except TooLong as error:
            raise NetworkError(masked(f"{who} {error}")) from error
        except (requests.RequestException, HTTPError) as error:
            reason = f"{who} does not answer ({innermost(error)})"
            if not _is_fault_of_network(error):
                raise NetworkError(masked(reason)) from error
        if wait > LONGEST_WAIT_SECONDS:
            raise NetworkError(masked(f"{reason} and wants {wait:.0f} s of pause"))
        if number < tries:
            (sleep or time.sleep)(wait)
    raise NetworkError(masked(f"{reason}, after {tries} tries"))


def as_it_is(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """As ``auth`` it leaves a request alone; with none, requests would put that of ~/.netrc in a token's place."""
    return request


def innermost(error: BaseException) -> str:
    """What went wrong at the bottom of a chain of errors, which is what a person can act on."""
    while (cause := error.__cause__ or (None if error.__suppress_context__ else error.__context__)) is not None:
        error = cause
    return str(error) or type(error).__name__


def _is_fault_of_network(error: Exception) -> bool:
    """Whether the same request may succeed in a moment; not so where address or certificate are wrong."""
    passing = (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError, HTTPError)
    return isinstance(error, passing) and not isinstance(error, requests.exceptions.SSLError)


def _opened(session: requests.Session, method: str, url: str, options: Mapping[str, Any]) -> requests.Response:
    try:
        return session.request(method, url, timeout=TIMEOUT, stream=True, **options)
    except requests.RequestException:
        raise
    except ValueError as error:  # the address that a redirect leads to is none
        raise requests.exceptions.InvalidURL(str(error)) from error


def _parts(answer: requests.Response, limits: Limits, deadline: float, *, is_decoded: bool) -> Iterator[bytes]:
    size = 0
    for part in answer.raw.stream(_PART, decode_content=is_decoded):
        size += len(part)
        if size > limits.size:
            raise TooLong(f"sends more than {limits.size >> 20} MiB")
        if time.monotonic() > deadline:
            raise _late(limits.seconds)
        yield part


def _within(seconds: float, function: Callable[[], Taken]) -> Taken:
    """The result of ``function``, or TooLong after ``seconds``, whatever it still waits for.

    requests only limits the time between two bytes: a server that sends one every few seconds, or a name server that is
    silent, would keep us for ever. The thread left behind is a daemon, and ends at the next byte.
    """
    ended: queue.SimpleQueue[Callable[[], Taken]] = queue.SimpleQueue()

    def work() -> None:
        try:
            found = function()
        except BaseException as error:  # noqa: BLE001 - raised in the caller's thread
            ended.put(_raiser(error))
        else:
            ended.put(lambda: found)

    Thread(target=work, daemon=True).start()
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        # In short waits: Python tells of a signal that another thread got only once the wait is over.
        with suppress(queue.Empty):
            return ended.get(timeout=min(left, _WAKE_SECONDS))()
    raise _late(seconds)


def _raiser(error: BaseException) -> Callable[[], Any]:
    def fail() -> Any:
        raise error

    return fail


def _late(seconds: float) -> TooLong:
    return TooLong(f"is not done after {seconds:g} s")


def _asked_pause(asked: str) -> float | None:
    """Seconds that a Retry-After header asks for, by a number or a date."""
    if asked.isascii() and asked.isdigit():
        return float(asked)
    try:
        return max(0.0, parsedate_to_datetime(asked).timestamp() - time.time())
    except ValueError:
        return None
