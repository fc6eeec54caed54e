"""Addresses of git repositories: which are allowed, which mirror answers for them, what they look like on the web."""

import re
from collections.abc import Mapping

from imagepins.errors import RefError, UsageError
from imagepins.pins.text import masked

# A host that begins like an option would reach ssh as one.
_HOST = r"[A-Za-z0-9][A-Za-z0-9.-]*"
_ALLOWED = re.compile(
    rf"https://{_HOST}(:\d+)?/\S+|ssh://(\w[\w.-]*@)?{_HOST}(:\d+)?/\S+|\w[\w.-]*@{_HOST}:(?![-:])\S+|file:///\S+"
)
# What people set up themselves for a closed network may also be plain: commits are checked by their hash.
_ALLOWED_MIRROR = re.compile(rf"{_ALLOWED.pattern}|(http|git)://{_HOST}(:\d+)?/\S+")
_BEGINNING_OF_MIRROR = re.compile(rf"((https?|git|ssh)://|ssh://\w[\w.-]*@|\w[\w.-]*@){_HOST}[^\s@]*|file:///\S*|/\S+")


def check_url(url: str) -> str:
    """Return ``url`` if git may be given it. Raises RefError, without repeating credentials, where it may not."""
    if re.match(r"\w+://[^/\s]*:[^/\s]*@|https://[^/\s]*@", url):
        where = re.sub(r"(://)[^/\s]*@", r"\1", url)
        raise RefError(
            f"{where}: credentials stand in the URL; remove them and let git's credential helper supply them"
        )
    if not _ALLOWED.fullmatch(url):
        raise RefError(f"{url}: not a repository URL this tool uses (https://, ssh://, git@host:path, file:///)")
    return url


def parse_mirrors(text: str) -> dict[str, str]:
    """``PREFIX=PREFIX`` pairs, parted by blanks or commas, as IMAGEPINS_MIRRORS holds them. Raises UsageError."""
    mirrors = {}
    for pair in re.split(r"[\s,]+", text.strip()):
        prefix, separator, replacement = pair.partition("=")
        if not pair:
            continue
        if not separator or not prefix or not _BEGINNING_OF_MIRROR.fullmatch(replacement):
            raise UsageError(f"IMAGEPINS_MIRRORS: '{pair}' is not PREFIX=PREFIX, two beginnings of URLs")
        mirrors[prefix] = f"file://{replacement}" if replacement.startswith("/") else replacement
    return mirrors


def git_address(url: str, mirrors: Mapping[str, str]) -> str:
    """What git is given for a pinned ``url``: itself, or its mirror. Raises RefError where git may not be given it."""
    address = mirrored(check_url(url), mirrors)
    if address != url and not _ALLOWED_MIRROR.fullmatch(address):
        raise RefError(f"{url}: its mirror {masked(address)} is not a repository URL this tool uses; correct 'mirrors'")
    return address


def mirrored(url: str, mirrors: Mapping[str, str]) -> str:
    """``url`` with the longest matching prefix replaced. A prefix ends at a '/' or ':', never inside a name."""
    for prefix in sorted(mirrors, key=len, reverse=True):
        rest = url.removeprefix(prefix)
        if url.startswith(prefix) and (prefix[-1] in "/:" or not rest or rest[0] in "/:."):
            return mirrors[prefix] + rest
    return url


def web_url(url: str) -> str | None:
    """Where a browser finds the repository, or None for a file."""
    if url.startswith("file:"):
        return None
    path = re.sub(r"^(https://|ssh://)?([\w.-]+@)?", "", url)
    host, _, rest = re.sub(r"^([^/:]+)(:\d+(?=/))?[:/]", r"\1/", path).partition("/")
    if url.startswith("https://"):
        host = url.removeprefix("https://").partition("/")[0]
    return f"https://{host}/{rest.removesuffix('/').removesuffix('.git')}"


def is_same_repository(url: str, other: str) -> bool:
    """Whether two addresses name one repository, whatever the transport, case or '.git' at the end."""
    return _identity(url) == _identity(other)


def _identity(url: str) -> str:
    return (web_url(url) or url.removesuffix("/").removesuffix(".git")).lower()
