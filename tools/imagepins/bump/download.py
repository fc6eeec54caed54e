"""URL → sha256 of the file behind it, which must be the file and not somebody's error page."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import unquote, urlsplit

import requests

from imagepins.errors import NetworkError, RefError
from imagepins.pins.text import masked
from imagepins.web import Busy, Limits, is_busy, retried, stream

LIMITS = Limits(seconds=1800.0, size=8 << 30)

# How files of a kind begin (offset, bytes), by the ends of their names.
_MAGIC: tuple[tuple[str, int, bytes], ...] = (
    (r"\.(tar\.gz|tgz|gz)", 0, b"\x1f\x8b"),
    (r"\.(zip|whl|jar|egg)", 0, b"PK"),
    (r"\.(tar\.xz|txz|xz)", 0, b"\xfd7zXZ\x00"),
    (r"\.(tar\.bz2|tbz2?|bz2)", 0, b"BZh"),
    (r"\.(tar\.zst|zst)", 0, b"\x28\xb5\x2f\xfd"),
    (r"\.tar", 257, b"ustar"),
    (r"\.u?deb", 0, b"!<arch>\n"),
    (r"\.rpm", 0, b"\xed\xab\xee\xdb"),
    (r"\.7z", 0, b"7z\xbc\xaf\x27\x1c"),
    (r"\.pdf", 0, b"%PDF"),
)


@dataclass(frozen=True)
class Download:
    """What was read: its checksum, its size in bytes, and where it came from after redirects, fit to be shown."""

    sha256: str
    size: int
    source: str


def checksum(url: str) -> Download:
    """Read ``url`` and hash it. Raises RefError for what is not there or not the file, NetworkError for no answer."""
    if url.startswith("file://"):
        return _from_disk(url)

    def attempt() -> Download:
        with requests.Session() as session:
            take = partial(_hash, url)
            # The bytes as they are sent, whatever a server calls encoded: that is what a build stores.
            headers = {"Accept-Encoding": "identity"}
            return stream(session, "GET", url, LIMITS, take, is_decoded=False, headers=headers)

    return retried(url, attempt)


def _hash(url: str, answer: requests.Response, parts: Iterable[bytes]) -> Download:
    _check_answer(url, answer)
    digest, size, start = hashlib.sha256(), 0, b""
    for part in parts:
        start = (start + part)[:512] if len(start) < 512 else start
        digest.update(part)
        size += len(part)
    _check_content(url, _source(answer), start, answer.headers.get("Content-Type", ""))
    return Download(digest.hexdigest(), size, _source(answer))


def _check_answer(url: str, answer: requests.Response) -> None:
    status = f"{answer.status_code} {answer.reason}".strip()
    if answer.status_code in (404, 410):
        raise RefError(f"{url}: is not there ({status} from {_source(answer)})")
    if is_busy(answer.status_code):
        raise Busy(answer)
    if answer.status_code in (401, 403):
        raise NetworkError(f"{url}: may not be read ({status} from {_source(answer)})")
    if answer.status_code != 200:
        raise RefError(f"{url}: answers {status}, not a file ({_source(answer)})")
    if url.startswith("https:") and not answer.url.startswith("https:"):
        raise RefError(f"{url}: leads to {_source(answer)}, which is not https")


def _source(answer: requests.Response) -> str:
    """The address of an answer. Hosts lead to one with a signature in its query, by which anybody may read the file."""
    return masked(answer.url.partition("?")[0])


def _check_content(url: str, source: str, start: bytes, content_type: str) -> None:
    name = unquote(urlsplit(url).path).lower()
    where = f"{url}: what {source} sends is"
    if not start:
        raise RefError(f"{where} empty")
    is_page = content_type.partition(";")[0].strip() in ("text/html", "application/xhtml+xml")
    looks_like_page = re.match(rb"\s*(<!doctype html|<html|<head|<\?xml[^>]*>\s*<!doctype html)", start, re.IGNORECASE)
    if (is_page or looks_like_page) and not name.endswith((".html", ".htm", ".xhtml")):
        raise RefError(f"{where} a web page ({content_type or 'no content type'}), not the file")
    for pattern, offset, magic in _MAGIC:
        if re.search(rf"{pattern}$", name):
            if not start[offset:].startswith(magic):
                raise RefError(f"{where} not a file of its kind: it begins with {start[offset : offset + 8]!r}")
            return


def _from_disk(url: str) -> Download:
    path = Path(unquote(urlsplit(url).path))
    try:
        content = path.read_bytes()
    except OSError as error:
        raise RefError(f"{url}: {error.strerror}") from error
    _check_content(url, url, content[:512], "")
    return Download(hashlib.sha256(content).hexdigest(), len(content), url)
