"""The values pins.yaml stands for. Frozen; every text carries its place in the file (see ``pins.text.Text``)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from imagepins.errors import UsageError
from imagepins.pins.conditions import Condition
from imagepins.pins.kinds import AptPin as AptPin
from imagepins.pins.kinds import GitPin as GitPin
from imagepins.pins.kinds import ImagePin as ImagePin
from imagepins.pins.kinds import Patch as Patch
from imagepins.pins.kinds import Pin as Pin
from imagepins.pins.kinds import PypiPin as PypiPin
from imagepins.pins.kinds import Track as Track
from imagepins.pins.kinds import UrlPin as UrlPin
from imagepins.pins.schema import nearest
from imagepins.pins.text import Text

DEFAULT_PLATFORM = "linux/amd64"


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

        Parents of what is selected are not added. Raises UsageError for an unknown name.
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
