"""Files a bump rewrites → those that it brings up to date besides, because they were stale before."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from imagepins.bump.move import Move, Unreadable
from imagepins.errors import ImagePinsError
from imagepins.pins.model import PinSet
from imagepins.render.dockerfile import render_all


def stale_before(
    pinset: PinSet, moves: tuple[Move, ...], root: Path, files: Mapping[Path, tuple[bytes | None, bytes]]
) -> tuple[Path, ...]:
    """Those of ``files`` (old and new content) that are not what ``pinset`` renders to as it stands."""
    # Rendering anew takes longer than all else; where only values changed places there is nothing to look for.
    suspects = [path for path, (old, new) in files.items() if old is None or _exchanged(old, moves) != new]
    if not suspects or any(isinstance(pin.id, Unreadable) for pin in pinset.pins.values()):
        return ()
    try:
        # Broken constraints are told elsewhere.
        texts = render_all(replace(pinset, constraints=()), root)
    except ImagePinsError:
        return ()
    before = {root / path: text.encode() for path, text in texts.items()}
    return tuple(path for path in suspects if files[path][0] != before.get(path))


def _exchanged(content: bytes, moves: tuple[Move, ...]) -> bytes:
    for move in moves:
        if move.old.id and move.new.id and len(move.old.id) >= 40:
            for length in (len(move.old.id), 12):
                content = content.replace(move.old.id[:length].encode(), move.new.id[:length].encode())
    return content
