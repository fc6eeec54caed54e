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
SITES = frozenset({"site-packages", "dist-packages"})
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
    sums = (f"info/{name}.md5sums", f"info/{name}:{fields.get('Architecture', '')}.md5sums", f"status.d/{name}.md5sums")
    listed = "".join(read_text(os.path.join(DPKG, each), RECORD_LIMIT) for each in sums)
    # Distroless images have no lists.
    files = files or ["/" + line.partition("  ")[2] for line in listed.splitlines() if ".so" in line]
    changed, unchecked = changed_by_md5(listed, _diversions(name))
    return {
        "name": name,
        "version": fields.get("Version", ""),
        # status.d of distroless images has no Status line: what is listed is installed
        "is_installed": fields.get("Status", "install ok installed").endswith(" installed"),
        "files": sorted({shown(canonical(path)) for path in files}),
        "changed": changed[:20],
        "unchecked": unchecked,
        "has_record": bool(listed) or not files,
    }


def _diversions(package: str) -> dict[str, str]:
    """Where dpkg-divert has put files of a package, so that another's stand in their place."""
    lines = read_text(f"{DPKG}/diversions", RECORD_LIMIT).splitlines()
    places = range(0, len(lines) - 2, 3)
    return {lines[at]: lines[at + 1] for at in places if lines[at + 2] != package}


def changed_by_md5(listed: str, diversions: dict[str, str]) -> tuple[list[str], list[str]]:
    """Shared objects and programs that are not as a package's md5sums have them; and those not compared."""
    changed, unchecked = [], []
    for line in listed.splitlines():
        wanted, _, name = line.partition("  ")
        path = diversions.get("/" + name, "/" + name)
        if (".so" in name or "bin/" in name) and len(wanted) == 32:
            if not os.path.isfile(path):
                changed.append(f"{shown(path)} is gone")
                continue
            found = digest(path, "md5") if os.path.getsize(path) <= MD5_LIMIT else ""
            if not found:
                unchecked.append(shown(path))
            elif found != wanted:
                changed.append(f"{shown(path)} differs")
    return changed, unchecked


def distributions(paths: Iterable[str], names: Iterable[str]) -> list[dict[str, Any]]:
    """Python distributions of the wanted names (PEP 503) among all metadata directories of the image."""
    wanted = set(names)
    return [_distribution(path) for path in paths if _name_in_path(path) in wanted]


def normal_name(name: str) -> str:
    """A distribution's name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _name_in_path(path: str) -> str:
    place = os.path.dirname(path) if os.path.basename(path) == "EGG-INFO" else path
    stem = os.path.basename(place).rpartition(".")[0]
    # Older tools leave the hyphens of a name as they are: kernel-pack-2.0.dist-info
    return normal_name(re.split(r"-(?=\d)", stem)[0])


def _distribution(path: str) -> dict[str, Any]:
    is_wheel = path.endswith(".dist-info")
    metadata = read_text(os.path.join(path, "METADATA" if is_wheel else "PKG-INFO") if os.path.isdir(path) else path)
    head = re.split(r"\r?\n\r?\n", metadata)[0].splitlines()
    fields = dict(line.split(": ", 1) for line in reversed(head) if ": " in line)
    record = os.path.join(path, "RECORD")
    text = read_text(record, RECORD_LIMIT)
    changed, unchecked = changed_files(os.path.dirname(path), text)
    # The metadata of a source tree that is installed in place; its files are the tree's.
    is_tree = path.endswith(".egg-info") and os.path.basename(os.path.dirname(path)) not in SITES
    return {
        "path": shown(path),
        "name": fields.get("Name", _name_in_path(path)),
        "version": fields.get("Version", "").strip(),
        "installer": read_text(os.path.join(path, "INSTALLER")).strip()[:100],
        "origin": read_text(os.path.join(path, "direct_url.json"))[:2000],
        "installed": int(os.stat(record).st_mtime) if os.path.exists(record) else 0,
        "needs": [line[15:].strip() for line in head if line.startswith("Requires-Dist: ")][:200],
        "changed": changed[:20],
        "unchecked": unchecked,
        "has_record": bool(text.strip()) or is_tree,
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


def changed_files(site: str, record: str) -> tuple[list[str], list[str]]:
    """Files of a wheel that are not as RECORD has them: gone, of another size, or of another content.

    Content is compared of code (Python and shared objects), of all together as much as two seconds read. Second are the
    files of code that were not compared.
    """
    import base64

    changed, unchecked = [], []
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
        if is_same and (path.endswith((".so", ".py")) or ".so." in path):
            found = digest(full) if int(size) <= left else ""
            left -= int(size) if found else 0
            if not found:
                unchecked.append(shown(full))
            else:
                is_same = base64.urlsafe_b64encode(bytes.fromhex(found)).rstrip(b"=").decode() == wanted
        if not is_same:
            changed.append(f"{shown(full)} differs")
    return changed, unchecked


def programs(names: Iterable[str]) -> list[dict[str, Any]]:
    """Programs of these names on PATH, with their sha256."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    paths = {canonical(os.path.join(folder, name)): name for name in names for folder in folders}
    found = [(path, name) for path, name in paths.items() if os.path.isfile(path)]
    return [{"name": name, "path": shown(path), "sha256": digest(path)} for path, name in found]
