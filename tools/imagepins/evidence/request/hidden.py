"""Text of anybody's Dockerfile → the commits, tags and checksums that hide in instructions other than ARG."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from imagepins.plan.dockerfile import parse

_CONTINUATION = re.compile(r"\\[ \t]*\n")
_COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
_HEX = r"[0-9a-f]{7,40}"
_GIT = r"\bgit\b[^;&|\n]*?[ \t]"
_BY_COMMIT = re.compile(rf"{_GIT}(?:checkout|cherry-pick|reset|revert|switch|fetch)[ \t](?P<words>[^;&|\n]*)")
_COMMIT = re.compile(rf"(?<![\w./-])(?P<ref>{_HEX})(?![\w./-])")
# What else fetches a commit, tag or branch by name: the word that names it is a pin in hiding.
_HIDDEN = (
    re.compile(rf"{_GIT}clone[ \t][^;&|\n]*?(?:-b|--branch)[ \t=]+(?P<ref>[\w./+-]+)"),
    re.compile(rf"{_GIT}checkout[ \t]+(?:-\S+[ \t]+)*(?P<ref>v?\d+\.[\w.+-]+)"),
    re.compile(rf"git\+(?:https|ssh)://[^\s\"'@]+@(?P<ref>{_HEX}|v?\d[\w.+-]*)"),
    re.compile(r"(?<![0-9a-f])(?P<ref>[0-9a-f]{40}|[0-9a-f]{64})(?![0-9a-f])"),
    re.compile(r"https?://[^\s\"']*?/(?:download|archive)/(?:refs/tags/)?(?P<ref>v?\d[\w.+-]*)"),
)


@dataclass(frozen=True)
class Hidden:
    """A commit, tag or checksum that stands in an instruction instead of an ARG, with the words around it."""

    ref: str
    line: int
    context: str


def read_hidden(text: str, file: str) -> list[Hidden]:
    """Commits, tags and checksums fetched by instructions other than ARG, each place once."""
    lines = text.replace("\r\n", "\n").split("\n")
    found: dict[tuple[int, str], Hidden] = {}
    for instruction in parse(text, file).instructions:
        if instruction.keyword == "ARG":
            continue
        raw = "\n".join(lines[instruction.line - 1 : instruction.end])
        body = _CONTINUATION.sub(_blank, _COMMENT.sub(_blank, raw))
        for match in _hidden_refs(body):
            start, end = match.span("ref")
            line = instruction.line + raw.count("\n", 0, start)
            if any(char.isdigit() for char in match["ref"]):
                context = " ".join(body[max(0, start - 60, body.rfind("\n", 0, start)) : end].split())
                found.setdefault((line, match["ref"]), Hidden(match["ref"], line, context))
    return sorted(found.values(), key=lambda hidden: hidden.line)


def _hidden_refs(body: str) -> Iterator[re.Match[str]]:
    for command in _BY_COMMIT.finditer(body):
        yield from _COMMIT.finditer(body, *command.span("words"))
    for pattern in _HIDDEN:
        yield from pattern.finditer(body)


def _blank(match: re.Match[str]) -> str:
    """As many blanks as the match has characters, so that offsets still lead to lines."""
    return " " * len(match[0])
