"""What a build run is asked to do."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from imagepins.build.choose import Found
from imagepins.pins.model import PinSet
from imagepins.plan.destination import Destination
from imagepins.plan.graph import Node


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How many targets are built at once, how many of them heavy, and whether a failure stops the rest."""

    jobs: int = 4
    heavy: int = 1
    keep_going: bool = False


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the user asked of a build run. ``time_limit`` is in seconds and for one target.

    ``content_only`` leaves the targets' own tags alone; ``force`` builds what is there; ``atomic`` moves no tag unless
    everything is good; ``load`` brings what a registry holds into the local engine. Layers are taken from ``cache``, a
    registry's host and path, and kept there unless ``cache_read_only``.
    """

    builder: str | None = None
    push: bool = False
    content_only: bool = False
    force: bool = False
    atomic: bool = False
    load: bool = False
    destination: Destination = field(default_factory=Destination)
    cache: str = ""
    cache_read_only: bool = False
    no_cache: bool = False
    network: str = ""
    attest: tuple[str, ...] = ()
    time_limit: float = 6 * 3600.0
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, kw_only=True)
class Job:
    """What is to be built: ``todo`` out of ``nodes``, parents first; the other parents are there, as ``found`` says."""

    pinset: PinSet
    root: Path
    nodes: Sequence[Node]
    todo: Sequence[Node]
    found: Found
