"""Pins whose value is an alias (``*name``) of another pin's: they move with that one, or get a value of their own."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from typing import Any

from imagepins.bump.move import Change, Move
from imagepins.errors import PinsError
from imagepins.pins.edit import Edit, quoted
from imagepins.pins.model import Pin, PinSet
from imagepins.pins.text import Text


def texts_of(pin: Pin) -> list[Text]:
    """All plain values of a pin."""
    values = (getattr(pin, each.name) for each in fields(pin))
    return [value for value in values if isinstance(value, Text)]


def value_of(pin: Pin, key: str) -> Text | None:
    """The value under a key of a pin, which may be dotted (``track.tag``); None where there is none."""
    found: object = pin
    for part in key.split("."):
        found = getattr(found, part, None)
    return found if isinstance(found, Text) else None


def alias_refusal(pinset: PinSet, move: Move, moves: Iterable[Move]) -> str | None:
    """Why ``move`` cannot be made: its value is another pin's, which does not move to the same; None where it can."""
    pin = pinset.pin(move.pin)
    for change in move.changes:
        value = value_of(pin, change.key)
        if value is not None and value.is_alias and not move.breaks_alias:
            owner = next((each for each in pinset.pins.values() if each is not pin and _owns(each, value)), None)
            if owner is None:
                return "the value is an alias of something that is no pin; write it out, or say --break-alias"
            if change.value not in _new_values(owner, value, moves):
                return f"has the value of pin '{owner.name}'; bump that, or say --break-alias"
    return None


def alias_edits(pinset: PinSet, move: Move, change: Change, moves: Iterable[Move]) -> Iterable[Edit]:
    """Edits of a value that is an alias: none where its owner moves to the same. Raises PinsError."""
    pin = pinset.pin(move.pin)
    if refusal := alias_refusal(pinset, move, moves):
        raise PinsError(f"{pinset.place(pin.name)}: pin '{pin.name}' {refusal}")
    if not move.breaks_alias:
        return []
    span = _alias_span(pinset.text, ["pins", str(pin.name), *change.key.split(".")])
    if span is None:
        raise PinsError(
            f"{pinset.place(pin.name)}: '{change.key}' of pin '{pin.name}' is inside an alias of more than that value; "
            "write that out first"
        )
    return [Edit(*span, quoted(change.value or ""))]


def _owns(pin: Pin, value: Text) -> bool:
    return any(text.start == value.start and not text.is_alias for text in texts_of(pin))


def _new_values(owner: Pin, value: Text, moves: Iterable[Move]) -> list[str | None]:
    changes = (change for move in moves if move.pin == owner.name for change in move.changes)
    return [each.value for each in changes if getattr(getattr(owner, each.key, None), "start", None) == value.start]


def _alias_span(source: str, path: Sequence[str]) -> tuple[int, int] | None:
    """Where the alias at ``path`` stands; a composed node only knows its anchor's place."""
    import yaml

    events: Iterator[Any] = iter(yaml.parse(source, Loader=yaml.SafeLoader))
    next(event for event in events if isinstance(event, yaml.MappingStartEvent))
    return _span_below(events, path)


def _span_below(events: Iterator[Any], path: Sequence[str]) -> tuple[int, int] | None:
    import yaml

    for key in events:
        if isinstance(key, yaml.MappingEndEvent):
            return None
        value = next(events)
        if getattr(key, "value", None) != path[0]:
            _skip(events, value)
        elif path[1:]:
            return _span_below(events, path[1:]) if isinstance(value, yaml.MappingStartEvent) else None
        else:
            start, end = value.start_mark, value.end_mark
            return (start.index, end.index) if isinstance(value, yaml.AliasEvent) and start and end else None
    return None


def _skip(events: Iterator[Any], event: Any) -> None:
    """Read on to the end of the collection that ``event`` begins."""
    import yaml

    depth = int(isinstance(event, yaml.CollectionStartEvent))
    while depth:
        event = next(events)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
