"""A Python package + indexes → its versions, from the pages that pip itself reads."""

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

from imagepins import process
from imagepins.errors import NetworkError, RefError
from imagepins.gitrepo.url import mirrored
from imagepins.pins.text import masked
from imagepins.web import Limits, get

_ACCEPT = "application/vnd.pypi.simple.v1+json, text/html;q=0.1"
_DISTRIBUTIONS = (".whl", ".tar.gz", ".zip", ".tar.bz2", ".tgz", ".egg", ".exe")
_LIMITS = Limits(seconds=120.0, size=128 << 20)


@dataclass(frozen=True)
class Release:
    """One version in an index; ``yanked`` is the reason if every file of it was withdrawn ('' without one)."""

    version: Version
    yanked: str | None


def configured_indexes() -> list[str]:
    """The indexes pip is configured for on this machine: environment before configuration files."""
    settings = dict(_pip_settings())
    settings |= {
        name: os.environ[f"PIP_{name}"] for name in ("INDEX_URL", "EXTRA_INDEX_URL") if f"PIP_{name}" in os.environ
    }
    return [settings.get("INDEX_URL") or _default_index(), *settings.get("EXTRA_INDEX_URL", "").split()]


def _default_index() -> str:
    """The index pip itself asks where nothing is configured."""
    try:
        from pip._internal.models.index import PyPI
    except ImportError as error:
        raise NetworkError(f"no index is configured, and pip names none ({error}); set PIP_INDEX_URL") from None
    return str(PyPI.simple_url)


def releases(package: str, indexes: list[str], mirrors: Mapping[str, str]) -> dict[Version, Release]:
    """Every version of ``package`` in the indexes, which are asked at their mirrors.

    Raises RefError where none has the package, NetworkError.
    """
    found: dict[Version, list[str | None]] = {}
    seen = False
    for index in indexes:
        files = _files(mirrored(index, mirrors), package)
        seen = seen or files is not None
        for name, yanked in files or ():
            if version := _version_of(name, package):
                found.setdefault(version, []).append(yanked)
    if not seen:
        raise RefError(f"there is no package '{package}' in {', '.join(map(masked, indexes))}")
    return {
        version: Release(version, None if None in reasons else next(reason for reason in reasons))
        for version, reasons in found.items()
    }


def _files(index: str, package: str) -> list[tuple[str, str | None]] | None:
    """(file name, reason it was yanked or None) of an index's page, or None where it has none."""
    url = f"{index.rstrip('/')}/{canonicalize_name(package)}/"
    try:
        if url.startswith("file://"):
            return _files_on_disk(Path(unquote(urlsplit(url).path)))
        return _files_of_server(url)
    except (ValueError, RecursionError) as error:
        raise NetworkError(f"{masked(url)}: is no page of a package index ({error})") from error


def _files_on_disk(folder: Path) -> list[tuple[str, str | None]] | None:
    """A local index, as pip takes it: a page per package, or just the files."""
    try:
        return _parse_page((folder / "index.html").read_text(encoding="utf-8"), "text/html")
    except OSError:
        return [(path.name, None) for path in folder.iterdir()] if folder.is_dir() else None


def _files_of_server(url: str) -> list[tuple[str, str | None]] | None:
    answer = get(url, _LIMITS, headers={"Accept": _ACCEPT}, verify=os.environ.get("PIP_CERT") or True)
    if answer.status == 404:
        return None
    if answer.status != 200:
        raise NetworkError(f"{masked(url)}: the index does not answer ({answer.status_text})")
    return _parse_page(answer.text, answer.headers.get("Content-Type", ""))


def _parse_page(text: str, content_type: str) -> list[tuple[str, str | None]]:
    """Raises ValueError for a page that is not as indexes send them."""
    if "json" in content_type:
        return _parse_json(text)
    parser = _Links()
    parser.feed(text)
    if not parser.is_index and not any(name.endswith(_DISTRIBUTIONS) for name, _ in parser.files):
        # Of networks that want a login first, say; only an index tells that a package has no version.
        raise ValueError("it leads to no file of a package")
    return parser.files


def _parse_json(text: str) -> list[tuple[str, str | None]]:
    import json

    document: Any = json.loads(text)
    files = document.get("files") if isinstance(document, dict) else None
    if not isinstance(files, list):
        raise ValueError("its JSON lists no files")
    named = [each for each in files if isinstance(each, dict) and isinstance(each.get("filename"), str)]
    return [(each["filename"], _reason(each.get("yanked"))) for each in named]


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.is_index = False
        self.files: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.is_index = self.is_index or (tag == "meta" and given.get("name") == "pypi:repository-version")
        if tag == "a" and (href := given.get("href")):
            name = unquote(href.partition("#")[0].rstrip("/").rpartition("/")[2])
            self.files.append((name, (given["data-yanked"] or "") if "data-yanked" in given else None))


def _reason(yanked: object) -> str | None:
    if not yanked:
        return None
    return yanked if isinstance(yanked, str) else ""


def _version_of(filename: str, package: str) -> Version | None:
    parse = parse_wheel_filename if filename.endswith(".whl") else parse_sdist_filename
    try:
        name, version, *_ = parse(filename)
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
        return None
    return version if name == canonicalize_name(package) else None


def _pip_settings() -> Mapping[str, str]:
    try:
        listed = process.run([sys.executable, "-m", "pip", "config", "list"], timeout=30).stdout
    except process.ProcessFailed:
        return {}
    found = re.findall(r"^(?:global|install|:env:)\.(index-url|extra-index-url)='(.*)'$", listed, re.MULTILINE)
    return {name.replace("-", "_").upper(): value.replace("\\n", " ") for name, value in found}
