"""What runs inside an image to list it: every package of dpkg and Python, and every file.

Sent as the text of this file to the image's own interpreter, so it uses the standard library of Python 3.8 alone.
argv: mode, marker, request as JSON. ``with_content`` in the request asks for a digest of every file's content.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BLOCK = 1 << 20


def mount_points() -> set[str]:
    """Everything an engine mounts or makes in a container (/proc, /etc/hosts): no part of the image."""
    lines = read("/proc/self/mountinfo").splitlines()
    return {line.split(" ")[4] for line in lines if line.count(" ") > 4} - {"/"} | {
        "/proc",
        "/sys",
        "/dev",
        "/.dockerenv",
        "/etc/mtab",
    }


def list_files(root: str) -> dict[str, list[Any]]:
    """Every entry below ``root``, mounts left out: mode, owner, size, time of change, target of a link."""
    found: dict[str, list[Any]] = {}
    stack = [root]
    skipped = mount_points()
    while stack:
        folder = stack.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        for entry in entries:
            if entry.path in skipped:
                continue
            try:
                facts = entry.stat(follow_symlinks=False)
                target = os.readlink(entry.path) if stat.S_ISLNK(facts.st_mode) else ""
            except OSError:
                continue
            if stat.S_ISDIR(facts.st_mode):
                stack.append(entry.path)
            size = facts.st_size if stat.S_ISREG(facts.st_mode) else 0
            owner = f"{facts.st_uid}:{facts.st_gid}"
            found[shown(entry.path)] = [oct(facts.st_mode), owner, size, int(facts.st_mtime), shown(target)]
    return found


def add_digests(files: dict[str, list[Any]]) -> None:
    """Put a digest of its content behind the facts of every regular file; threads, since hashing lets them run."""
    from concurrent.futures import ThreadPoolExecutor

    regular = [path for path, facts in files.items() if facts[2]]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for path, digest in zip(regular, pool.map(digest_of, regular)):
            files[path].append(digest)


def digest_of(path: str) -> str:
    """The first 16 hex digits of the content's BLAKE2, or why there is none."""
    digest = hashlib.blake2b(digest_size=8)
    try:
        with open(os.fsencode(path), "rb") as file:
            for block in iter(lambda: file.read(BLOCK), b""):
                digest.update(block)
    except OSError as error:
        return f"unreadable: {error.strerror}"
    return digest.hexdigest()


def dpkg_packages(root: str) -> dict[str, str]:
    """Version of every installed Debian package, by name:architecture where that is not the common one."""
    text = read(os.path.join(root, "var/lib/dpkg/status"))
    folder = os.path.join(root, "var/lib/dpkg/status.d")
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        text += "\n\n" + read(os.path.join(folder, name))
    packages = {}
    for stanza in re.split(r"\n\s*\n", text):
        fields = dict(line.split(": ", 1) for line in stanza.splitlines() if re.match(r"[A-Z][A-Za-z-]*: ", line))
        if fields.get("Status", "install ok installed").endswith(" installed") and "Package" in fields:
            name, architecture = fields["Package"], fields.get("Architecture", "")
            packages[name + ":" + architecture if name in packages else name] = fields.get("Version", "")
    return packages


def python_packages(paths: list[str]) -> dict[str, str]:
    """Version of every Python distribution by its normal name; one that is there twice has both, with their folders."""
    found: dict[str, dict[str, str]] = {}
    for path in paths:
        match = re.fullmatch(r"(.*/)([^/]+?)\.(?:dist-info/METADATA|egg-info/PKG-INFO|egg-info)", path)
        if not match:
            continue
        head = read(path).split("\n\n", 1)[0]
        fields = dict(line.split(": ", 1) for line in reversed(head.splitlines()) if ": " in line)
        name = re.sub(r"[-_.]+", "-", fields.get("Name", match.group(2).split("-")[0])).lower()
        found.setdefault(name, {})[match.group(1)] = fields.get("Version", "").strip()
    return {
        name: next(iter(places.values()))
        if len(places) == 1
        else ", ".join(f"{version} ({place})" for place, version in sorted(places.items()))
        for name, places in found.items()
    }


def read(path: str) -> str:
    """The text of a file; empty where it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def shown(path: str) -> str:
    """A path that JSON can carry, whatever bytes it is made of."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def main(argv: list[str]) -> None:
    """Write the document between two markers."""
    mark, request = argv[2], json.loads(argv[3])
    root = request["root"]
    files = list_files(root)
    document = {"apt": dpkg_packages(root), "pip": python_packages(list(files)), "files": files}
    if request["with_content"]:
        add_digests(files)
    data = f"\n{mark}\n{json.dumps(document)}\n{mark}\n".encode()
    while data:
        data = data[os.write(1, data) :]


if __name__ == "__main__":
    main(sys.argv)
