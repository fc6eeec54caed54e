"""The ``# frozen: TAG`` beside a commit → the old side's tag, and the knowledge that upstream moved that tag since."""

import re
from dataclasses import replace

from imagepins.bump.move import Move, Options
from imagepins.errors import RefError
from imagepins.pins.model import GitPin, Pin, PinSet

_FROZEN = re.compile(r"#.*?\bfrozen:[ \t]*([^\s,;]+)")


def with_old_tag(move: Move, pinset: PinSet, pin: Pin, options: Options) -> Move:
    """``move`` with the tag the old commit was pinned by. Raises RefError where that tag now leads elsewhere."""
    if not isinstance(pin, GitPin) or pin.commit is None or move.old.id != pin.commit:
        return move
    found = _FROZEN.search(pinset.text[pin.commit.end :].partition("\n")[0])
    if not found:
        return move
    move = replace(move, old=replace(move.old, tag=found[1]))
    if found[1] == move.new.tag and move.new.id != move.old.id:
        said = f"tag {found[1]} was {pin.commit[:12]} when it was pinned, and is {(move.new.id or '')[:12]} now"
        if not options.allow_moved_tag:
            raise RefError(f"{said}; find out why upstream moved it, then say --allow-moved-tag")
        move = replace(move, notes=(*move.notes, said))
    return move
