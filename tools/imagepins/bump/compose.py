"""Moves → new text of pins.yaml, checked to differ in nothing else, and the Dockerfiles it renders to."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from imagepins.bump.aliases import alias_edits, texts_of, value_of
from imagepins.bump.move import Change, Move, Unreadable
from imagepins.bump.stale import stale_before
from imagepins.errors import PinsError, RefError
from imagepins.pins.edit import Edit, insert_key, quoted, remove_key, rename_key, replace_value, splice, tag_comment
from imagepins.pins.load import loads
from imagepins.pins.model import GitPin, Pin, PinSet, Track
from imagepins.pins.text import Text
from imagepins.render.dockerfile import broken_constraints, render_all


@dataclass(frozen=True)
class Proposal:
    """What a bump would write: ``contents`` by path (absolute), only files whose bytes change.

    ``previous`` is what stands in those files now; ``stale`` are those that hold more than the bump changes.
    """

    moves: tuple[Move, ...]
    before: PinSet
    after: PinSet
    contents: Mapping[Path, bytes]
    also_moved: tuple[str, ...] = ()
    previous: Mapping[Path, bytes | None] = field(default_factory=dict)
    stale: tuple[Path, ...] = ()


def compose(pinset: PinSet, moves: tuple[Move, ...], pins_path: Path) -> Proposal:
    """Put ``moves`` into the text of ``pinset`` and render everything anew; writes nothing.

    Raises RefError where a constraint between pins would break that holds now.
    """
    moving = [move for move in moves if not move.is_noop]
    if not moving and not any(isinstance(pin.id, Unreadable) for pin in pinset.pins.values()):
        return Proposal(moves, pinset, pinset, {})
    edits = [edit for move in moving for edit in _edits(pinset, move, moving)]
    after = loads(splice(pinset.text, edits), pinset.path)
    also = _check_nothing_else(pinset, after, moving)
    broken = broken_constraints(after, tuple(after.targets.values()))
    known = broken_constraints(pinset, tuple(pinset.targets.values()))
    if new := [message for message in broken if message not in known]:
        raise RefError("\n".join(new) + "\nmove the pins together with --group, or one that fits first")
    root = pins_path.parent
    texts = {pins_path: after.text} | {root / path: text for path, text in render_all(after, root).items()}
    both = {path: (_bytes(path), text.encode()) for path, text in texts.items()}
    changed = {path: (old, new) for path, (old, new) in both.items() if old != new}
    contents = {path: new for path, (_, new) in changed.items()}
    previous = {path: old for path, (old, _) in changed.items()}
    rendered = {path: files for path, files in changed.items() if path != pins_path}
    return Proposal(moves, pinset, after, contents, also, previous, stale_before(pinset, moves, root, rendered))


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _edits(pinset: PinSet, move: Move, moving: list[Move]) -> Iterable[Edit]:
    pin, source = pinset.pin(move.pin), pinset.text
    if isinstance(pin, GitPin) and pin.commit is not None and any(each.key == "commit" for each in move.changes):
        branch = (move.reached_from or "").removeprefix("refs/heads/")
        if comment := tag_comment(source, pin.commit, move.tag, branch=branch):
            yield comment
    for change in move.changes:
        value = value_of(pin, change.key)
        is_alias = value is not None and value.is_alias and change.value is not None
        yield from alias_edits(pinset, move, change, moving) if is_alias else _change_edits(pinset, pin, change)
    if move.track_pull:
        yield _track_pull(pinset, pin, move.track_pull)
    if move.track_branch:
        yield from _track_branch(source, pin)


def _change_edits(pinset: PinSet, pin: Pin, change: Change) -> Iterable[Edit]:
    source, path = pinset.text, ["pins", str(pin.name)]
    value = value_of(pin, change.key)
    if change.value is None:
        yield remove_key(source, path, change.key)
    elif value is not None:
        if value != change.value:
            edit = replace_value(source, value, change.value, place=f"{pinset.place(pin.name)}: pin '{pin.name}'")
            # An empty value begins right behind its colon.
            yield replace(edit, new=f" {edit.new}") if edit.start == edit.end else edit
    else:
        after = change.after if value_of(pin, change.after) is not None else pin.kind
        yield insert_key(source, path, after, change.key, change.value)


def _track_pull(pinset: PinSet, pin: Pin, number: str) -> Edit:
    """Make the pin provisional: it now follows a pull request, and afterwards the branch it followed so far."""
    path = ["pins", str(pin.name), "track"]
    track = pin.track if isinstance(pin, GitPin) else None
    if track and track.pull:
        return replace_value(pinset.text, track.pull, number, place=pinset.place(track.pull))
    if not track or not track.branch:
        raise RefError(
            f"{pinset.place(pin.name)}: write 'track: {{pull: {number}, then: BRANCH}}' into pin '{pin.name}' first, "
            "so that it is known where it goes once the pull request is merged"
        )
    return rename_key(pinset.text, path, "branch", "then", before=[("pull", quoted(number))])


def _track_branch(source: str, pin: Pin) -> Iterable[Edit]:
    """Make a provisional pin final: it now follows the branch its pull request went to."""
    path = ["pins", str(pin.name), "track"]
    yield remove_key(source, path, "pull")
    yield rename_key(source, path, "then", "branch")


def _check_nothing_else(before: PinSet, after: PinSet, moves: list[Move]) -> tuple[str, ...]:
    """Names of pins that moved along by an anchor. Raises PinsError when anything else changed."""
    own = {move.pin: _expected(before.pin(move.pin), move) for move in moves}
    also = []
    for name, pin in before.pins.items():
        if name in own:
            if after.pins.get(name) != own[name]:
                raise PinsError(
                    f"{before.place(pin.name)}: the edit of pin '{name}' would not read back; nothing written"
                )
        elif after.pins.get(name) != pin:
            also.append(name)
    spans = {text.start for move in moves for text in texts_of(before.pin(move.pin))}
    strangers = [name for name in also if not any(text.start in spans for text in texts_of(before.pins[name]))]
    if strangers or before.pins.keys() != after.pins.keys():
        raise PinsError(f"{before.path}: the edit would change {', '.join(strangers) or 'other pins'}; nothing written")
    return tuple(also)


def _expected(pin: Pin, move: Move) -> Pin:
    """The pin as it must read after the edit."""
    values: dict[str, Any] = {}
    track = pin.track if isinstance(pin, GitPin) else None
    for change in move.changes:
        value = None if change.value is None else Text(change.value)
        key, _, below = change.key.partition(".")
        if below and track:
            track = replace(track, **{below: value})
        else:
            values[key] = value
    if move.track_pull and track:
        track = replace(track, branch=None, pull=Text(move.track_pull), then=track.then or track.branch)
    if move.track_branch:
        track = Track(branch=Text(move.track_branch))
    if track:
        values["track"] = track
    return replace(pin, **values)
