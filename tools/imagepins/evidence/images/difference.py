"""Two snapshots → what differs, section by section. Pure.

With ``semantic``, what does not matter to a process is left out: times of change, bytecode, logs and caches, and labels
that only say when and from which commit an image was built.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from imagepins import labels
from imagepins.evidence.images.snapshot import File, Snapshot, Step
from imagepins.verify.observed import Library

_PIN_LABELS = frozenset({labels.PINS, labels.PINS_HASH, labels.INPUTS, labels.CONTENT_HASH})
_BUILD_LABELS = frozenset({"org.opencontainers.image.created", "org.opencontainers.image.revision"})
_MEANINGLESS = re.compile(
    r".*/__pycache__(?:/.*)?|.*\.py[co]|/var/log/.*|/var/cache/.*|/var/lib/apt/lists/.*|/var/lib/dpkg/.*-old|/tmp/.*"
    r"|/root/\.cache(?:/.*)?|/etc/ld\.so\.cache"
)

Row = tuple[str, str | None, str | None]
"""A name, and its value on either side; None where that side has none."""


@dataclass(frozen=True)
class Section:
    """One kind of thing. Without ``rows`` both sides are alike, unless ``why_not`` tells that nobody could compare."""

    title: str
    rows: tuple[Row, ...] = ()
    why_not: str = ""


@dataclass(frozen=True)
class Difference:
    """Everything that was compared of two images."""

    base: str
    other: str
    sections: tuple[Section, ...]
    notes: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        return not any(section.rows for section in self.sections)


def difference(base: Snapshot, other: Snapshot, *, semantic: bool = False) -> Difference:
    """Compare two snapshots in every respect that both sides know."""
    sections = [
        _section("platform", {"platform": base.platform}, {"platform": other.platform}),
        _section("pins", _pins(base), _pins(other)),
        _section("versions and gates found", base.found or None, other.found or None),
        _section("environment", base.env, other.env),
        _section("labels", _labels(base, semantic=semantic), _labels(other, semantic=semantic)),
        _section("apt packages", _apt(base, other), _apt(other, base)),
        _section("Python packages", _pip(base, other), _pip(other, base)),
        _section("libraries", _libraries(base), _libraries(other)),
        _layers(base, other),
        _files(base.files, other.files, semantic=semantic),
    ]
    return Difference(base.name, other.name, tuple(sections), (*base.notes, *other.notes))


def _section(title: str, base: Mapping[str, str] | None, other: Mapping[str, str] | None) -> Section:
    if base is None or other is None:
        return Section(title, why_not=_unknown(base, other))
    names = [name for name in {**base, **other} if base.get(name) != other.get(name)]
    return Section(title, tuple((name, base.get(name), other.get(name)) for name in sorted(names)))


def _unknown(base: object, other: object) -> str:
    return "known of neither image" if base is None and other is None else "known of one image only"


def _pins(snapshot: Snapshot) -> Mapping[str, str] | None:
    pins = snapshot.pins.items()
    return {name: " ".join(pin[key] for key in ("id", "version") if key in pin) for name, pin in pins} or None


def _labels(snapshot: Snapshot, *, semantic: bool) -> Mapping[str, str]:
    # Pins are compared one by one above; their hashes would only repeat that something differs.
    left_out = _PIN_LABELS | (_BUILD_LABELS if semantic else frozenset())
    return {name: value for name, value in snapshot.labels.items() if name not in left_out}


def _apt(snapshot: Snapshot, beside: Snapshot) -> Mapping[str, str] | None:
    # A saved document holds the pinned packages alone, so only those are compared with it.
    if (snapshot.apt is None or beside.apt is None) and snapshot.observed and beside.observed:
        return {package.name: package.version for package in snapshot.observed.packages if package.is_installed}
    return snapshot.apt


def _pip(snapshot: Snapshot, beside: Snapshot) -> Mapping[str, str] | None:
    if (snapshot.pip is None or beside.pip is None) and snapshot.observed and beside.observed:
        return {each.name: each.version for each in snapshot.observed.distributions}
    return snapshot.pip


def _libraries(snapshot: Snapshot) -> Mapping[str, str] | None:
    if snapshot.observed is None:
        return None
    return {library.path: _library(library) for library in snapshot.observed.libraries}


def _library(library: Library) -> str:
    """What tells builds apart: version and commit in its strings, build id or digest, size, other names of the file."""
    words = [word for found in library.literals.values() for word in found[:1]]
    identity = library.build_id[:12] or library.sha256[:12]
    names = [name for name in library.names if name != library.path]
    parts = [*words, f"build {identity}" if identity else "", size_text(library.size)]
    return ", ".join([*filter(None, parts), *(f"also {name}" for name in names)])


def _layers(base: Snapshot, other: Snapshot) -> Section:
    if base.steps is None or other.steps is None:
        return Section("layers", why_not=_unknown(base.steps, other.steps))
    # Layers of a registry are compressed, those of an engine are not: their sizes say nothing about each other.
    with_sizes = base.is_compressed == other.is_compressed
    return _section("layers", *(_sizes(each.steps or (), with_sizes=with_sizes) for each in (base, other)))


def _sizes(steps: Iterable[Step], *, with_sizes: bool) -> dict[str, str]:
    """Size of each step; equal steps are told apart by number, and all of them add up under "total"."""
    sizes: dict[str, int] = {}
    for step in steps:
        text = _clip(step.text)
        while text in sizes:
            text += " (again)"
        if step.size:
            sizes[text] = step.size
    if not with_sizes:
        return dict.fromkeys(sizes, "there")
    return {name: size_text(size) for name, size in {**sizes, "total": sum(sizes.values())}.items()}


def _files(base: Mapping[str, File] | None, other: Mapping[str, File] | None, *, semantic: bool) -> Section:
    if base is None or other is None:
        return Section("files", why_not=_unknown(base, other))
    rows: list[Row] = []
    for path in sorted({**base, **other}):
        if semantic and _MEANINGLESS.fullmatch(path):
            continue
        one, two = base.get(path), other.get(path)
        if one is None or two is None:
            rows.append((path, _file(one) if one else None, _file(two) if two else None))
        elif changed := _changes(one, two, semantic=semantic):
            rows.append((path, *changed))
    return Section("files", tuple(rows))


def _changes(one: File, two: File, *, semantic: bool) -> tuple[str, str] | None:
    """What differs of a file on either side. Without digests an equal size and time stand for an equal content."""
    names = ("mode", "owner", "size", "time", "link", "content")
    pairs = [
        (f"{name} {before}", f"{name} {after}")
        for name, before, after in zip(names, one, two, strict=False)
        if before != after and not (name == "time" and (semantic or one[0].startswith("0o4")))
    ]
    if not pairs:
        return None
    before, after = (", ".join(words) for words in zip(*pairs, strict=True))
    return before, after


def _file(facts: File) -> str:
    return f"link to {facts[4]}" if facts[4] else size_text(facts[2])


def _clip(text: str, most: int = 100) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= most else flat[: most - 1] + "…"


def size_text(size: Any) -> str:
    """A size in bytes as people read it: ``292.1 MB``."""
    number = float(size)
    for unit in ("B", "kB", "MB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.2f} GB"


def count_kinds(rows: Iterable[Row]) -> dict[str, int]:
    """How many rows were added, removed and changed."""
    counts = {"added": 0, "removed": 0, "changed": 0}
    for _, one, two in rows:
        counts["added" if one is None else "removed" if two is None else "changed"] += 1
    return counts
