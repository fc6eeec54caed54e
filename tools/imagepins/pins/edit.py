"""Text of pins.yaml + new values → new text, every other byte unchanged.

A value is replaced at its own place in the file, never found by searching, and the result is read again afterwards.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from imagepins.errors import PinsError
from imagepins.pins.comments import retold, told_tag
from imagepins.pins.text import Text

# Bare text that no reader, of YAML 1.1 or 1.2, takes for a number, a date or a boolean: some letter is in it that
# none of those has, and it does not begin like 0x1f.
_PLAINLY_TEXT = re.compile(
    r"(?!0[xob])(?=.*[A-DF-SU-Ya-df-su-y])(?:[A-Za-z0-9][A-Za-z0-9._+/-]*|[a-z](?:[A-Za-z0-9._+/@%&=?~-]|:(?=\S))*)"
)
# Where a line ends for YAML 1.1, and a comment with it.
_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_COMMENT = re.compile("#[^\n\r\x85\u2028\u2029]*")
_COMMA = re.compile(rf"({_COMMENT.pattern})|[,:]")
_WORDS_WITH_MEANING = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})


@dataclass(frozen=True)
class Edit:
    """Replace ``source[start:end]`` by ``new``; offsets in characters."""

    start: int
    end: int
    new: str


def splice(source: str, edits: Iterable[Edit]) -> str:
    """Apply edits that do not overlap; those at one place end up in the order given."""
    # Reversed after sorting: of two edits at one place the later must be spliced first.
    for edit in reversed(sorted(edits, key=lambda each: (each.start, each.end))):  # noqa: C413 - reverse=True keeps order
        source = source[: edit.start] + edit.new + source[edit.end :]
    return source


def replace_value(source: str, value: Text, new: str, *, place: str) -> Edit:
    """Put ``new`` where ``value`` stands, in its quotes. ``place`` (``pins.yaml:LINE``) is for messages.

    Raises PinsError for an alias or a block scalar, which have no place of their own in one line.
    """
    if value.is_alias:
        raise PinsError(f"{place}: the value is an alias (*name) of another; change it there, or write it out here")
    if value.style in ("|", ">"):
        raise PinsError(f"{place}: the value is a block of text; write it on one line")
    return Edit(value.start, value.end, quoted(new, value.style))


def quoted(text: str, style: str = '"') -> str:
    """``text`` as a scalar in the given quotes; a bare one gets quotes where a reader might see a number in it."""
    if style == "'":
        return "'" + text.replace("'", "''") + "'"
    if not style and _is_plainly_text(text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def tag_comment(source: str, value: Text, tag: str | None, *, branch: str | None = None) -> Edit | None:
    """Keep the comment behind ``value`` true: say ``# frozen: TAG`` for a tag, and no name of the old commit.

    ``branch`` contains the new commit. What else stands in the comment is somebody's and stays. None where nothing is
    to be done.
    """
    line_end = _line_end(source, value.end)
    start = _comment_start(source, value.end, line_end)
    if start is None:
        rest = source[value.end : line_end]
        is_json = source.lstrip().startswith("{")  # whose other readers know no comments
        if tag is None or is_json or rest.strip(" \t,}]"):
            return None
        at = value.end + len(rest.rstrip())
        return Edit(at, at, f"  # frozen: {tag}")
    comment = source[start:line_end]
    told = retold(comment, tag, branch)
    if told == comment:
        return None
    blank = 0 if told else len(source[:start]) - len(source[:start].rstrip(" \t"))
    return Edit(start - blank, line_end, told)


def tag_told(source: str, value: Text) -> str | None:
    """The tag that the comment behind ``value`` names, or None."""
    line_end = _line_end(source, value.end)
    start = _comment_start(source, value.end, line_end)
    return None if start is None else told_tag(source[start:line_end])


def insert_key(source: str, path: Sequence[str], after: str, key: str, new: str) -> Edit:
    """Add ``key`` to the mapping at ``path``, behind its key ``after``, in the mapping's own style."""
    mapping = _mapping(source, path)
    key_node, value_node = next((k, v) for k, v in mapping.value if k.value == after)
    name = quoted(key, key_node.style or "")
    if mapping.flow_style:
        at = value_node.end_mark.index
        return Edit(at, at, f", {name}: {quoted(new)}")
    at = _line_end(source, value_node.end_mark.index)
    if value_node.id != "scalar" and not value_node.flow_style:
        # A block collection's mark stands at the beginning of what follows it.
        at = len(source[: value_node.end_mark.index].rstrip())
    indent = " " * key_node.start_mark.column
    return Edit(at, at, f"{_newline(source, at)}{indent}{name}: {quoted(new)}")


