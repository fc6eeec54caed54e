"""Instructions of a Dockerfile → what it is built from: outside images and files of the context."""

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from imagepins.errors import PinsError
from imagepins.plan.dockerfile import Instruction, Parsed
from imagepins.plan.words import UnknownValue, WordError, evaluate, split_words

_URL = re.compile(r"(?:https?|git|ssh|ftp)://|[\w.-]+@[\w.-]+:")


@dataclass(frozen=True)
class Use:
    """Something an instruction takes from outside, spelled as BuildKit looks it up, and the line that takes it."""

    name: str
    line: int


@dataclass(frozen=True)
class Sources:
    """What a Dockerfile is built from: outside images (FROM, COPY --from, mount from=) and patterns of the context.

    ``unchecked`` are addresses that ADD fetches without --checksum.
    """

    images: tuple[Use, ...]
    files: tuple[Use, ...]
    unchecked: tuple[Use, ...]


def sources(parsed: Parsed, file: str, platform: str) -> Sources:
    """Find the outside images and the context patterns of all stages, built for ``platform``.

    Raises PinsError, naming ``file`` and line, for a name that only the builder or a base image can tell.
    """
    scan = _Scan(file, parsed.escape, _automatic(platform))
    for each in parsed.instructions:
        scan.read(each)
    return Sources(_unique(scan.images), _unique(scan.files), _unique(scan.unchecked))


@dataclass
class _Scope:
    """Variables at one place. ``unknown`` maps names to why nobody knows their value before the build."""

    values: dict[str, str] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)
    base: str = ""
    """Outside image whose ENV counts, too."""

    def copy(self) -> "_Scope":
        return _Scope(dict(self.values), dict(self.unknown), self.base)

    def look_up(self, name: str) -> str | None:
        if name in self.values:
            return self.values[name]
        if name in self.unknown:
            raise UnknownValue(self.unknown[name])
        if self.base:
            raise UnknownValue(f"only {self.base} can tell what {name} is; give it a value here, with ARG or ENV")
        return None

    def take_over(self, name: str, other: "_Scope") -> None:
        """Let ``name`` be what it is in ``other``, if it is anything there."""
        if name in other.values:
            self.values[name] = other.values[name]
        elif name in other.unknown:
            self.values.pop(name, None)
            self.unknown[name] = other.unknown[name]


def _automatic(platform: str) -> _Scope:
    """The ARGs that BuildKit gives before the first FROM; those of the machine that builds are not known here."""
    system, architecture, variant = [*platform.split("/"), "", ""][:3]
    given = {"PLATFORM": platform, "OS": system, "ARCH": architecture, "VARIANT": variant}
    unknown = {f"BUILD{name}": f"only the builder can tell what BUILD{name} is" for name in given}
    return _Scope({"TARGETSTAGE": "default", **{f"TARGET{name}": value for name, value in given.items()}}, unknown)


@dataclass
class _Scan:
    """Reads instructions in order, as scopes of ARG and names of stages depend on it."""

    file: str
    escape: str
    outside: _Scope
    images: list[Use] = field(default_factory=list)
    files: list[Use] = field(default_factory=list)
    unchecked: list[Use] = field(default_factory=list)
    stages: dict[str, _Scope] = field(default_factory=dict)
    scope: _Scope | None = None
    """That of the stage; None before the first."""

    def read(self, each: Instruction) -> None:
        if each.keyword == "FROM":
            self._open_stage(each)
        elif each.keyword == "ARG":
            self._define_args(each)
        elif each.keyword == "ENV":
            self._define_env(each)
        else:
            for name in _from_flags(each):
                self._use_image(self._image(name, each.line), each.line)
            uses = [Use(self._value(word, each.line), each.line) for word in _context_words(each)]
            self.files.extend(use for use in uses if not _URL.match(use.name))
            if not each.flag_values("checksum"):
                self.unchecked.extend(use for use in uses if _URL.match(use.name))

    @property
    def _here(self) -> _Scope:
        return self.outside if self.scope is None else self.scope

    def _open_stage(self, each: Instruction) -> None:
        self.scope = None
        words = each.rest.split()
        base = self._image(words[0], each.line) if words else ""
        self._use_image(base, each.line)
        parent = self.stages.get(base.lower())
        self.scope = parent.copy() if parent else _Scope(base="" if base == "scratch" else base)
        self.stages[str(sum(name.isdigit() for name in self.stages))] = self.scope
        if len(words) == 3 and words[1].lower() == "as":
            self.stages[words[2].lower()] = self.scope

    def _define_args(self, each: Instruction) -> None:
        for word in split_words(each.rest, self.escape):
            name, equals, value = word.partition("=")
            if equals:
                self._define(name, value, self._here)
            elif self.scope is not None:
                self.scope.take_over(name, self.outside)

    def _define_env(self, each: Instruction) -> None:
        # Values are made of what was there before the whole instruction.
        before = self._here.copy()
        words = split_words(each.rest, self.escape)
        if words and "=" not in words[0]:
            name, _, value = each.rest.strip().partition(" ")
            self._define(name, value.strip(), before)
            return
        for word in words:
            name, _, value = word.partition("=")
            self._define(name, value, before)

    def _define(self, name: str, word: str, scope: _Scope) -> None:
        try:
            self._here.values[name] = evaluate(word, scope.look_up, escape=self.escape)
        except WordError as reason:
            self._here.values.pop(name, None)
            self._here.unknown[name] = str(reason)

    def _value(self, word: str, line: int) -> str:
        try:
            return evaluate(word, self._here.look_up, escape=self.escape)
        except WordError as reason:
            raise PinsError(f"{self.file}:{line}: {word}: {reason}") from None

    def _image(self, word: str, line: int) -> str:
        """Name of an image; where Docker will refuse it, such as for a pin without id, the word as it stands."""
        try:
            return evaluate(word, self._here.look_up, escape=self.escape)
        except UnknownValue:
            return self._value(word, line)
        except WordError:
            return word

    def _use_image(self, name: str, line: int) -> None:
        if name.lower() not in self.stages and name != "scratch":
            self.images.append(Use(name, line))


def _from_flags(instruction: Instruction) -> Iterator[str]:
    yield from instruction.flag_values("from")
    for mount in instruction.flag_values("mount"):
        if name := _mount(mount).get("from"):
            yield name


def _mount(text: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in next(csv.reader([text]), []))
    return {name.strip().lower(): value for name, _, value in pairs}


def _context_words(instruction: Instruction) -> Iterator[str]:
    """Words of the instruction that name files of the context, before variables are replaced."""
    for mount in (_mount(value) for value in instruction.flag_values("mount")):
        if mount.get("type", "bind") == "bind" and "from" not in mount:
            yield mount.get("source") or mount.get("src") or "."
    if instruction.keyword not in ("COPY", "ADD") or instruction.flag_values("from"):
        return
    for word in _arguments(instruction.rest)[:-1]:
        if not word.startswith("<<"):
            yield word


def _arguments(rest: str) -> list[str]:
    """Arguments of COPY and ADD: a JSON list, or else words that blanks part, whatever quotes stand there."""
    try:
        words = json.loads(rest) if rest.startswith("[") else None
    except ValueError:
        words = None
    return words if isinstance(words, list) and all(isinstance(word, str) for word in words) else rest.split()


def _unique(uses: list[Use]) -> tuple[Use, ...]:
    first: dict[str, Use] = {}
    for use in uses:
        first.setdefault(use.name, use)
    return tuple(first.values())
