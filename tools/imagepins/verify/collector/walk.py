"""The image's file system → the few paths that matter, by one walk that follows no link."""

from __future__ import annotations

import os
import re

from imagepins.verify.collector.paths import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

PSEUDO = frozenset({"/proc", "/sys", "/dev"})
KEPT = 20000
TEXTS = 200
# versions.txt, VERSION, rccl-version, build_versions.json: what people write beside what they install
STATED = re.compile(r"(?i)[\w.-]*versions?(\.txt|\.json|\.env)?$")
UNREADABLE = 100


class Found:
    """Paths by what they are: files with the name of a wanted library, all shared objects, package metadata, ..."""

    def __init__(self, stems: Iterable[str], texts: Iterable[str], *, want_objects: bool) -> None:
        self.libraries: list[str] = []
        self.objects: list[str] = []
        self.distributions: list[str] = []
        self.checkouts: list[str] = []
        self.texts: list[str] = []
        self.statements: list[str] = []
        self.unreadable: list[str] = []
        self.entries = 0
        self.left_out: list[str] = []
        self._is_library = re.compile(family_pattern(stems) if stems else r"(?!)").match
        self._texts = tuple(texts)
        self._text_names = {text.rpartition("/")[2] for text in texts}
        self._want_objects = want_objects

    def add_folder(self, name: str, path: str) -> None:
        """Keep what a folder's name says of it."""
        if name == ".git":
            self.checkouts.append(path)
        elif name.endswith((".dist-info", ".egg-info")) or (name == "EGG-INFO" and path.endswith(".egg/EGG-INFO")):
            self.distributions.append(path)

    def add_file(self, entry: os.DirEntry[str]) -> None:
        """Keep what a file's name says of it; links count as the files they are named as."""
        name = entry.name
        if ".so" in name:
            if self._is_library(name):
                self.libraries.append(entry.path)
            if self._want_objects and (name.endswith(".so") or ".so." in name) and not entry.is_symlink():
                self.objects.append(entry.path)
        elif name == ".git":
            self.checkouts.append(entry.path)
        elif name.endswith(".egg-info"):
            self.distributions.append(entry.path)
        if name in self._text_names and entry.path.endswith(self._texts):
            self.texts.append(entry.path)
        elif ("ersion" in name or "ERSION" in name) and STATED.match(name):
            self.statements.append(entry.path)

    def cut(self) -> Found:
        """Sort, keep a hostile image from making the answer endless, and tell what is left out for it."""
        for name in ("libraries", "objects", "distributions", "checkouts", "texts", "statements"):
            paths = getattr(self, name)
            paths.sort()
            limit = TEXTS if name == "texts" else KEPT
            # Statements prove nothing, so leaving some out loses nothing.
            if len(paths) > limit and name != "statements":
                self.left_out.append(f"{len(paths) - limit} of {len(paths)} {name}")
            del paths[limit:]
        return self


def family_pattern(stems: Iterable[str]) -> str:
    """File names of library families: ``librccl.so.1.0``; ``librccl-3f2a1b9c.so.1``, as auditwheel renames it."""
    names = "|".join(re.escape(stem[:-3] if stem.endswith(".so") else stem) for stem in stems)
    return rf"(?:{names})(?:-[0-9a-f]{{8}})?\.so(?:\.|$)"


def walk(root: str, stems: list[str], texts: list[str], *, want_objects: bool) -> Found:
    """Walk everything under ``root`` except /proc, /sys and /dev. ``texts`` are ends of paths, from a slash on."""
    found = Found(stems, texts, want_objects=want_objects)
    stack = [root]
    while stack:
        folder = stack.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    found.entries += 1
                    if not entry.is_dir(follow_symlinks=False):
                        found.add_file(entry)
                    elif entry.path not in PSEUDO:
                        stack.append(entry.path)
                        found.add_folder(entry.name, entry.path)
        except OSError as error:
            if len(found.unreadable) < UNREADABLE:
                found.unreadable.append(f"{shown(folder)}: {error.strerror}")
    return found.cut()
