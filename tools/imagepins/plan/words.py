"""Word of a Dockerfile → its value: quotes, escapes and variables, as BuildKit's own lexer reads them.

It is a shell's syntax and not a shell's: ``${X/a/b}`` needs both slashes, ``${X:0:1}`` and ``${#X}`` do not exist, and
what is quoted inside of a pattern is as special there as what is not.
"""

import re
from collections.abc import Callable

Lookup = Callable[[str], str | None]
"""Name of a variable → its value, or None where it is not set. May raise UnknownValue."""

_NAME = re.compile(r"[^\W\d]\w*|\d+|[@*#?$!-]")


class WordError(ValueError):
    """Why BuildKit refuses a word."""


class UnknownValue(WordError):
    """Why the value of a variable cannot be known from the Dockerfile."""


def evaluate(word: str, lookup: Lookup, *, escape: str = "\\", keep_unset: bool = False) -> str:
    """Value of ``word``. With ``keep_unset`` a variable without value and without default stays as it is written.

    Raises WordError where BuildKit refuses the word too, UnknownValue where ``lookup`` does.
    """
    return _Lexer(word, lookup, escape, keep_unset=keep_unset).text_until("")


def split_words(text: str, escape: str = "\\") -> list[str]:
    """Words as ARG, ENV and LABEL take them, parted by blanks outside of quotes; quotes and escapes are kept."""
    mark = re.escape(escape)
    quoted = rf"\"(?:[^\"{mark}]|{mark}.)*\"|'(?:[^'{mark}]|{mark}.)*'"
    return re.findall(rf"(?:{quoted}|{mark}.|\S)+", text, re.DOTALL)


class _Lexer:
    """Reads one word from left to right."""

    def __init__(self, text: str, lookup: Lookup, escape: str, *, keep_unset: bool) -> None:
        self.text = text
        self.lookup = lookup
        self.escape = escape
        self.keep_unset = keep_unset
        self.at = 0

    def text_until(self, stop: str, *, is_raw: bool = False) -> str:
        """Value up to ``stop``, or to the end where that is empty. ``is_raw`` keeps escapes, which patterns need."""
        parts: list[str] = []
        while (char := self._next()) != stop:
            if not char:
                raise WordError(f"no '{stop}' ends the variable in {self.text}")
            if char == "'":
                parts.append(self._single())
            elif char == '"':
                parts.append(self._double(is_raw=is_raw))
            elif char == "$":
                parts.append(self._variable())
            elif char == self.escape:
                following = self._next()
                parts.append(char + following if is_raw else following)
            else:
                parts.append(char)
        return "".join(parts)

    def _next(self) -> str:
        """The next character; empty at the end."""
        char = self.text[self.at : self.at + 1]
        self.at += len(char)
        return char

    def _takes(self, char: str) -> bool:
        """Whether ``char`` comes next, which is passed over then."""
        is_there = self.text.startswith(char, self.at)
        self.at += len(char) if is_there else 0
        return is_there

    def _single(self) -> str:
        inside, quote, _ = self.text[self.at :].partition("'")
        if not quote:
            raise WordError(f"no ' ends the quotation in {self.text}")
        self.at += len(inside) + 1
        return inside

    def _double(self, *, is_raw: bool) -> str:
        parts: list[str] = []
        while (char := self._next()) != '"':
            if not char:
                raise WordError(f'no " ends the quotation in {self.text}')
            if char == "$":
                parts.append(self._variable())
            elif char == self.escape and self.text[self.at : self.at + 1] in ('"', "$", self.escape):
                parts.append((char if is_raw else "") + self._next())
            elif char == self.escape and is_raw:
                parts.append(char * 2)  # a backslash that stands for itself is one in the pattern, too
            else:
                parts.append(char)
        return "".join(parts)

    def _name(self) -> str:
        match = _NAME.match(self.text, self.at)
        self.at += len(match[0]) if match else 0
        return match[0] if match else ""

    def _variable(self) -> str:
        start = self.at - 1
        if not self._takes("{"):
            name = self._name()
            return self._plain(name, start) if name else "$"
        name = self._name()
        if not name:
            raise WordError(f"bad substitution in {self.text}")
        if self._takes("}"):
            return self._plain(name, start)
        colon, operator = self._takes(":"), self._next()
        if operator == "/" and not colon:
            return self._replaced(name, start)
        if operator in ("#", "%") and not colon:
            return self._trimmed(name, operator, start)
        if operator not in ("-", "+", "?"):
            raise WordError(f"Docker knows no '{':' * colon}{operator}' behind a name, in {self.text}")
        return self._chosen(name, operator, start, empty_is_unset=colon)

    def _plain(self, name: str, start: int) -> str:
        value = self.lookup(name)
        return self._unset(start) if value is None else value

    def _unset(self, start: int) -> str:
        return self.text[start : self.at] if self.keep_unset else ""

    def _chosen(self, name: str, operator: str, start: int, *, empty_is_unset: bool) -> str:
        word = self.text_until("}")
        value = self.lookup(name)
        is_set = value is not None and not (empty_is_unset and value == "")
        if operator == "+":
            return word if is_set else ""
        if is_set:
            return value or ""
        if operator == "-":
            return word
        if self.keep_unset:
            return self.text[start : self.at]
        raise WordError(f"{name}: {word or 'is not set'}")

    def _trimmed(self, name: str, operator: str, start: int) -> str:
        is_longest = self._takes(operator)
        pattern = _pattern(self.text_until("}", is_raw=True))
        value = self.lookup(name)
        if value is None:
            return self._unset(start)
        lengths = range(len(value), -1, -1) if is_longest else range(len(value) + 1)
        for length in lengths:
            part = value[:length] if operator == "#" else value[len(value) - length :]
            if pattern.fullmatch(part):
                return value[length:] if operator == "#" else value[: len(value) - length]
        return value

    def _replaced(self, name: str, start: int) -> str:
        is_everywhere = self._takes("/")
        pattern = _pattern(self.text_until("/", is_raw=True))
        replacement = self.text_until("}", is_raw=True)
        value = self.lookup(name)
        if value is None:
            return self._unset(start)
        return pattern.sub(lambda _: replacement, value, count=0 if is_everywhere else 1)


def _pattern(text: str) -> re.Pattern[str]:
    """A shell's pattern as regular expression. Brackets are no classes here, and only ``* ? \\ /`` can be escaped."""
    parts: list[str] = []
    for match in re.finditer(r"\\(.?)|(\*)|(\?)|(.)", text, re.DOTALL):
        if match[1] is not None and match[1] not in ("*", "?", "\\", "/"):
            raise WordError(f"'\\{match[1]}' is no escape in the pattern {text}")
        parts.append(".*" if match[2] else "." if match[3] else re.escape(match[1] or match[4]))
    return re.compile("".join(parts), re.DOTALL)
