"""Text from outside → Markdown that cannot do anything: no markup, no mention, no link, no closing keyword.

Code spans and fences are not enough. A squash merge copies the text of a pull request into a commit message, where
fences mean nothing and ``fixes #1`` and ``@name`` work again. So a zero-width space goes into everything that GitHub
would act on, inside fences too.
"""

import re
import unicodedata
from collections.abc import Sequence

BREAK = "\u200b"

_ACTED_ON = (
    re.compile(r"(@)(?=[\w/-])"),
    re.compile(r"(#)(?=\d)"),
    re.compile(r"(\bGH-)(?=\d)", re.IGNORECASE),
    re.compile(r"(/(?:issues|pull|pulls|discussions|commit|compare|merge_requests)/)(?=\w)", re.IGNORECASE),
    re.compile(r"(\bhttps?:)(?=//)", re.IGNORECASE),
    re.compile(r"(\bwww\.)(?=\w)", re.IGNORECASE),
)
_MARKUP = re.compile(r"[\\`*\[|~$]|(?<![^\W_])_|_(?![^\W_])|^[#>+=-]|^\d+(?=[.)](?:\s|$))")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def defuse(text: str) -> str:
    """``text`` on one line, printable, with mentions, references, URLs and closing keywords broken."""
    text = " ".join("".join(" " if char.isspace() else char for char in text if _is_printable(char)).split())
    for pattern in _ACTED_ON:
        text = pattern.sub(rf"\g<1>{BREAK}", text)
    return text


def inert(text: str) -> str:
    """``text`` as plain words in running Markdown or a table cell, whatever it holds."""
    text = "".join(_ENTITIES.get(char, char) for char in defuse(text))
    return _MARKUP.sub(lambda match: _escape(match[0]), text)


def code(text: str) -> str:
    """``text`` as a code span, with a delimiter longer than any run of backticks in it."""
    text = defuse(text).replace("|", "\\|")
    ticks = _longer_run(text, "`", least=1)
    space = " " if text.startswith("`") or text.endswith("`") or not text else ""
    return f"{ticks}{space}{text}{space}{ticks}"


def fenced(lines: Sequence[str], *, language: str = "text") -> str:
    """``lines`` as a code block that none of them can close; they keep their indentation."""
    body = "\n".join(" " * _indentation(line) + defuse(line) for line in lines)
    fence = _longer_run(body, "`", least=3)
    return f"{fence}{language}\n{body}\n{fence}"


def folded(summary: str, body: str) -> str:
    """``body`` behind a line to click on. ``summary`` is made inert; GitHub wants the blank lines."""
    return f"<details><summary>{inert(summary)}</summary>\n\n{body}\n\n</details>"


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """A padded table, readable in a terminal too; the first ``left`` columns are aligned left, the others right.

    Cells are Markdown already: pass text from outside through ``inert`` or ``code``.
    """
    widths = [max(3, *(len(row[at]) for row in [header, *rows])) for at in range(len(header))]
    rule = ["-" * width if at < left else "-" * (width - 1) + ":" for at, width in enumerate(widths)]
    lines = [_row(row, widths, left) for row in [header, *rows]]
    return "\n".join([lines[0], f"| {' | '.join(rule)} |", *lines[1:]])


def _row(cells: Sequence[str], widths: Sequence[int], left: int) -> str:
    padded = [
        text.ljust(width) if at < left else text.rjust(width)
        for at, (text, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return f"| {' | '.join(padded)} |"


def _escape(found: str) -> str:
    """A backslash before the character that makes it markup: before the dot of "1.", which follows ``found``."""
    return found + "\\" if found.isdigit() else "\\" + found


def _is_printable(char: str) -> bool:
    # Categories Cc and Cf hold terminal escapes, bidirectional overrides and invisible joiners; Cs, Co are no text.
    return char in "\t\n" or not unicodedata.category(char).startswith("C")


def _indentation(line: str) -> int:
    spaces = line.expandtabs()
    return len(spaces) - len(spaces.lstrip(" "))


def _longer_run(text: str, char: str, *, least: int) -> str:
    longest = max((len(run) for run in re.findall(f"{re.escape(char)}+", text)), default=0)
    return char * max(least, longest + 1)
