"""The tag in the comment beside a commit → the old side's tag, and the knowledge that upstream moved that tag since."""

from dataclasses import replace

from imagepins.bump.move import Move, Options
from imagepins.errors import RefError
from imagepins.pins.edit import tag_told
from imagepins.pins.model import GitPin, Pin, PinSet


def with_old_tag(move: Move, pinset: PinSet, pin: Pin, options: Options) -> Move:
    """``move`` with the tag the old commit was pinned by. Raises RefError where that tag now leads elsewhere."""
    if not isinstance(pin, GitPin) or pin.commit is None or move.old.id != pin.commit:
        return move
    tag = tag_told(pinset.text, pin.commit)
    if tag is None:
        return move
    move = replace(move, old=replace(move.old, tag=tag))
    if tag == move.new.tag and move.new.id != move.old.id:
        said = f"tag {tag} was {pin.commit[:12]} when it was pinned, and is {(move.new.id or '')[:12]} now"
        if not options.allow_moved_tag:
            raise RefError(f"{said}; find out why upstream moved it, then say --allow-moved-tag")
        move = replace(move, notes=(*move.notes, said))
    return move
