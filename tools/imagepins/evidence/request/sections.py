"""Parts of a text that has a limit → the text, the least important parts shortened or left out, and told so."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    """A part of a text. Parts of a higher ``rank`` give way first, the later ones before the earlier."""

    text: str
    rank: int


def fit(parts: Sequence[Part], limit: int) -> str:
    """Join ``parts`` in their order with empty lines between, in at most ``limit`` bytes of UTF-8."""
    kept = list(range(len(parts)))
    left_out = 0
    while kept:
        text = _joined([parts[at].text for at in kept], left_out)
        if len(text.encode()) <= limit:
            return text
        # Whole parts go, never pieces of them: half a fold or table would swallow what stands behind it.
        kept.remove(max(kept, key=lambda at: (parts[at].rank, at)))
        left_out += 1
    return _joined([], left_out)


def _joined(texts: Sequence[str], left_out: int) -> str:
    note = f"{left_out} part{'s' if left_out > 1 else ''} left out: longer than a pull request may be."
    return "\n\n".join([*texts, *([note] if left_out else [])]) + "\n"
