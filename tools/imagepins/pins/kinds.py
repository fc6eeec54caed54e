"""The kinds of pin: what each pins, by which immutable id, and which ARG carries it."""

from dataclasses import dataclass
from typing import ClassVar

from imagepins.pins.text import Text


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

    kind: ClassVar[str]
    id_key: ClassVar[str]
    arg_suffix: ClassVar[str]

    @property
    def arg(self) -> str:
        """Name of the ARG that carries the pin's id in rendered Dockerfiles."""
        return self.arg_name or self.name.upper().replace("-", "_").replace(".", "_") + self.arg_suffix

    @property
    def id(self) -> Text | None:
        """The immutable id, or None while nobody knows it (see ``is_complete``)."""
        value: Text | None = getattr(self, self.id_key)
        return value

    @property
    def source(self) -> Text:
        """Where the pin comes from: URL, repository or package name, under the key that tells the kind."""
        value: Text = getattr(self, self.kind)
        return value

    @property
    def value(self) -> str:
        """Value of the pin's ARG: empty while the id is unknown."""
        return self.id or ""

    @property
    def is_complete(self) -> bool:
        """Whether the immutable id is known; an incomplete pin renders to a guard that stops the build."""
        return self.id is not None

    @property
    def gap(self) -> str:
        """What an incomplete pin lacks and how it gets it."""
        return f"has no {self.id_key} yet; run tools/bump_pin {self.name}"

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

    @property
    def is_whole(self) -> bool:
        """Whether the whole commit is known; otherwise ``commit`` holds its first digits."""
        return len(self.commit) == 40


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
    min_age_days: Text | None = None

    kind = "git"
    id_key = "commit"
    arg_suffix = "_COMMIT"

    @property
    def value(self) -> str:
        return self.commit if self.commit and self.is_complete else ""

    @property
    def is_complete(self) -> bool:
        return self.commit is not None and all(patch.is_whole for patch in (*self.picks, *self.reverts))

    @property
    def gap(self) -> str:
        short = [patch.commit for patch in (*self.picks, *self.reverts) if not patch.is_whole]
        if self.commit is None or not short:
            return super().gap
        return f"knows the first digits only of {', '.join(short)}; write each whole, as 'commit:' instead of 'short:'"

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
    id_key = "digest"
    arg_suffix = "_IMAGE"

    @property
    def id(self) -> Text | None:
        return self.digest or (self.tag if self.allow_tag else None)

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
    id_key = "sha256"
    arg_suffix = "_SHA256"

    @property
    def url_arg(self) -> str:
        """Name of the ARG that carries the address."""
        return self.arg.removesuffix("_SHA256") + "_URL"


@dataclass(frozen=True, kw_only=True)
class PypiPin(Pin):
    """An exact version of a Python package."""

    pypi: Text
    version: Text
    index: Text | None = None

    kind = "pypi"
    id_key = "version"
    arg_suffix = "_VERSION"

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
    id_key = "version"
    arg_suffix = "_VERSION"
