"""Text of a Dockerfile → its instructions, as BuildKit reads them, each with its lines."""

import re
import shlex
from dataclasses import dataclass

from imagepins.errors import PinsError

_DIRECTIVE = re.compile(r"#\s*(?P<name>syntax|escape|check)\s*=\s*(?P<value>\S.*)", re.IGNORECASE)
# A word of its own, as BuildKit has it: neither "$((a<<b))" nor <<< opens a here-document.
_HEREDOC = re.compile(r"\d*<<(?P<tabs>-?)(?P<quote>['\"]?)(?P<word>[^\s<'\"]+)(?P=quote)")
_PART = r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|\\.|[^\s\\]"
_FLAG = re.compile(rf"--(?P<name>[a-z-]+)(?:=(?P<value>(?:{_PART})*))?(?:\s+|$)")
_WITH_HEREDOC = ("RUN", "COPY", "ADD")


@dataclass(frozen=True)
class Instruction:
    """One instruction: ``line`` to ``end`` in the file (from 1), its flags and the rest, continuation lines joined.

    ``text`` is all that BuildKit sees of it, here-documents included; comments and continuation marks are gone.
    """

    keyword: str
    flags: tuple[tuple[str, str], ...]
    rest: str
    bodies: tuple[str, ...]
    line: int
    end: int

    @property
    def text(self) -> str:
        """The instruction without what has no meaning: the same text stands for the same build step."""
        flags = "".join(f" --{name}={value}" for name, value in self.flags)
        return "\n".join([f"{self.keyword}{flags} {self.rest}", *self.bodies])

    def flag_values(self, name: str) -> list[str]:
        """Values of the flag ``--name``, in order."""
        return [value for each, value in self.flags if each == name]


@dataclass(frozen=True)
class Parsed:
    """A Dockerfile: parser directives and instructions."""

    directives: tuple[tuple[str, str], ...]
    instructions: tuple[Instruction, ...]

    @property
    def escape(self) -> str:
        """The character that continues lines and escapes others."""
        return dict(self.directives).get("escape", "\\")

    @property
    def meaning(self) -> str:
        """What BuildKit sees of the file: comments, blank lines and line breaks inside instructions do not count."""
        lines = [f"# {name}={value}" for name, value in self.directives]
        return "\n".join([*lines, *(each.text for each in self.instructions)]) + "\n"

    def at(self, line: int) -> Instruction | None:
        """The instruction that stands on ``line``."""
        return next((each for each in self.instructions if each.line <= line <= each.end), None)


def parse(text: str, path: str) -> Parsed:
    """Parse ``text``. Raises PinsError naming ``path`` and line where a here-document has no end."""
    lines = text.replace("\r\n", "\n").split("\n")
    directives, start = _directives(lines)
    escape = dict(directives).get("escape", "\\")
    found: list[Instruction] = []
    number = start
    while number < len(lines):
        stripped = lines[number].strip()
        if not stripped or stripped.startswith("#"):
            number += 1
            continue
        logical, after = _logical(lines, number, escape)
        keyword, rest = [*logical.split(maxsplit=1), ""][:2]
        bodies, after = _bodies(lines, after, logical, path) if keyword.upper() in _WITH_HEREDOC else ((), after)
        flags, rest = _flags(rest.strip())
        found.append(Instruction(keyword.upper(), flags, rest, bodies, number + 1, after))
        number = after
    return Parsed(directives, tuple(found))


def _directives(lines: list[str]) -> tuple[tuple[tuple[str, str], ...], int]:
    found: list[tuple[str, str]] = []
    for number, line in enumerate(lines):
        match = _DIRECTIVE.fullmatch(line.strip())
        if match is None:
            return tuple(found), number
        found.append((match["name"].lower(), match["value"]))
    return tuple(found), len(lines)


def _logical(lines: list[str], number: int, escape: str) -> tuple[str, int]:
    """Join continuation lines from ``number``; return the instruction and the number of the line after it."""
    parts: list[str] = []
    while number < len(lines):
        line = lines[number]
        number += 1
        if parts and (not line.strip() or line.lstrip().startswith("#")):
            continue
        body = line.rstrip()
        # Two of them are one that stands for itself.
        if not body.endswith(escape) or body.endswith(escape * 2):
            parts.append(line.strip() if not parts else line.rstrip())
            break
        parts.append(body[: -len(escape)])
    return "".join(parts).strip(), number


def _bodies(lines: list[str], number: int, logical: str, path: str) -> tuple[tuple[str, ...], int]:
    bodies = []
    for match in filter(None, map(_HEREDOC.fullmatch, _heredoc_words(logical))):
        begin = number
        while number < len(lines):
            line = lines[number].lstrip("\t") if match["tabs"] else lines[number]
            if line.rstrip("\r") == match["word"]:
                break
            number += 1
        else:
            raise PinsError(f"{path}:{begin}: the here-document <<{match['word']} has no end")
        bodies.append("\n".join([*lines[begin:number], match["word"]]))
        number += 1
    return tuple(bodies), number


def _heredoc_words(logical: str) -> list[str]:
    if "<<" not in logical:
        return []
    try:
        return shlex.split(logical, posix=False)
    except ValueError:
        return logical.split()


def _flags(rest: str) -> tuple[tuple[tuple[str, str], ...], str]:
    flags = []
    while match := _FLAG.match(rest):
        flags.append((match["name"], re.sub(r"\\(.)|[\"']", r"\1", match["value"] or "")))
        rest = rest[match.end() :]
    return tuple(flags), rest
