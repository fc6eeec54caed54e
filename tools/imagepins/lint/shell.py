"""Shell text of a RUN → words and operators, as far as the rules need them."""

import re
import shlex
from collections.abc import Iterator
from itertools import pairwise

_HEREDOC = re.compile(r"<<-?\s*(['\"]?)([A-Za-z_]\w*)\1")
_ERREXIT = re.compile(r"set\s+(?:-[a-z]*e[a-z]*\b|.*-o\s+errexit\b)")
_OPERATORS = "();<>|&\n"


def without_heredocs(script: str) -> str:
    """The script without the bodies of its own here-documents, which are data."""
    kept: list[str] = []
    ends: list[str] = []
    for line in script.split("\n"):
        if ends:
            ends = ends[1:] if line.strip() == ends[0] else ends
            continue
        kept.append(line)
        ends = [match[2] for match in _HEREDOC.finditer(line)]
    return "\n".join(kept)


def words(script: str) -> list[str]:
    """Words and operators, quotes resolved; a quoted operator is part of its word, and line ends are operators.

    A script that cannot be read gives no words: shells and BuildKit tell what is wrong with it.
    """
    joined = re.sub(r"\\\n", " ", without_heredocs(script))
    lexer = shlex.shlex(joined, posix=True, punctuation_chars=_OPERATORS)
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(_without_comments(lexer))
    except ValueError:
        return []


def _without_comments(tokens: Iterator[str]) -> Iterator[str]:
    is_comment = False
    for token in tokens:
        if "\n" in token:
            is_comment = False
        elif token.startswith("#"):
            is_comment = True
        if not is_comment:
            yield token


def stops_at_failures(script: str) -> bool:
    """Whether the script's first command is ``set -e`` in one of its forms, or its first line ``#!SHELL -e``."""
    lines = [line.strip() for line in script.split("\n") if line.strip()]
    first = lines[0] if lines else ""
    if first.startswith("#!"):
        return "sh" not in first or re.search(r"\s-\w*e", first) is not None
    first = next((line for line in lines if not line.startswith("#")), "")
    return _ERREXIT.match(first) is not None


def has_pipe(script: str) -> bool:
    """Whether a pipe could hide a failure: a single ``|`` that does not part the patterns of a ``case``."""
    tokens = words(script)
    return any(
        re.fullmatch(r"\)?\|&?\n*", token) and not _is_pattern(tokens[number + 1 :])
        for number, token in enumerate(tokens)
    )


def _is_pattern(rest: list[str]) -> bool:
    """Whether what follows a ``|`` is more patterns of a ``case``, up to their parenthesis."""
    number = 1
    while rest[number : number + 1] == ["|"]:
        number += 2
    return number < len(rest) and rest[number].startswith(")")


def has_bare_archs(script: str) -> bool:
    """Whether ``;gfx...`` stands outside quotes, where the shell ends the command at the semicolon."""
    tokens = words(script)
    return any(one == ";" and re.match(r"gfx[0-9a-f]{3,4}\b", two) for one, two in pairwise(tokens))
