"""Parsed Dockerfile → its stages, with what each can see of ARG, ENV and SHELL."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from imagepins.plan.dockerfile import Instruction, Parsed

# Read by programs from the environment, which ARG is part of while a stage is built; or given by BuildKit.
_ENVIRONMENT = re.compile(
    r"SOURCE_DATE_EPOCH|DEBIAN_FRONTEND|MAX_JOBS|(?:HTTPS?|FTP|NO|ALL)_PROXY|(?:TARGET|BUILD)(?:PLATFORM|OS|ARCH|VARIANT)"
    r"|(?:PIP|UV|CARGO|RUSTUP|BUILDKIT)_\w+(?<!_VERSION)"
)


@dataclass(frozen=True)
class Stage:
    """One stage: its instructions after FROM. ``inherited`` are ARGs and ENVs of the stages it is built on."""

    name: str
    base: str
    instructions: tuple[Instruction, ...]
    inherited: frozenset[str]
    shell: str

    @property
    def runs(self) -> Iterator[Instruction]:
        """The RUN instructions."""
        return (each for each in self.instructions if each.keyword == "RUN")

    @property
    def own_args(self) -> set[str]:
        """Names of ARGs declared in the stage itself."""
        args = (each for each in self.instructions if each.keyword == "ARG")
        return {name for each in args for name, _ in self.declared(each)}

    def declared(self, arg: Instruction) -> list[tuple[str, bool]]:
        """Names that an ARG declares, each with whether it gives a value."""
        return [(word.partition("=")[0], "=" in word) for word in _words(arg.rest)]

    def set_by(self, env: Instruction) -> set[str]:
        """Names that an ENV sets."""
        return {word.partition("=")[0] for word in _words(env.rest) if "=" in word}

    def shell_has(self, run: Instruction, option: str) -> bool:
        """Whether the SHELL that is in force at ``run`` has an option, such as ``-e`` or ``pipefail``."""
        before = (each.rest for each in self.instructions if each.keyword == "SHELL" and each.line < run.line)
        in_force = ([self.shell, *before])[-1]
        letters = "".join(re.findall(r"\"-([a-z]+)\"", in_force))
        return option in in_force or (len(option) == 2 and option[1] in letters)


def global_args(parsed: Parsed) -> dict[str, int]:
    """ARGs before the first FROM, each with its line."""
    found: dict[str, int] = {}
    for each in parsed.instructions:
        if each.keyword == "FROM":
            break
        if each.keyword == "ARG":
            found |= {word.partition("=")[0]: each.line for word in _words(each.rest)}
    return found


def stages(parsed: Parsed) -> Iterator[Stage]:
    """The stages, each after those it is built on."""
    seen: dict[str, Stage] = {}
    starts = [number for number, each in enumerate(parsed.instructions) if each.keyword == "FROM"]
    for index, (start, end) in enumerate(zip(starts, [*starts[1:], len(parsed.instructions)], strict=True)):
        words = parsed.instructions[start].rest.split()
        # Docker tells names of stages apart by their letters alone.
        base = words[0].lower()
        name = words[2].lower() if len(words) == 3 else str(index)
        parent = seen.get(base)
        known = parent.inherited | parent.own_args | _set_in(parent) if parent else frozenset()
        shells = [each.rest for each in parent.instructions if each.keyword == "SHELL"] if parent else []
        shell = (shells or [parent.shell if parent else ""])[-1]
        stage = Stage(name, base, parsed.instructions[start + 1 : end], frozenset(known), shell)
        seen[name] = stage
        yield stage


def is_read_from_environment(name: str) -> bool:
    """Whether an ARG of that name works without anybody naming it."""
    return _ENVIRONMENT.fullmatch(name) is not None


def _set_in(stage: Stage) -> set[str]:
    return {name for each in stage.instructions if each.keyword == "ENV" for name in stage.set_by(each)}


def _words(rest: str) -> list[str]:
    try:
        return shlex.split(rest)
    except ValueError:
        return rest.split()
