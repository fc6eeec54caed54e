"""Commit + the file its version stands in → version. Each reader knows one way of writing a version down."""

import json
import re
from collections.abc import Callable

from imagepins.gitrepo.cache import Repository, absent, fetch_refs, read, refs_merged
from imagepins.gitrepo.history import describe_commits
from imagepins.gitrepo.trees import read_file

NEAREST_TAG = "tag"
_VERSION = r"\d+(?:\.\d+)*(?:[A-Za-z0-9.+_-]*[A-Za-z0-9])?"
_CANDIDATE_TAGS = 10


class VersionNotFound(Exception):
    """The file is not in the commit, or holds no version a reader knows."""


def version_at(repository: Repository, commit: str, source: str) -> str:
    """Version of ``commit``, read from the file ``source`` (or, for 'tag', the nearest tag it contains).

    Raises VersionNotFound, and NetworkError when the server does not hand the file out.
    """
    if source == NEAREST_TAG:
        return _nearest_tag(repository, commit)
    tree = describe_commits(repository, [commit])[commit].tree
    text = read_file(repository, tree, source)
    if text is None:
        raise VersionNotFound(f"there is no file {source} in {commit[:12]}")
    version = parse_version(source, text)
    if version is None:
        raise VersionNotFound(f"{source} of {commit[:12]} holds no version in a form this tool reads")
    return version


def parse_version(path: str, text: str) -> str | None:
    """The version in ``text``, read as files named ``path`` are written, or None."""
    name = path.rsplit("/", 1)[-1]
    for pattern, reader in _READERS:
        if re.fullmatch(pattern, name):
            found = reader(text)
            return found if found and re.fullmatch(_VERSION, found) else None
    return None


def _numbers(text: str, pattern: str) -> str | None:
    found = {match["part"].upper(): match["number"] for match in re.finditer(pattern, text, re.MULTILINE)}
    if "MAJOR" not in found:
        return None
    parts = [found["MAJOR"], found.get("MINOR", "0")]
    return ".".join([*parts, found["PATCH"]] if "PATCH" in found else parts)


def _from_make(text: str) -> str | None:
    return _numbers(text, r"^\s*\w*?_?(?P<part>MAJOR|MINOR|PATCH)\s*[:?]?=\s*(?P<number>\d+)\s*(?:#.*)?$")


def _from_version_file(text: str) -> str | None:
    # HIP names each number in a comment above it. Its patch 0 stands for "computed from the commit's date".
    version = _numbers(text, r"^#\s*\w*?_?(?P<part>MAJOR|MINOR|PATCH)\s*$\s*^(?P<number>\d+)\s*$")
    if version:
        return version.removesuffix(".0") if version.count(".") == 2 else version
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return lines[0].removeprefix("v") if lines else None


def _from_cmake(text: str) -> str | None:
    without_comments = re.sub(r"#.*", "", text)
    found = re.search(rf"\bproject\s*\([^)]*?\bVERSION\s+\"?({_VERSION})\"?[\s)]", without_comments, re.I)
    return found[1] if found else None


def _from_python(text: str) -> str | None:
    found = re.search(
        rf"^\s*(?:__version__|version)\s*(?::[^=\n]+)?=\s*(?:\w+\s*=\s*)*[\"']v?({_VERSION})[\"']", text, re.MULTILINE
    )
    return found[1] if found else None


def _from_toml(text: str) -> str | None:
    import tomllib

    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None
    tables = [document.get("project"), document.get("package"), document.get("tool", {}).get("poetry")]
    versions = [table.get("version") for table in tables if isinstance(table, dict)]
    return next((str(version) for version in versions if isinstance(version, str)), None)


def _from_json(text: str) -> str | None:
    try:
        document = json.loads(text)
    except ValueError:
        return None
    version = document.get("version") if isinstance(document, dict) else None
    return str(version).removeprefix("v") if isinstance(version, str) else None


_READERS: tuple[tuple[str, Callable[[str], str | None]], ...] = (
    (r".*\.mk|Makefile", _from_make),
    (r"CMakeLists\.txt|.*\.cmake", _from_cmake),
    (r".*\.pyi?", _from_python),
    (r".*\.toml", _from_toml),
    (r".*\.json", _from_json),
    (r"(?i)version(?:\.txt)?|.*\.version", _from_version_file),
)


def _nearest_tag(repository: Repository, commit: str) -> str:
    # Some repositories have a tag per CI run; those that begin with v are asked for first, and are few.
    for prefix in ("refs/tags/v", "refs/tags/"):
        fetch_refs(repository, [prefix])
        merged = refs_merged(repository, commit, prefix)
        found = ((re.fullmatch(rf"refs/tags/(?:\S*[-/_])?v?({_VERSION})", name), ref) for name, ref in merged.items())
        tags = [(match[1], ref) for match, ref in found if match][:_CANDIDATE_TAGS]
        distances = [(int(read(repository, "rev-list", "--count", f"{ref}..{commit}")), text) for text, ref in tags]
        if distances:
            return min(distances, key=lambda each: each[0])[1]
    if repository.is_offline:
        raise absent(repository, f"a tag that is a version and leads to {commit[:12]}")
    raise VersionNotFound(f"no tag that is a version leads to {commit[:12]}")
