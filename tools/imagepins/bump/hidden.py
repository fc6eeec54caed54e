"""Texts of templates and Dockerfiles → commits, checksums and addresses that stand there instead of in pins.yaml."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

# What a template fills in is no literal.
_FILLED_IN = re.compile(r"\[\[\[.*?\]\]\]|\[\[%.*?%\]\]|\[\[#.*?#\]\]", re.DOTALL)
_HEX = re.compile(r"(?<![\w.$/-])(?:sha256:)?(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])(?:[0-9a-f]{64}|[0-9a-f]{7,40})(?![\w-])")
_GIT = re.compile(
    r"\bgit\b(?:\s+-[cC]\s+\S+|\s+--?\w\S*)*"
    r"\s+(checkout|switch|cherry-pick|revert|reset|merge|fetch|clone)\b(?P<rest>[^&|;]*)"
)
_BRANCH = re.compile(r"(?:^|\s)(?:-b|--branch|--revision)[=\s]+(\S+)")
_URL = re.compile(r"(?:git\+)?(?:https?|ssh|git)://[^\s\"'$\\;|&)<>]+|git@[\w.-]+:[^\s\"'$\\;|&)<>]+")
_FETCHES = re.compile(r"^\s*ADD\s|\b(?:curl|wget|git\s+clone|git\s+fetch|git\s+remote\s+add|git\+)", re.IGNORECASE)
_NOT_A_REF = re.compile(r"[-$'\"`.\\<>]|HEAD\b|FETCH_HEAD\b|ORIG_HEAD\b|origin$|\[\[\[")


@dataclass(frozen=True)
class Hidden:
    """A literal on ``line`` of ``path`` that ought to be a pin, and what it looks like."""

    path: str
    line: int
    literal: str
    what: str


def hidden_literals(path: str, text: str, pinned: frozenset[str]) -> Iterator[Hidden]:
    """Literals of ``text`` that are not among ``pinned``, nor the beginning of one of those."""
    blanked = _FILLED_IN.sub(lambda match: "$" + "\n" * match[0].count("\n"), text)
    for number, line in _logical_lines(blanked):
        seen: set[str] = set()
        for literal, what in _literals(line):
            if literal in seen or any(value.startswith(literal.removeprefix("sha256:")) for value in pinned):
                continue
            seen.add(literal)
            yield Hidden(path, number, literal, what)


def _literals(line: str) -> Iterator[tuple[str, str]]:
    for match in _HEX.finditer(line):
        length = len(match[0].removeprefix("sha256:"))
        yield match[0], "a checksum" if length == 64 else "a commit"
    for match in _GIT.finditer(line):
        yield from ((literal, f"a ref of git {match[1]}") for literal in _refs(match[1], match["rest"]))
    if _FETCHES.search(line):
        for match in _URL.finditer(line):
            # An address that goes on in a variable is filled from an ARG.
            if not line[match.end() :].startswith("$"):
                yield match[0].rstrip("/.,"), "an address"


def _refs(command: str, rest: str) -> Iterator[str]:
    if command == "clone":
        words = [match[1] for match in _BRANCH.finditer(rest)]
    elif command == "fetch":
        words = [word for word in rest.split()[1:] if "://" not in word]
    else:
        words = rest.partition(" -- ")[0].split()
    for word in words:
        if not _NOT_A_REF.match(word) and re.fullmatch(r"[\w./-]+", word):
            yield word


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, without comments."""
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.lstrip().startswith("#"):
            yield number, re.sub(r"\s#\s.*", "", line)
