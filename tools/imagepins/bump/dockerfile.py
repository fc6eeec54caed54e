"""Text of a Dockerfile → the values its ARG lines set, whatever their quotes, and what its RUN lines name literally."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_ARG = re.compile(r"\s*arg\s+(?P<rest>.*)", re.IGNORECASE)
_WORD = re.compile(r"(?P<name>[A-Za-z_]\w*)(?:=(?P<value>(?:\"(?:\\.|[^\"\\])*\"|'[^']*'|\\.|[^\s\"'\\])*))?(?=\s|$)")


@dataclass(frozen=True)
class ArgLine:
    """One ``NAME=value`` of an ARG instruction on ``line`` (from 1)."""

    name: str
    value: str
    line: int


def arg_values(text: str) -> Iterator[ArgLine]:
    """ARG values in the order of the file. Bare re-declarations set nothing and are left out, comments too."""
    for number, line in enumerate(text.splitlines(), start=1):
        found = _ARG.fullmatch(line)
        rest = found["rest"] if found else ""
        while word := _WORD.match(rest):
            if word["value"] is not None:
                yield ArgLine(word["name"], _unquoted(word["value"]), number)
            rest = rest[word.end() :].lstrip()


def _unquoted(value: str) -> str:
    parts = re.findall(r"\"((?:\\.|[^\"\\])*)\"|'([^']*)'|((?:\\.|[^\s\"'\\])+)", value)
    return "".join(re.sub(r"\\(.)", r"\1", double or bare) or single for double, single, bare in parts)
