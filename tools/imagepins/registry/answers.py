"""The three answers to "is it there?". Unknown never turns into absent: who cannot ask must not conclude."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Present:
    """It is there. ``digest`` is ``sha256:...``; ``is_index`` tells a multi-platform index from one manifest."""

    digest: str
    media_type: str
    is_index: bool


@dataclass(frozen=True)
class Absent:
    """The registry says that it is not there; ``reason`` is its wording."""

    reason: str


@dataclass(frozen=True)
class Unknown:
    """The registry could not be asked; ``reason`` says what stood in the way."""

    reason: str


Answer = Present | Absent | Unknown


@dataclass(frozen=True)
class ImageConfig:
    """What an image says of itself. ``config`` is the document of its config blob (OCI image configuration)."""

    digest: str
    platform: str
    labels: Mapping[str, str]
    config: Mapping[str, Any]
