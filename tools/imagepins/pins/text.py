"""Text of a YAML file → a tree of Text, Mapping and Sequence values, each with its place.

Only the composer of PyYAML is used: a scalar is the text that stands in the file, never a number, date or boolean, so
a commit such as ``0e123456`` or a tag such as ``7.10`` keeps every character (YAML would turn both into numbers).
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from imagepins.errors import PinsError


class Text(str):
    """A scalar as it stands in the file.

    ``line`` and ``column`` count from 1. ``start`` and ``end`` are offsets, in characters of the file's text, of the
    token with its quotes. ``style`` is the quote, ``|`` or ``>`` for blocks, or empty. ``is_alias`` tells
    that the value was written as ``*anchor``; its place is then the anchor's.
    """

    __slots__ = ("column", "end", "is_alias", "line", "start", "style")
    line: int
    column: int
    start: int
    end: int
    style: str
    is_alias: bool


PLAIN_TAGS = frozenset({"str", "int", "float", "bool", "null", "timestamp", "binary", "value", "seq", "map", "merge"})
"""Tags YAML itself gives to what carries none; any other was written out."""


@dataclass(frozen=True)
class Sequence:
    """A YAML sequence and its place."""

    line: int
    column: int
    items: "tuple[Value, ...]"


@dataclass(frozen=True)
class Mapping:
    """A YAML mapping and its place; keys keep the order of the file."""

    line: int
    column: int
    entries: "dict[Text, Value]" = field(default_factory=dict)

    def get(self, key: str) -> "Value | None":
        """The value under ``key``, or None."""
        return cast("dict[str, Value]", self.entries).get(key)


Value = Text | Sequence | Mapping
DEEPEST = 32
"""Levels of collections that are read; a pin file needs seven."""
ALIAS_LIMIT = 10_000
"""Values that the aliases of a file may stand for, all together."""


@dataclass(frozen=True, order=True)
class Finding:
    """Something wrong at a place of the file; ``key`` is the dotted path to it."""

    line: int
    column: int
    key: str
    message: str

    def render(self, path: str) -> str:
        """``pins.yaml:LINE:COLUMN: key: message``."""
        subject = f"{self.key}: " if self.key else ""
        return f"{path}:{self.line}:{self.column}: {subject}{self.message}"


class Findings(PinsError):
    """Everything that is wrong with one file, in the order of the file."""

    def __init__(self, path: str, findings: list[Finding]) -> None:
        self.path = path
        self.findings = tuple(sorted(findings))
        super().__init__("\n".join(finding.render(path) for finding in self.findings))


@dataclass(frozen=True)
class Document:
    """A parsed file: its top-level mapping, what is wrong with its YAML, and keys whose values were not read."""

    top: Mapping
    findings: tuple[Finding, ...] = ()
    unread: frozenset[str] = frozenset()

    def all_findings(self, judged: Iterable[Finding]) -> list[Finding]:
        """What is wrong with the YAML, and what is ``judged`` wrong with values that were read."""
        return [*self.findings, *(each for each in judged if not self._is_unread(each.key))]

    def _is_unread(self, key: str) -> bool:
        return any(key == unread or key.startswith((f"{unread}.", f"{unread}[")) for unread in self.unread)


def decode(data: bytes, path: str) -> str:
    """Bytes of a file → its text, line ends kept. Raises Findings for a byte order mark or bytes that are not UTF-8."""
    if data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        # With a BOM the C scanner's offsets are off by one, and an edit would cut into its neighbours.
        raise Findings(path, [Finding(1, 1, "", "starts with a byte order mark; save the file as plain UTF-8")])
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, column = before.count(b"\n") + 1, error.start - (before.rfind(b"\n") + 1) + 1
        raise Findings(path, [Finding(line, column, "", f"byte 0x{data[error.start]:02x} is not UTF-8")]) from None


def parse(text: str, path: str) -> Document:
    """Parse one YAML document whose top level is a mapping.

    Raises Findings for bad syntax, tabs, a second document, an empty document and aliases that stand for too much,
    which leave nothing to judge. The findings of the document are duplicate keys (both lines named), keys that are
    not scalars, merge keys, explicit tags, aliases of what they stand in and collections nested too deep.
    """
    node = _compose(text, path)
    if node is None:
        raise Findings(path, [Finding(1, 1, "", "is empty; expected a mapping that begins with 'schema: 1'")])
    converter = _Converter(text, path)
    value = converter.convert(node, "")
    if not isinstance(value, Mapping):
        found = f"expected a mapping at the top, found {describe(value)}"
        raise Findings(path, [*converter.findings, Finding(value.line, value.column, "", found)])
    return Document(value, tuple(converter.findings), frozenset(converter.unread))


def describe(value: Value) -> str:
    """What a value is, for messages: ``the text 'abc'``, ``a list``, ``a mapping`` or ``nothing``."""
    if isinstance(value, Sequence):
        return "a list"
    if isinstance(value, Mapping):
        return "a mapping"
    if not value and not value.style:
        return "nothing"
    return f"the text {masked(value)[:60]!r}"


def masked(text: str) -> str:
    """``text`` without the passwords and tokens that URLs in it may carry; who asks by ssh is no secret."""
    without_user = re.sub(r"(https?://)[^/\s]*@", r"\1***@", text)
    return re.sub(r"(://[^/@:\s]*:)[^/\s]*@", r"\1***@", without_user)


def _compose(text: str, path: str) -> Any:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return yaml.compose(text, Loader=loader)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise Findings(path, [Finding(line, 1, "", f"character {error.character!r} is not allowed")]) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise Findings(path, [Finding(*place, "", _problem(text, place, error))]) from None


def _problem(text: str, place: tuple[int, int], error: Any) -> str:
    problem = str(error.problem or error.context or "is not YAML")
    lines = text.splitlines()
    current = lines[place[0] - 1] if place[0] <= len(lines) else ""
    if "\t" in current[: max(place[1], 1)]:
        return "a tab stands where YAML wants spaces; indent with spaces"
    if "another document" in problem or "single document" in str(error.context):
        return "a second document begins here ('---'); a pin file is one document"
    return f"is not YAML: {problem}" + (f" ({error.context})" if error.context and error.problem else "")


@dataclass
class _Converter:
    """Nodes of PyYAML → values; what is wrong gathers in ``findings``, keys without a usable value in ``unread``."""

    source: str
    path: str
    findings: list[Finding] = field(default_factory=list)
    unread: set[str] = field(default_factory=set)
    seen: set[int] = field(default_factory=set)
    repeated: int = 0
    open: set[int] = field(default_factory=set)

    def convert(self, node: Any, key: str) -> Value:
        is_alias = id(node) in self.seen
        self.seen.add(id(node))
        line, column = _place(node)
        self.repeated += is_alias
        if self.repeated > ALIAS_LIMIT:
            # Aliases of lists of aliases: a file of ten lines can stand for more than any memory holds.
            finding = Finding(line, column, key, f"aliases repeat more than {ALIAS_LIMIT} values; write them out")
            raise Findings(self.path, [finding])
        if node.tag.removeprefix("tag:yaml.org,2002:") not in PLAIN_TAGS:
            self.findings.append(Finding(line, column, key, f"the tag {node.tag} means nothing here; remove it"))
        if node.id == "scalar":
            return self._text(node, is_alias=is_alias)
        if id(node) in self.open or len(self.open) == DEEPEST:
            is_loop = id(node) in self.open
            why = "an alias refers to the collection it stands in" if is_loop else "is nested too deep"
            self.findings.append(Finding(line, column, key, why))
            self.unread.add(key)
            return Sequence(line, column, ())
        self.open.add(id(node))
        try:
            if node.id == "sequence":
                items = (self.convert(item, f"{key}[{i}]") for i, item in enumerate(node.value))
                return Sequence(line, column, tuple(items))
            return Mapping(line, column, dict(self._entries(node, key)))
        finally:
            self.open.discard(id(node))

    def _entries(self, node: Any, path: str) -> Iterator[tuple[Text, Value]]:
        first: dict[str, int] = {}
        for key_node, value_node in node.value:
            line, column = _place(key_node)
            if key_node.id != "scalar":
                self.findings.append(Finding(line, column, path, "a key must be plain text"))
                continue
            name = key_node.value
            dotted = f"{path}.{name}" if path else name
            if name == "<<":
                self.findings.append(Finding(line, column, dotted, "merge keys are not supported; write the keys out"))
                self.unread.add(path)
            elif name in first:
                self.findings.append(Finding(line, column, dotted, f"is given twice, first on line {first[name]}"))
            else:
                first[name] = line
                yield self._text(key_node, is_alias=False), self.convert(value_node, dotted)

    def _text(self, node: Any, *, is_alias: bool) -> Text:
        text = Text(node.value)
        text.line, text.column = _place(node)
        text.start, text.end = node.start_mark.index, node.end_mark.index
        text.style, text.is_alias = node.style or "", is_alias
        # The composer's span takes in an anchor or tag; the value begins after it.
        while text.start < text.end and self.source[text.start] in "&!":
            prefix = re.match(r"\S+\s*", self.source[text.start : text.end])
            text.start += prefix.end() if prefix else 1
        return text


def _place(node: Any) -> tuple[int, int]:
    return node.start_mark.line + 1, node.start_mark.column + 1
