"""A Debian package + suite → its versions, from this machine's apt lists or from the archives apt is set up for."""

import bz2
import gzip
import io
import lzma
import re
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from imagepins import process
from imagepins.errors import NetworkError
from imagepins.gitrepo.url import mirrored
from imagepins.parallel import parallel

# Debian's and Ubuntu's; an archive answers for those it does not have in a moment.
_COMPONENTS = ("main", "universe", "contrib", "non-free", "non-free-firmware", "restricted", "multiverse")
# What is built for the suite, but not in it unless somebody asks for that, is left out: backports, proposed updates.
_POCKETS = ("", "-updates", "-security")
_OPENERS: Mapping[str, Callable[[io.BytesIO], io.BufferedIOBase]] = {
    "xz": lzma.LZMAFile,
    "gz": lambda packed: gzip.GzipFile(fileobj=packed),
    "bz2": bz2.BZ2File,
}
_SECONDS = 180.0
_SIZE_LIMIT = 128 << 20
_UNPACKED_LIMIT = 1 << 30


@dataclass(frozen=True)
class Listed:
    """Full versions of a package; whether any index of the suite was read; why others could not be."""

    versions: frozenset[str]
    is_read: bool
    unread: tuple[str, ...]


def versions_here(package: str, suite: str) -> list[str]:
    """Full versions of ``package`` in ``suite`` as this machine's own apt lists know them, of the day of an update."""
    try:
        listed = process.run(["apt-cache", "madison", package], timeout=30, check=False).stdout
    except process.ProcessFailed:
        return []
    rows = [[cell.strip() for cell in line.split("|")] for line in listed.splitlines()]
    source = re.compile(rf"\s{re.escape(suite)}(?:{'|'.join(_POCKETS)})/")
    return [row[1] for row in rows if len(row) == 3 and source.search(f" {row[2]}")]


def look_up(package: str, suite: str, mirrors: Mapping[str, str]) -> Listed:
    """What the suite's indexes at those archives say of ``package``."""
    archives = [(mirrored(uri, mirrors), architecture) for uri, architecture in _archives()]
    asked = [(f"{uri}/dists/{suite}{pocket}", architecture) for uri, architecture in archives for pocket in _POCKETS]
    found = parallel(lambda one: _read_suite(package, *one), asked)
    return Listed(
        frozenset(version for each in found for version in each.versions),
        is_read=any(each.is_read for each in found),
        unread=tuple(dict.fromkeys(reason for each in found for reason in each.unread)),
    )


def _read_suite(package: str, uri: str, architecture: str) -> Listed:
    """What one suite of one archive says; a server that fails once is not asked for the rest."""
    versions: set[str] = set()
    is_read = False
    for component in _COMPONENTS:
        try:
            text = _packages(f"{uri}/{component}/binary-{architecture}")
        except NetworkError as error:
            return Listed(frozenset(versions), is_read, (str(error),))
        versions.update(_versions(text or "", package))
        is_read = is_read or text is not None
    return Listed(frozenset(versions), is_read, ())


def _archives() -> list[tuple[str, str]]:
    """(URI, architecture) of every archive in this machine's sources."""
    try:
        text = process.run(
            ["apt-get", "indextargets", "--format", "$(REPO_URI) $(ARCHITECTURE)", "Created-By: Packages"], timeout=30
        ).stdout
    except process.ProcessFailed:
        return []
    pairs = (line.split() for line in text.splitlines())
    return list(dict.fromkeys((pair[0].rstrip("/"), pair[1]) for pair in pairs if len(pair) == 2))


def _packages(folder: str) -> str | None:
    """Text of the index in ``folder``, or None where the archive has none there. Raises NetworkError."""
    for name in ("Packages.xz", "Packages.gz", "Packages.bz2", "Packages"):
        content = _read(f"{folder}/{name}")
        if content is not None:
            return _unpacked(f"{folder}/{name}", content)
    return None


def _read(url: str) -> bytes | None:
    if url.startswith("file:"):
        return _on_disk(Path(unquote(urlsplit(url).path)))
    from imagepins import web

    answer = web.get(url, web.Limits(_SECONDS, _SIZE_LIMIT))
    if answer.status == 404:
        return None
    if answer.status != 200:
        raise NetworkError(f"{url}: answers {answer.status_text}")
    return answer.body


def _on_disk(path: Path) -> bytes | None:
    try:
        with path.open("rb") as file:
            content = file.read(_SIZE_LIMIT + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise NetworkError(f"{path}: {error.strerror}") from error
    if len(content) > _SIZE_LIMIT:
        raise NetworkError(f"{path}: is larger than {_SIZE_LIMIT >> 20} MiB")
    return content


def _unpacked(url: str, content: bytes) -> str:
    packed = io.BytesIO(content)
    try:
        with _OPENERS.get(url.rpartition(".")[2], io.BufferedReader)(packed) as stream:
            unpacked = stream.read(_UNPACKED_LIMIT + 1)
    except (lzma.LZMAError, zlib.error, OSError, EOFError) as error:
        raise NetworkError(f"{url}: is no package index ({error})") from error
    if len(unpacked) > _UNPACKED_LIMIT:
        raise NetworkError(f"{url}: unpacks to more than {_UNPACKED_LIMIT >> 20} MiB")
    return unpacked.decode(errors="replace")


def _versions(packages: str, name: str) -> Iterable[str]:
    for entry in re.finditer(rf"^Package: {re.escape(name)}\n(?:.+\n)*?Version: (\S+)$", packages, re.MULTILINE):
        yield entry[1]
