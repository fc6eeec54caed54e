"""Text of anybody's Dockerfile → its ARG defaults.

Read are several ARGs on a line, both kinds of quotes, values made of earlier ARGs, and the comments that upstream
writes behind values, which Docker itself takes for further ARGs.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from imagepins.plan.dockerfile import parse

_WORD = re.compile(r"""(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*'|["'\\])+""", re.DOTALL)
_PIECE = re.compile(r"""'(?P<single>[^']*)'|"(?P<double>(?:[^"\\]|\\.)*)"|\\(?P<escaped>.)|(?P<plain>.)""", re.DOTALL)
_VARIABLE = re.compile(r"\$(?:\{(?P<braced>\w+)(?::?(?P<operator>[-+])(?P<word>[^}]*))?\}|(?P<name>\w+))")


@dataclass(frozen=True)
class Arg:
    """One ARG with a default: the value Docker would use where earlier ARGs suffice, else with ``$NAME`` left in."""

    name: str
    value: str
    line: int


def read_args(text: str, file: str) -> list[Arg]:
    """Every ARG that has a default, in order; one without is a re-declaration and no value.

    Raises PinsError where ``text`` is no Dockerfile; ``file`` is how messages name it.
    """
    known: dict[str, str] = {}
    args = []
    for instruction in parse(text, file).instructions:
        if instruction.keyword != "ARG":
            continue
        for word in _split_words(instruction.rest):
            name, equals, value = word.partition("=")
            if equals:
                arg = Arg(name, _expand(_unquote(value), known), instruction.line)
                known[name] = arg.value
                args.append(arg)
    return args


def _split_words(text: str) -> list[str]:
    """Words as Docker splits them, quotes kept; a word that begins with ``#`` starts a comment."""
    words = []
    for match in _WORD.finditer(text):
        if match[0].startswith("#"):
            break
        words.append(match[0])
    return words


def _unquote(value: str) -> str:
    pieces = []
    for match in _PIECE.finditer(value):
        if match["double"] is not None:
            pieces.append(re.sub(r'\\(["\\$])', r"\1", match["double"]))
        else:
            pieces.append(next(part for part in match.group("single", "escaped", "plain") if part is not None))
    return "".join(pieces)


def _expand(value: str, known: Mapping[str, str]) -> str:
    def one(match: re.Match[str]) -> str:
        found = known.get(match["braced"] or match["name"])
        if match["operator"] == "+":
            return match["word"] if found else ""
        if found is None or (match["operator"] and not found):
            return match["word"] if match["operator"] == "-" else match[0]
        return found

    return _VARIABLE.sub(one, value)
