"""Text from outside on its way to a terminal: what would steer it is shown instead.

Commit subjects, labels, build logs and answers of servers are written by others. A control character in one could
clear the screen, set the clipboard or make one line look like another.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

# Control characters but tab and the ends of lines, and those that turn the direction of writing.
_STEERING = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]|\r(?!\n)")

_SEQUENCE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]P^_X][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b.")


def printable(text: str) -> str:
    r"""``text`` with ``\u001b`` in the place of an escape character, and so on; inside JSON that means the same."""
    return _STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def colourless(text: str) -> str:
    """``text`` without whole sequences, such as colours of a compiler's errors, and printable."""
    return printable(_SEQUENCE.sub("", text))


class _Guard:
    """A text stream through which no character steers the terminal; all else is the stream's own."""

    def __init__(self, stream: TextIO) -> None:
        self.guarded_stream = stream

    def write(self, text: str) -> int:
        self.guarded_stream.write(printable(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":  # who finds it writes beside the guard, as click does for an ASCII terminal
            raise AttributeError(name)
        return getattr(self.guarded_stream, name)


def to_stderr(message: str) -> None:
    """Tell the person something that is no data."""
    print(message, file=sys.stderr)  # noqa: T201


@contextmanager
def guarded() -> Iterator[None]:
    """Let nothing that is written to stdout and stderr steer the terminal."""
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast("TextIO", _Guard(each)) for each in streams)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams


def unguarded(stream: TextIO) -> TextIO:
    """The stream itself, for rich, which steers the terminal: give it no text from outside but by ``printable``."""
    return cast("TextIO", getattr(stream, "guarded_stream", stream))
