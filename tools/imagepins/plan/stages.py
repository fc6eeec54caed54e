"""Instructions of a Dockerfile → what it is built from: outside images and files of the context."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from imagepins.plan.dockerfile import Instruction, Parsed

_VARIABLE = re.compile(r"\$(?:\{(?P<braced>\w+)(?:(?P<operator>:?[-+])(?P<word>[^}]*))?\}|(?P<bare>\w+))")
_QUOTES = re.compile(r"[\"'\\]")
_URL = re.compile(r"(?:https?|git|ftp)://|git@")


@dataclass(frozen=True)
class Use:
    """Something an instruction takes from outside, spelled as BuildKit looks it up, and the line that takes it."""

    name: str
    line: int


@dataclass(frozen=True)
class Sources:
    """What a Dockerfile is built from: outside images (FROM, COPY --from, mount from=) and patterns of the context."""

    images: tuple[Use, ...]
    files: tuple[Use, ...]


def sources(parsed: Parsed) -> Sources:
    """Find the outside images and the context patterns of all stages."""
    scan = _Scan()
    for each in parsed.instructions:
        scan.read(each)
    return Sources(_unique(scan.images), _unique(scan.files))


def expand(text: str, args: Mapping[str, str]) -> str:
    """Replace ``$NAME``, ``${NAME}`` and ``${NAME:-word}`` as BuildKit does; unknown names become empty."""

    def value(match: re.Match[str]) -> str:
        found = args.get(match["braced"] or match["bare"], "")
        if not match["operator"]:
            return found
        word = expand(match["word"], args)
        return (found or word) if match["operator"].endswith("-") else (word if found else "")

    return _VARIABLE.sub(value, text)


@dataclass
class _Scan:
    """Reads instructions in order, as scopes of ARG and names of stages depend on it."""

    images: list[Use] = field(default_factory=list)
    files: list[Use] = field(default_factory=list)
    stages: set[str] = field(default_factory=set)
    count: int = 0
    global_args: dict[str, str] = field(default_factory=dict)
    args: dict[str, str] = field(default_factory=dict)

    def read(self, each: Instruction) -> None:
        if each.keyword == "FROM":
            self._open_stage(each)
        elif each.keyword in ("ARG", "ENV"):
            self._define(each)
        else:
            for name in _from_flags(each):
                self._use_image(expand(name, self.args), each.line)
            self.files.extend(Use(pattern, each.line) for pattern in _context_patterns(each, self.args))

    def _open_stage(self, each: Instruction) -> None:
        words = expand(each.rest, self.global_args).split()
        self._use_image(words[0] if words else "", each.line)
        self.stages.add(str(self.count))
        if len(words) == 3 and words[1].lower() == "as":
            self.stages.add(words[2].lower())
        self.count += 1
        self.args = {}

    def _define(self, each: Instruction) -> None:
        scope = self.args if self.count else self.global_args
        for word in _split(each.rest):
            name, equals, value = word.partition("=")
            scope[name] = expand(value, scope) if equals else self.global_args.get(name, "")

    def _use_image(self, name: str, line: int) -> None:
        if name.lower() not in self.stages and name != "scratch":
            self.images.append(Use(name, line))


def _from_flags(instruction: Instruction) -> Iterator[str]:
    yield from instruction.flag_values("from")
    for mount in instruction.flag_values("mount"):
        if name := _mount(mount).get("from"):
            yield name


def _mount(text: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in text.split(","))
    return {name.strip(): value for name, _, value in pairs}


def _context_patterns(instruction: Instruction, args: Mapping[str, str]) -> Iterator[str]:
    for mount in (_mount(value) for value in instruction.flag_values("mount")):
        if mount.get("type", "bind") == "bind" and "from" not in mount:
            yield mount.get("source") or mount.get("src") or "."
    if instruction.keyword not in ("COPY", "ADD") or instruction.flag_values("from"):
        return
    for word in _split(expand(instruction.rest, args))[:-1]:
        if not word.startswith("<<") and not _URL.match(word):
            yield word


def _split(rest: str) -> list[str]:
    if rest.startswith("["):
        return [str(word) for word in json.loads(rest)]
    if not _QUOTES.search(rest):
        return rest.split()
    try:
        return shlex.split(rest)
    except ValueError:
        # BuildKit reports unbalanced quotes itself, with a better message than ours would be.
        return rest.split()


def _unique(uses: list[Use]) -> tuple[Use, ...]:
    first: dict[str, Use] = {}
    for use in uses:
        first.setdefault(use.name, use)
    return tuple(first.values())
