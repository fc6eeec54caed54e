"""Two PinSets → which images a bump touches and which conditions it turns."""

from collections.abc import Iterable
from dataclasses import dataclass

from imagepins.bump.move import Move
from imagepins.pins.model import EnvVar, Gate, PinSet, Target


@dataclass(frozen=True)
class Flip:
    """A gate or an environment value that is now set, unset or different in ``targets``."""

    what: str
    now: str
    targets: tuple[str, ...]


@dataclass(frozen=True)
class Impact:
    """Targets that hold a moved pin, what turns in them, and members of its groups that stay behind."""

    targets: tuple[str, ...]
    flips: tuple[Flip, ...]
    group_mates: tuple[tuple[str, str], ...]


def impact(before: PinSet, after: PinSet, moves: tuple[Move, ...], also: tuple[str, ...] = ()) -> Impact:
    """What the moves mean beyond the pins themselves."""
    moved = {move.pin for move in moves if not move.is_noop} | set(also)
    targets = tuple(
        name for name, target in after.targets.items() if any(pin.name in moved for pin in target.all_pins.values())
    )
    found: dict[tuple[str, str], list[str]] = {}
    for name in targets:
        for what, now in _flips(before.targets[name], after.targets[name]):
            found.setdefault((what, now), []).append(name)
    flips = tuple(Flip(what, now, tuple(names)) for (what, now), names in found.items())
    mates = tuple(
        (str(mate), group)
        for group, members in after.groups.items()
        if moved & set(members)
        for mate in members
        if mate not in moved
    )
    return Impact(targets, flips, mates)


def _flips(before: Target, after: Target) -> Iterable[tuple[str, str]]:
    old_env, new_env = before.all_env, after.all_env
    for name in dict.fromkeys([*old_env, *new_env]):
        old, new = old_env.get(name), new_env.get(name)
        if _value(old) != _value(new):
            yield f"ENV {name}", f"set to {_value(new)}" if new else "no longer set"
    gates = {gate.name: gate for gate in before.gates}
    for gate in after.gates:
        was, now = _is_on(gates.get(gate.name), before), _is_on(gate, after)
        if was != now:
            yield f"gate {gate.name} ({gate.when.text})", "on" if now else "off"


def _value(var: EnvVar | None) -> str | None:
    return None if var is None else str(var.value)


def _is_on(gate: Gate | None, target: Target) -> bool:
    return gate is not None and gate.when.holds(target.all_pins.values())
