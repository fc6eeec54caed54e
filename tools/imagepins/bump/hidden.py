"""Texts of templates and Dockerfiles → commits, checksums and addresses that stand there instead of in pins.yaml."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from imagepins.bump.gitwords import git_refs

# What a template fills in is no literal.
_FILLED_IN = re.compile(r"\[\[\[.*?\]\]\]|(?P<statement>\[\[%.*?%\]\]|\[\[#.*?#\]\])", re.DOTALL)
_HEX = re.compile(r"(?<![\w.$/-])(?:sha256:)?(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])(?:[0-9a-f]{64}|[0-9a-f]{7,40})(?![\w-])")
_URL = re.compile(r"(?:git\+)?(?:https?|ssh|git)://[^\s\"'$\\;|&)<>]+|git@[\w.-]+:[^\s\"'$\\;|&)<>]+")
_FETCHES = re.compile(r"^\s*ADD\s|\b(?:curl|wget|git\s+clone|git\s+fetch|git\s+remote\s+add|git\+)", re.IGNORECASE)
_EXEC_FORM = re.compile(r"\s*\w+\s+\[.*\]\s*")


@dataclass(frozen=True)
class Hidden:
    """A literal on ``line`` of ``path`` that ought to be a pin, and what it looks like."""

    path: str
    line: int
    literal: str
    what: str


def hidden_literals(path: str, text: str, pinned: frozenset[str]) -> Iterator[Hidden]:
    """Literals of ``text`` that are not among ``pinned``, nor the beginning of one of those."""
    blanked = _FILLED_IN.sub(_blank, text)
    for pieces in _logical_lines(blanked):
        seen: set[str] = set()
        for literal, what in _literals(" ".join(piece for _, piece in pieces)):
            if literal in seen or any(value.startswith(literal.removeprefix("sha256:")) for value in pinned):
                continue
            seen.add(literal)
            yield Hidden(path, next(number for number, piece in pieces if literal in piece), literal, what)


def _blank(match: re.Match[str]) -> str:
    return (" " if match["statement"] else "$") + "\n" * match[0].count("\n")


def _literals(line: str) -> Iterator[tuple[str, str]]:
    for match in _HEX.finditer(line):
        length = len(match[0].removeprefix("sha256:"))
        yield match[0], "a checksum" if length == 64 else "a commit"
    shell = re.sub(r"[\[\],]", " ", line) if _EXEC_FORM.fullmatch(line) else line
    yield from ((ref, f"a ref of git {command}") for command, ref in git_refs(shell))
    if _FETCHES.search(line):
        for match in _URL.finditer(line):
            # An address that goes on in a variable is filled from an ARG.
            if not line[match.end() :].startswith("$"):
                yield match[0].rstrip("/.,"), "an address"


def _logical_lines(text: str) -> Iterator[list[tuple[int, str]]]:
    """Lines that a backslash joins, each with its number, without comments."""
    pieces: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("#"):
            continue
        told = re.sub(r"\s#\s.*", "", line).rstrip()
        pieces.append((number, told.removesuffix("\\")))
        if not told.endswith("\\"):
            yield pieces
            pieces = []
    yield pieces
