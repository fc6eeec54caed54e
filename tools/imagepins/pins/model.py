"""The values pins.yaml stands for. Frozen; every text carries its place in the file (see ``pins.text.Text``)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from imagepins.errors import UsageError
from imagepins.pins.conditions import Condition
from imagepins.pins.schema import nearest
from imagepins.pins.text import Text

DEFAULT_PLATFORM = "linux/amd64"


@dataclass(frozen=True, kw_only=True)
class Pin:
    """What all kinds of pin have. ``component`` names what the pin makes an image hold."""

    name: Text
    arg_name: Text | None = None
    component: Text | None = None
    component_version_text: Text | None = None
    note: Text | None = None
    hold: Text | None = None
    review_by: Text | None = None

    kind = "pin"
    arg_suffix = ""

    @property
    def arg(self) -> str:
        """Name of the ARG that carries the pin's id in rendered Dockerfiles."""
        return self.arg_name or self.name.upper().replace("-", "_").replace(".", "_") + self.arg_suffix

    @property
    def id(self) -> Text | None:
        """The immutable id, or None while nobody knows it (see ``is_complete``)."""
        raise NotImplementedError

    @property
    def source(self) -> Text:
        """Where the pin comes from: URL, repository or package name."""
        raise NotImplementedError

    @property
    def value(self) -> str:
        """Value of the pin's ARG: empty while the id is unknown."""
        return self.id or ""

    @property
    def is_complete(self) -> bool:
        """Whether the immutable id is known; an incomplete pin renders to a guard that stops the build."""
        return self.id is not None

    @property
    def component_version(self) -> Text | None:
        """Version the component must have in the image, or None where the pin does not tell."""
        return self.component_version_text


@dataclass(frozen=True)
class Track:
    """Where a git pin comes from: one of branch, tag and pull. ``then`` is the branch a merged pull leads to."""

    branch: Text | None = None
    tag: Text | None = None
    pull: Text | None = None
    then: Text | None = None


@dataclass(frozen=True)
class Patch:
    """A commit applied or taken back on top of the pinned one."""

    commit: Text
    reason: Text


@dataclass(frozen=True, kw_only=True)
class GitPin(Pin):
    """A commit of a git repository."""

    git: Text
    path: tuple[Text, ...] = ()
    commit: Text | None = None
    track: Track | None = None
    version: Text | None = None
    version_from: Text | None = None
    picks: tuple[Patch, ...] = ()
    reverts: tuple[Patch, ...] = ()
    allow_unreachable: Text | None = None

    kind = "git"
    arg_suffix = "_COMMIT"

    @property
    def id(self) -> Text | None:
        return self.commit

    @property
    def source(self) -> Text:
        return self.git

    @property
    def component_version(self) -> Text | None:
        return self.version


@dataclass(frozen=True, kw_only=True)
class ImagePin(Pin):
    """A base image. Without digest it is incomplete, unless ``allow_tag`` says why the tag is enough."""

    image: Text
    tag: Text
    digest: Text | None = None
    platform: Text | None = None
    allow_tag: Text | None = None

    kind = "image"
    arg_suffix = "_IMAGE"

    @property
    def id(self) -> Text | None:
        return self.digest or (self.tag if self.allow_tag else None)

    @property
    def source(self) -> Text:
        return self.image

    @property
    def value(self) -> str:
        if not self.is_complete:
            return ""
        return f"{self.image}:{self.tag}" + (f"@{self.digest}" if self.digest else "")


@dataclass(frozen=True, kw_only=True)
class UrlPin(Pin):
    """A downloaded file. Its ARG carries the sha256; ``url_arg`` carries the address."""

    url: Text
    sha256: Text | None = None

    kind = "url"
    arg_suffix = "_SHA256"

    @property
    def url_arg(self) -> str:
        """Name of the ARG that carries the address."""
        return self.arg.removesuffix("_SHA256") + "_URL"

    @property
    def id(self) -> Text | None:
        return self.sha256

    @property
    def source(self) -> Text:
        return self.url


@dataclass(frozen=True, kw_only=True)
class PypiPin(Pin):
    """An exact version of a Python package."""

    pypi: Text
    version: Text
    index: Text | None = None

    kind = "pypi"
    arg_suffix = "_VERSION"

    @property
    def id(self) -> Text | None:
        return self.version

    @property
    def source(self) -> Text:
        return self.pypi

    @property
    def component_version(self) -> Text | None:
        return self.version


@dataclass(frozen=True, kw_only=True)
class AptPin(Pin):
    """An upstream version of a Debian package out of one suite."""

    apt: Text
    version: Text
    suite: Text

    kind = "apt"
    arg_suffix = "_VERSION"

    @property
    def id(self) -> Text | None:
        return self.version

    @property
    def source(self) -> Text:
        return self.apt


@dataclass(frozen=True)
class EnvVar:
    """One ENV value with the condition and the reason it stands under."""

    name: Text
    value: Text
    when: Condition | None = None
    reason: Text | None = None


