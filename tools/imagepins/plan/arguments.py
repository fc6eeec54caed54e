"""Text of anybody's Dockerfile → its ARG defaults.

Read are several ARGs on a line, both kinds of quotes, values made of earlier ARGs, and the comments that upstream
writes behind values, which Docker itself takes for further ARGs.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile

from imagepins.plan.dockerfile import parse
from imagepins.plan.words import WordError, evaluate, split_words


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
    parsed = parse(text, file)
    escape = parsed.escape
    for instruction in parsed.instructions:
        if instruction.keyword != "ARG":
            continue
        for word in _without_comment(split_words(instruction.rest, escape)):
            name, equals, value = word.partition("=")
            if equals:
                arg = Arg(name, _value(value, known, escape), instruction.line)
                known[name] = arg.value
                args.append(arg)
    return args


def _without_comment(words: list[str]) -> Iterator[str]:
    """The words up to one that begins with ``#``."""
    return takewhile(lambda word: not word.startswith("#"), words)


def _value(word: str, known: Mapping[str, str], escape: str) -> str:
    try:
        return evaluate(word, known.get, escape=escape, keep_unset=True)
    except WordError:
        # Docker refuses it; whoever reads the file shall see why.
        return word
