"""What must hold within each target once names are resolved: one meaning per ARG, component and tag."""

from collections.abc import Iterator

from imagepins.pins.kinds import Pin, UrlPin
from imagepins.pins.model import EnvVar, PinSet, Target
from imagepins.pins.text import Finding, Text


def inconsistencies(pinset: PinSet) -> Iterator[Finding]:
    """Findings that need the resolved pins of each target; each is told once, for the first target that has it."""
    seen: set[tuple[str, str]] = set()
    for finding in _all(pinset):
        if (finding.key, finding.message) not in seen:
            seen.add((finding.key, finding.message))
            yield finding


def _all(pinset: PinSet) -> Iterator[Finding]:
    tags: dict[str, Target] = {}
    for target in pinset.targets.values():
        yield from _shared_args(target)
        yield from _shared_components(target)
        yield from _shared_tags(target, tags)
    by_image: dict[str, list[Target]] = {}
    for target in pinset.targets.values():
        by_image.setdefault(target.image, []).append(target)
    for targets in by_image.values():
        yield from _dead_conditions(targets)


def _shared_args(target: Target) -> Iterator[Finding]:
    """Two values under one ARG name: Docker would take the later one and say nothing."""
    owners: dict[str, Text] = {}
    named = [(name, pin.name) for pin in target.pins.values() for name in _args(pin)]
    for arg, owner in [*named, *((str(arg), value) for arg, value in target.args.items())]:
        if arg in owners and owners[arg] != owner:
            message = f"ARG {arg} would be given twice in {target.image}, first by line {owners[arg].line}"
            yield Finding(owner.line, owner.column, f"images.{target.image}", f"{message}; give one another 'arg'")
        owners.setdefault(arg, owner)


def _args(pin: Pin) -> tuple[str, ...]:
    return (pin.url_arg, pin.arg) if isinstance(pin, UrlPin) else (pin.arg,)


def _shared_components(target: Target) -> Iterator[Finding]:
    owners: dict[str, Pin] = {}
    for pin in target.all_pins.values():
        if pin.component and owners.setdefault(pin.component, pin) is not pin:
            other = owners[pin.component].name
            message = f"both {other} and {pin.name} are the component '{pin.component}' of {target.image}"
            yield Finding(pin.component.line, pin.component.column, f"pins.{pin.name}.component", message)


def _shared_tags(target: Target, tags: dict[str, Target]) -> Iterator[Finding]:
    for tag in target.tags:
        if tags.setdefault(tag, target) is not target:
            place = tag if isinstance(tag, Text) else target.variant
            message = f"the tag {tag} is also that of {tags[tag].name}"
            yield Finding(place.line, place.column, f"images.{target.image}.tags", message)


def _dead_conditions(targets: list[Target]) -> Iterator[Finding]:
    """A condition over pins that no variant of the image holds can never be true."""
    for target in targets:
        for var in (var for var in target.env_vars if var.when):
            if not any(_concerns(var, each) for each in targets):
                message = f"'{var.when.text if var.when else ''}' speaks of what no variant of {target.image} holds"
                yield Finding(var.name.line, var.name.column, f"images.{target.image}.env.{var.name}.when", message)


def _concerns(var: EnvVar, target: Target) -> bool:
    return var.when is None or var.when.concerns(target.all_pins.values())
