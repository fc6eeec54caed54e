"""Observed document (JSON) → values. The document is what an image showed; it can be saved and judged later."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import UnionType
from typing import Any, Self, get_args, get_origin

from imagepins.errors import UsageError

SECTIONS = (
    *("libraries", "objects", "distributions", "programs", "texts", "records"),
    *("answers", "loads", "statuses", "left_out"),
)
"""Parts that every whole document has, also where there is nothing in them."""

FORMAT = "imagepins-observed"
VERSION = 1


@dataclass(frozen=True, kw_only=True)
class _Entry:
    @classmethod
    def read(cls, value: Mapping[str, Any]) -> Self:
        """Take the keys that are known; newer collectors may write more."""
        known = {each.name for each in fields(cls)}
        entry: Self = _checked(cls(**{key: item for key, item in value.items() if key in known}))
        return entry


def _checked(entry: Any) -> Any:
    """The entry; raises TypeError where a field holds no value of its type, as a damaged document makes it."""
    for each in fields(entry):
        value = getattr(entry, each.name)
        if not _fits(each.type, value):
            raise TypeError(f"{each.name} of {type(entry).__name__} is {value!r:.80}")
    return entry


def _fits(kind: Any, value: object) -> bool:
    outer, inner = get_origin(kind) or kind, get_args(kind)
    if kind is Any:
        return True
    if outer is UnionType:
        return any(_fits(each, value) for each in inner)
    if outer in (list, tuple):
        return isinstance(value, (list, tuple)) and all(_fits(inner[0], each) for each in value)
    if outer is Mapping:
        return isinstance(value, Mapping) and all(_fits(inner[0], k) and _fits(inner[1], v) for k, v in value.items())
    return isinstance(value, outer)


@dataclass(frozen=True, kw_only=True)
class Library(_Entry):
    """One file (device and inode) of a library family. ``names`` are its hard links, ``links`` symbolic ones."""

    family: str
    path: str
    names: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    device: int = 0
    inode: int = 0
    size: int = 0
    error: str = ""
    soname: str = ""
    build_id: str = ""
    literals: Mapping[str, list[str]] = field(default_factory=dict)
    archs: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    sha256: str = ""
    content: str = ""

    @property
    def identity(self) -> tuple[object, ...]:
        """Equal for two files exactly when they hold one build: patchelf and strip keep code, data and build id."""
        return (self.build_id, self.content or self.sha256 or (self.device, self.inode))


@dataclass(frozen=True, kw_only=True)
class Mapped(_Entry):
    """A library file that a process mapped; ``calls`` maps a function to its return code and value."""

    path: str
    family: str
    device: int = 0
    inode: int = 0
    calls: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Load(_Entry):
    """What one process loaded. ``users`` are mapped files that find pinned libraries by a search path.

    ``is_implied``: by soname, because nothing that was asked for mapped the family. ``provided`` are the functions of
    a family that the process sees, each with the file it would take it from.
    """

    what: str
    is_implied: bool = False
    error: str = ""
    is_late: bool = False
    mapped: tuple[Mapped, ...] = ()
    users: tuple[Mapping[str, Any], ...] = ()
    provided: tuple[Mapping[str, Any], ...] = ()
    modules: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    devices: Mapping[str, int] | None = None


@dataclass(frozen=True, kw_only=True)
class Package(_Entry):
    """A Debian package; ``files`` are its shared objects, ``changed`` those that are not as it brought them.

    ``unchecked`` are those that were not compared; ``has_record``: the package has checksums of its files, or none.
    """

    name: str
    version: str
    is_installed: bool = True
    files: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    has_record: bool = True


@dataclass(frozen=True, kw_only=True)
class Distribution(_Entry):
    """A Python distribution's metadata. ``changed`` are files that are not as RECORD has them, where it has one.

    ``unchecked`` are code files whose size alone was compared, ``shadowed`` files that imports take instead of its own.
    """

    path: str
    name: str
    version: str
    installer: str = ""
    origin: str = ""
    installed: int = 0
    needs: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    has_record: bool = True
    shadowed: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Program(_Entry):
    """A program on PATH."""

    name: str
    path: str
    sha256: str = ""


@dataclass(frozen=True, kw_only=True)
class Checkout(_Entry):
    """A kept git checkout; ``dirty`` lists changed files, None where nothing could tell."""

    path: str
    head: str = ""
    remotes: list[str] = field(default_factory=list)
    dirty: list[str] | None = None


@dataclass(frozen=True, kw_only=True)
class Record(_Entry):
    """What a build stage recorded of a pin; ``files`` maps a path to its recorded and present sha256.

    ``strange`` counts lines that are neither a field nor a file.
    """

    path: str
    name: str
    fields: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    strange: int = 0


@dataclass(frozen=True, kw_only=True)
class ImageFacts(_Entry):
    """What the engine says of the image. ``bases`` maps a base image that is here to what the engine says of that."""

    ref: str = ""
    id: str = ""
    platform: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    layers: list[str] = field(default_factory=list)
    digests: list[str] = field(default_factory=list)
    bases: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Observed:
    """Everything an image showed. ``document`` is the JSON it came from, ``request`` what was asked for."""

    document: Mapping[str, Any]
    image: ImageFacts
    libraries: tuple[Library, ...] = ()
    objects: tuple[Library, ...] = ()
    loads: tuple[Load, ...] = ()
    packages: tuple[Package, ...] = ()
    distributions: tuple[Distribution, ...] = ()
    programs: tuple[Program, ...] = ()
    checkouts: tuple[Checkout, ...] = ()
    records: tuple[Record, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    modules: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    modules_error: str = ""
    search_path: tuple[str, ...] = ()
    answers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    errors: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    request: Mapping[str, Any] | None = None

    def library_of(self, mapped: Mapped) -> Library | None:
        """The file on disk that a process mapped."""
        by_inode = (each for each in self.libraries if (each.device, each.inode) == (mapped.device, mapped.inode))
        return next(by_inode, None) or next((each for each in self.libraries if mapped.path in each.names), None)

    def is_use(self, load: Load) -> bool:
        """Whether a load is what the served program does, or, where nothing tells what it does, all there is."""
        return not load.is_implied or all(each.is_implied for each in self.loads)

    def mapped(self, family: str) -> tuple[tuple[Load, Mapped], ...]:
        """Who maps which file of a family."""
        return tuple((load, each) for load in self.loads for each in load.mapped if each.family == family)


def read(document: Mapping[str, Any], *, source: str = "the collector's document") -> Observed:
    """Read a document. Raises UsageError where it is none, or of a newer version."""
    if document.get("format") != FORMAT:
        raise UsageError(f"{source} is no observed document (format {document.get('format')!r}, not {FORMAT!r})")
    if document.get("version") != VERSION:
        raise UsageError(f"{source} has version {document.get('version')!r}; this tool reads version {VERSION}")
    try:
        return _read(document)
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        raise UsageError(f"{source} is damaged: {error}") from None


def _read(document: Mapping[str, Any]) -> Observed:
    loads = [load for load in document.get("loads", ()) if load["what"] != "modules"]
    modules: Mapping[str, Any] = next((load for load in document.get("loads", ()) if load["what"] == "modules"), {})
    dirty = {each["path"]: each["dirty"] for each in document.get("statuses", ())}
    seen = Observed(
        document=document,
        image=ImageFacts.read(document.get("image", {})),
        libraries=tuple(map(Library.read, document.get("libraries", ()))),
        objects=tuple(Library.read({"family": "", **each}) for each in document.get("objects", ())),
        loads=tuple(map(_load, loads)),
        packages=tuple(map(Package.read, document.get("packages", ()))),
        distributions=tuple(map(Distribution.read, document.get("distributions", ()))),
        programs=tuple(map(Program.read, document.get("programs", ()))),
        checkouts=tuple(
            Checkout.read({**each, "dirty": dirty.get(each["path"])}) for each in document.get("checkouts", ())
        ),
        records=tuple(map(Record.read, document.get("records", ()))),
        texts=document.get("texts", {}),
        env=document.get("env", {}),
        modules=modules.get("modules", {}),
        modules_error=modules.get("error", ""),
        search_path=tuple(modules.get("path", ())),
        answers={each["name"]: each for each in document.get("answers", ())},
        errors=tuple(document.get("errors", ())),
        left_out=tuple(document.get("left_out", ())),
        request=document.get("request"),
    )
    checked: Observed = _checked(seen)
    return checked


def _load(value: Mapping[str, Any]) -> Load:
    return Load.read({**value, "mapped": tuple(map(Mapped.read, value.get("mapped", ())))})
