"""The package databases of an image → what they say of the wanted packages. Read as files; nothing is run."""

from __future__ import annotations

import os
import re

from imagepins.verify.collector.paths import canonical, read_bytes, read_text, shown
from imagepins.verify.collector.records import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

DPKG = "/var/lib/dpkg"
STATUS_LIMIT = 64_000_000
RECORD_LIMIT = 20_000_000
# What careless wheels install beside their package: nobody imports it, and many have it.
MISPLACED = frozenset({"tests", "test", "testing", "examples", "docs", "benchmarks", "scripts", "setup", "conftest"})
HASHED_LIMIT = 1_000_000_000
# Reading a runtime of 300 MB would take longer than all of the rest; its own functions and literals tell it.
MD5_LIMIT = 32_000_000


def dpkg_packages(names: Iterable[str]) -> list[dict[str, Any]]:
    """Version, state and installed shared objects of Debian packages; distroless keeps one file per package."""
    names = list(names)
    if not names:
        return []
    status = read_bytes(DPKG + "/status", STATUS_LIMIT)
    for name in sorted(os.listdir(DPKG + "/status.d")) if os.path.isdir(DPKG + "/status.d") else ():
        if not name.endswith(".md5sums"):
            status += b"\n\n" + read_bytes(os.path.join(DPKG, "status.d", name))
    found = []
    for name in names:
        for match in re.finditer(rb"(?m)^Package: " + re.escape(name.encode()) + rb"$", status):
            begin = status.rfind(b"\n\n", 0, match.start()) + 1
            end = status.find(b"\n\n", match.start())
            found.append(_package(name, status[begin : end if end >= 0 else None]))
    return found


def _package(name: str, stanza: bytes) -> dict[str, Any]:
    fields = dict(line.split(": ", 1) for line in stanza.decode("utf-8", "replace").splitlines() if ": " in line)
    lists = (f"{DPKG}/info/{name}.list", f"{DPKG}/info/{name}:{fields.get('Architecture', '')}.list")
    files = [line for path in lists for line in read_text(path, RECORD_LIMIT).splitlines() if ".so" in line]
    sums = (f"{DPKG}/info/{name}.md5sums", f"{DPKG}/info/{name}:{fields.get('Architecture', '')}.md5sums")
    return {
        "name": name,
        "version": fields.get("Version", ""),
        # status.d of distroless images has no Status line: what is listed is installed
        "is_installed": fields.get("Status", "install ok installed").endswith(" installed"),
        "files": sorted({shown(canonical(path)) for path in files})[:500],
        "changed": [path for each in sums for path in changed_by_md5(read_text(each, RECORD_LIMIT))][:20],
    }


def changed_by_md5(listed: str) -> list[str]:
    """Shared objects and programs of a package that are gone or, up to a size, not as its md5sums have them."""
    changed = []
    for line in listed.splitlines():
        wanted, _, name = line.partition("  ")
        path = "/" + name
        if (".so" in name or "bin/" in name) and len(wanted) == 32:
            if not os.path.isfile(path):
                changed.append(f"{shown(path)} is gone")
            elif os.path.getsize(path) <= MD5_LIMIT and digest(path, "md5") not in ("", wanted):
                changed.append(f"{shown(path)} differs")
    return changed


def distributions(paths: Iterable[str], names: Iterable[str]) -> list[dict[str, Any]]:
    """Python distributions of the wanted names (PEP 503) among all metadata directories of the image."""
    wanted = set(names)
    return [_distribution(path) for path in paths if _name_in_path(path) in wanted]


def normal_name(name: str) -> str:
    """A distribution's name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _name_in_path(path: str) -> str:
    stem = os.path.basename(path).rpartition(".")[0]
    return normal_name(stem.split("-")[0])


def _distribution(path: str) -> dict[str, Any]:
    is_wheel = path.endswith(".dist-info")
    metadata = read_text(os.path.join(path, "METADATA" if is_wheel else "PKG-INFO") if os.path.isdir(path) else path)
    fields = dict(line.split(": ", 1) for line in reversed(metadata.split("\n\n")[0].splitlines()) if ": " in line)
    record = os.path.join(path, "RECORD")
    text = read_text(record, RECORD_LIMIT)
    return {
        "path": shown(path),
        "name": fields.get("Name", _name_in_path(path)),
        "version": fields.get("Version", "").strip(),
        "installer": read_text(os.path.join(path, "INSTALLER")).strip()[:100],
        "origin": read_text(os.path.join(path, "direct_url.json"))[:2000],
        "installed": int(os.stat(record).st_mtime) if os.path.exists(record) else 0,
        "needs": [line[15:].strip() for line in metadata.splitlines() if line.startswith("Requires-Dist: ")][:200],
        "changed": changed_files(os.path.dirname(path), text),
        "has_record": bool(text.strip()) or not is_wheel,
        "modules": top_modules(text),
    }


def top_modules(record: str) -> list[str]:
    """Names by which a wheel's modules are imported; namespaces, which several may share, are none."""
    paths = (line.split(",")[0].strip('"') for line in record.splitlines())
    ends = (path[: -len(end)] for path in paths for end in ("/__init__.py", ".py") if path.endswith(end))
    return sorted({name for name in ends if "/" not in name} - MISPLACED)[:50]


def shadowing(distribution: dict[str, Any], search_path: list[str]) -> list[str]:
    """Files that an import of a distribution's modules takes instead, as they lie in an earlier folder."""
    site = os.path.dirname(distribution["path"])
    if site not in search_path:
        return []
    earlier = [folder for folder in search_path[: search_path.index(site)] if folder.startswith("/")]
    places = (
        f"{folder}/{name}{end}"
        for folder in earlier
        for name in distribution["modules"]
        for end in ("/__init__.py", ".py")
    )
    return [path for path in places if os.path.isfile(path)][:20]


def changed_files(site: str, record: str) -> list[str]:
    """Files of a wheel that are not as RECORD has them: gone, of another size, or of another content.

    Content is compared of code: Python up to 1 MB, and shared objects, of all together as much as two seconds read.
    """
    import base64

    changed = []
    left = HASHED_LIMIT
    for line in record.splitlines():
        path, _, rest = line.rpartition(",sha256=")
        wanted, _, size = rest.partition(",")
        # An entry without a checksum (path,,) still promises a file.
        path = (path or line.rpartition(",")[0].rpartition(",")[0]).strip('"')
        # Metadata is edited on purpose, for example to drop a requirement; bytecode comes and goes.
        if not path or ".dist-info/" in path or path.endswith(".pyc"):
            continue
        full = os.path.join(site, path)
        try:
            actual_size = os.stat(full).st_size
        except OSError:
            changed.append(f"{shown(full)} is gone")
            continue
        if not size.isdigit():
            continue
        is_same = actual_size == int(size)
        is_code = path.endswith(".so") or ".so." in path or (path.endswith(".py") and int(size) <= 1_000_000)
        if is_same and is_code and int(size) <= left:
            left -= int(size)
            sum_found = base64.urlsafe_b64encode(bytes.fromhex(digest(full))).rstrip(b"=")
            is_same = sum_found.decode() == wanted
        if not is_same:
            changed.append(f"{shown(full)} differs")
    return changed[:20]


def programs(names: Iterable[str]) -> list[dict[str, Any]]:
    """Programs of these names on PATH, with their sha256."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    paths = {canonical(os.path.join(folder, name)): name for name in names for folder in folders}
    found = [(path, name) for path, name in paths.items() if os.path.isfile(path)]
    return [{"name": name, "path": shown(path), "sha256": digest(path)} for path, name in found]
