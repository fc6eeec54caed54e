"""Steps of a longer command → lines on stderr with the seconds since its start."""

import sys
import time
from collections.abc import Callable

Say = Callable[[str], None]


def start_progress() -> Say:
    """Return a function that writes one line to stderr, headed by the seconds since now."""
    begun = time.monotonic()

    def say(text: str) -> None:
        sys.stderr.write(f"[{time.monotonic() - begun:5.1f} s] {text}\n")
        sys.stderr.flush()

    return say