@dataclass(frozen=True)
class Gate:
    """A feature that exists while ``when`` holds for versions found in the image; an unknown version means off."""

    name: Text
    when: Condition
    value: str | None = None
    otherwise: str = "0"
    note: Text | None = None


@dataclass(frozen=True)
class Constraint:
    """``require`` must hold wherever its pins meet in an image (and ``when`` holds)."""

    require: Condition
    reason: Text
    when: Condition | None = None


@dataclass(frozen=True)
class Bench:
    """A benchmark recipe; times are in seconds."""

    server: tuple[Text, ...]
    ready: tuple[Text, ...]
    client: tuple[Text, ...]
    result: Text
    env_sets: tuple[Mapping[str, Text], ...] = ({},)
    devices: tuple[Text, ...] = ()
    warmup: int = 1
    runs: int = 3
    ready_seconds: int = 600
    client_seconds: int = 3600


@dataclass(frozen=True, kw_only=True)
class Target:
    """One image in one variant: what is rendered, built and verified as a whole.

    ``pins`` maps each role that the template knows to its pin in this variant; ``all_pins`` adds what the parents hold.
    ``env`` holds what this target's own pins and conditions leave standing.
    """

    image: Text
    variant: Text
    template: Text
    pins: Mapping[str, Pin]
    parent: "Target | None" = None
    archs: tuple[Text, ...] = ()
    args: Mapping[str, Text] = field(default_factory=dict)
    env_vars: tuple[EnvVar, ...] = ()
    gates: tuple[Gate, ...] = ()
    require_gates: tuple[Text, ...] = ()
    tags: tuple[str, ...] = ()
    platform: str = DEFAULT_PLATFORM
    python: str = "python3"
    loads: tuple[Text, ...] = ()
    allow_copies: Mapping[str, Text] = field(default_factory=dict)
    weight: str = "light"
    bench: Bench | None = None

    @property
    def name(self) -> str:
        """``image/variant``."""
        return f"{self.image}/{self.variant}"

    @property
    def dockerfile(self) -> str:
        """Path of the rendered Dockerfile, relative to pins.yaml."""
        return f"images/{self.image}/{self.variant}/Dockerfile"

    @cached_property
    def all_pins(self) -> Mapping[str, Pin]:
        """Pins of the parents and of this target; a role given again wins."""
        return {**(self.parent.all_pins if self.parent else {}), **self.pins}

    @cached_property
    def env(self) -> Mapping[str, EnvVar]:
        """ENV this target sets, after ``when``."""
        return {var.name: var for var in self.env_vars if var.when is None or var.when.holds(self.all_pins.values())}

    @cached_property
    def all_env(self) -> Mapping[str, EnvVar]:
        """ENV of the finished image: the parents' and this target's."""
        return {**(self.parent.all_env if self.parent else {}), **self.env}

    @property
    def is_complete(self) -> bool:
        """Whether every pin, the parents' included, has its immutable id."""
        return all(pin.is_complete for pin in self.all_pins.values())


@dataclass(frozen=True, kw_only=True)
class PinSet:
    """All of one pins.yaml. ``path`` is how messages name the file; ``text`` is what stands in it."""

    path: str
    text: str
    pins: Mapping[str, Pin]
    groups: Mapping[str, tuple[Text, ...]]
    targets: Mapping[str, Target]
    gates: Mapping[str, Gate]
    constraints: tuple[Constraint, ...]
    mirrors: Mapping[str, str]

    def place(self, value: Text) -> str:
        """``pins.yaml:LINE`` of a value."""
        return f"{self.path}:{value.line}"

    def pin(self, name: str) -> Pin:
        """The pin of that name. Raises UsageError with the nearest name where there is none."""
        if name not in self.pins:
            raise UsageError(f"{self.path}: no pin '{name}'{nearest(name, self.pins)}")
        return self.pins[name]

    def select(self, names: tuple[str, ...] = ()) -> tuple[Target, ...]:
        """Targets of the given images or image/variants (all where none are given), parents before children.

        Parents of what is selected are not added; ``with_parents`` does. Raises UsageError for an unknown name.
        """
        if not names:
            return tuple(self.targets.values())
        wanted: set[str] = set()
        for name in names:
            found = [each for each in self.targets.values() if name in (each.name, each.image)]
            if not found:
                known = {each.image: None for each in self.targets.values()} | dict.fromkeys(self.targets)
                raise UsageError(f"{self.path}: no image '{name}'{nearest(name, known)}")
            wanted.update(each.name for each in found)
        return tuple(each for each in self.targets.values() if each.name in wanted)

    def targets_of(self, pin: str) -> tuple[Target, ...]:
        """Targets that hold ``pin``, themselves or through a parent."""
        return tuple(each for each in self.targets.values() if any(p.name == pin for p in each.all_pins.values()))


def with_parents(targets: tuple[Target, ...]) -> Iterator[Target]:
    """The targets and all their parents, each once, parents first."""
    seen: set[str] = set()
    for target in targets:
        chain = [target]
        while chain[-1].parent:
            chain.append(chain[-1].parent)
        for each in reversed(chain):
            if each.name not in seen:
                seen.add(each.name)
                yield each