def remove_key(source: str, path: Sequence[str], key: str) -> Edit:
    """Take ``key`` and its value out of the mapping at ``path``, which must hold another. Comments beside them stay."""
    mapping = _mapping(source, path)
    index, (key_node, value_node) = next((i, pair) for i, pair in enumerate(mapping.value) if pair[0].value == key)
    start, end = key_node.start_mark.index, value_node.end_mark.index
    inside = source[key_node.end_mark.index : value_node.start_mark.index]
    if not mapping.flow_style:
        first, last = start - key_node.start_mark.column, _after_line(source, end)
        indent, newline = source[first:start], _newline(source, _line_end(source, end))
        comments = _COMMENT.findall(inside) + _COMMENT.findall(source[end:last])
        return Edit(first, last, "".join(f"{indent}{comment}{newline}" for comment in comments))
    if index:
        before = mapping.value[index - 1][1].end_mark.index
        return Edit(before, end, _comments_of(source[before:start]) + _comments_of(inside))
    after = mapping.value[1][0].start_mark.index
    return Edit(start, after, _comments_of(inside) + _comments_of(source[end:after]))


def rename_key(source: str, path: Sequence[str], key: str, new: str, *, before: Sequence[tuple[str, str]] = ()) -> Edit:
    """Call ``key`` of the mapping at ``path`` ``new``; its value, as it is written, stays.

    ``before`` are keys and values (written as YAML) to put in front of it, in the mapping's own style.
    """
    mapping = _mapping(source, path)
    node = next(k for k, _ in mapping.value if k.value == key)
    joint = (
        ", "
        if mapping.flow_style
        else _newline(source, _line_end(source, node.end_mark.index)) + (" " * node.start_mark.column)
    )
    style = node.style or ""
    written = "".join(f"{quoted(name, style)}: {value}{joint}" for name, value in before)
    return Edit(node.start_mark.index, node.end_mark.index, f"{written}{quoted(new, style)}")


def _is_plainly_text(text: str) -> bool:
    return bool(_PLAINLY_TEXT.fullmatch(text)) and text.lower() not in _WORDS_WITH_MEANING


@lru_cache(maxsize=1)
def _composed(source: str) -> Any:
    """The nodes of ``source``, made once for all edits of one bump."""
    import yaml

    return yaml.compose(source, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def _mapping(source: str, path: Sequence[str]) -> Any:
    node = _composed(source)
    for name in path:
        node = next(value for key, value in node.value if key.value == name)
    return node


def _line_end(source: str, start: int) -> int:
    """Offset of the line's end, before its line break."""
    found = _BREAK.search(source, start)
    return found.start() if found else len(source)


def _after_line(source: str, start: int) -> int:
    """Offset of the beginning of the next line; ``start`` itself where a block of text ended right before it."""
    if _BREAK.match(source, start - 1):
        return start
    found = _BREAK.search(source, start)
    return found.end() if found else len(source)


def _comments_of(gap: str) -> str:
    """What stands between two values of a flow mapping, without the comma; '' where that is no comment."""
    return _COMMA.sub(lambda match: match[1] or "", gap) if "#" in gap else ""


def _newline(source: str, at: int) -> str:
    """The line break that stands at ``at``, or the file's first one."""
    found = _BREAK.match(source, at) or _BREAK.search(source)
    return found[0] if found else "\n"


def _comment_start(source: str, start: int, end: int) -> int | None:
    """Offset of the '#' that begins the comment of a line, reading on from the end of a scalar."""
    quote = ""
    before = ""
    position = start
    while position < end:
        here = source[position]
        if quote:
            if here == "\\" and quote == '"':
                position += 1
            elif here == quote:
                quote = ""
        elif here in "\"'" and (not before.strip() or before.strip()[-1] in ":,[{"):
            quote = here
        elif here == "#" and source[position - 1] in " \t":
            return position
        before = (before + here)[-80:]
        position += 1
    return None
