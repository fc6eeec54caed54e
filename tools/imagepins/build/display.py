"""Events of running builds → a live table on a terminal, plain lines elsewhere. Both go to stderr."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from imagepins.build.events import Events
from imagepins.terminal import printable, unguarded

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


class Display(Protocol):
    """What the scheduler tells while it builds."""

    def started(self, name: str) -> None:
        """A build begins."""

    def progress(self, name: str, events: Events) -> None:
        """Something happened in it."""

    def ended(self, name: str, text: str) -> None:
        """It ended, with this to say."""


class PlainDisplay:
    """One line per step, as it begins."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._shown: dict[str, int] = {}

    def started(self, name: str) -> None:
        self._shown.pop(name, None)
        self._print(f"{name}: building")

    def progress(self, name: str, events: Events) -> None:
        new = events.begun[self._shown.get(name, 0) :]
        self._shown[name] = len(events.begun)
        # Within one event several steps may have begun, announced in no order.
        for step in sorted(new, key=lambda each: each.started):
            self._print(f"{name}: {shorten(step.name)}")

    def ended(self, name: str, text: str) -> None:
        self._print(f"{name}: {text}")

    def _print(self, line: str) -> None:
        with self._lock:
            print(line, file=sys.stderr, flush=True)  # noqa: T201 - the progress display


class LiveDisplay:
    """A table that is drawn again and again: image, step, time."""

    def __init__(self, console: "Console") -> None:
        self._console = console
        self._lock = Lock()
        self._rows: dict[str, tuple[float, Events | None]] = {}

    def started(self, name: str) -> None:
        with self._lock:
            self._rows[name] = (time.monotonic(), None)

    def progress(self, name: str, events: Events) -> None:
        with self._lock:
            if name in self._rows:
                self._rows[name] = (self._rows[name][0], events)

    def ended(self, name: str, text: str) -> None:
        with self._lock:
            self._rows.pop(name, None)
        self._console.print(printable(f"{name}: {text}"), highlight=False, markup=False)

    def __rich__(self) -> "Table":
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 2))
        with self._lock:
            rows = list(self._rows.items())
        for name, (began, events) in rows:
            step = events.running if events else None
            minutes, seconds = divmod(int(time.monotonic() - began), 60)
            step_text = Text(shorten(step.name) if step else "starts", overflow="ellipsis", no_wrap=True)
            table.add_row(Text(name, style="bold"), step_text, f"{minutes}:{seconds:02}")
        return table


@contextmanager
def display() -> Iterator[Display]:
    """The display that fits what stderr is."""
    if not sys.stderr.isatty():
        yield PlainDisplay()
        return
    from rich.console import Console
    from rich.live import Live

    console = Console(file=unguarded(sys.stderr))
    shown = LiveDisplay(console)
    with Live(shown, console=console, refresh_per_second=4, transient=True):
        yield shown


def shorten(name: str) -> str:
    """A step's name on one line of moderate length."""
    line = printable(" ".join(name.split()))
    return line if len(line) <= 100 else line[:97] + "..."
