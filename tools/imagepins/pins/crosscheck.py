"""What one key says of another: names that must exist, cycles, ids that must differ.

Works on the tree, not on the model, so that these findings come together with those of the schema.
"""

import re
from collections.abc import Iterator
from datetime import date

from imagepins.pins import archs
from imagepins.pins import text as yaml
from imagepins.pins.conditioncheck import ConditionCheck
from imagepins.pins.scalars import PLACEHOLDER
from imagepins.pins.schema import nearest
from imagepins.pins.text import Finding, Text, Value

MOST_PARENTS = 100
"""Images of one chain below the last; each adds a layer, of which overlayfs mounts at most 127 in an image."""


def cross_check(tree: yaml.Mapping) -> Iterator[Finding]:
    """Findings between the parts of a file, whose parts may themselves be wrong (then they are passed over)."""
    pins, images, gates = (_entries(tree.get(key)) for key in ("pins", "images", "gates"))
    for name, pin in pins.items():
        yield from _check_pin(pin, f"pins.{name}")
    for group, members in _entries(tree.get("groups")).items():
        yield from _unknown(_items(members), pins, f"groups.{group}", "pin")
    conditions = ConditionCheck(pins)
    for name, image in images.items():
        yield from _check_image(name, image, pins, gates)
        yield from conditions.below(image, f"images.{name}")
        yield from _check_parent(name, image, images)
    yield from conditions.below(tree.get("constraints"), "constraints")
    for name, gate in gates.items():
        when = gate if isinstance(gate, Text) else _get(gate, "when")
        yield from conditions.gate(when, f"gates.{name}")
    yield from _shared_tags(images)
    yield from _chains(images)


def _check_pin(pin: Value, key: str) -> Iterator[Finding]:
    track, pull, then = _get(pin, "track"), _get(_get(pin, "track"), "pull"), _get(_get(pin, "track"), "then")
    if _get(pin, "git") is not None and _get(pin, "commit") is None and track is None:
        yield _at(pin, key, "a git pin without commit needs a track that says where bump_pin finds one")
    if track is not None and pull is not None and then is None:
        yield _at(track, f"{key}.track", "a pull request needs 'then', the branch it leads to once merged")
    if then is not None and pull is None:
        yield _at(then, f"{key}.track.then", "'then' goes with 'pull' only")
    if (allow_tag := _get(pin, "allow_tag")) is not None and _get(pin, "digest") is not None:
        yield _at(allow_tag, f"{key}.allow_tag", "stands beside a digest; remove one of the two")
    if isinstance(day := _get(pin, "review_by"), Text) and not _is_date(day):
        yield _at(day, f"{key}.review_by", f"the calendar has no day {day}")


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _check_image(name: Text, image: Value, pins: dict[Text, Value], gates: dict[Text, Value]) -> Iterator[Finding]:
    key = f"images.{name}"
    yield from _unknown(_items(_get(image, "pins")), pins, f"{key}.pins", "pin")
    for field in ("gates", "require_gates"):
        yield from _unknown(_items(_get(image, field)), gates, f"{key}.{field}", "gate")
    yield from _unknown_archs(_get(image, "archs"), f"{key}.archs")
    roles = [str(name) for name in _items(_get(image, "pins")) if isinstance(name, Text)]
    yield from _unknown_in_tags(_get(image, "tags"), f"{key}.tags", roles)
    variants = _entries(_get(image, "variants"))
    if isinstance(found := _get(image, "variants"), yaml.Mapping) and not variants:
        yield _at(found, f"{key}.variants", "an image has at least one variant")
    for variant_name, variant in variants.items():
        place = f"{key}.variants.{variant_name}"
        yield from _unknown(tuple(_entries(_get(variant, "pins")).values()), pins, f"{place}.pins", "pin")
        yield from _unknown_archs(_get(variant, "archs"), f"{place}.archs")
        own = [str(name) for name in _entries(_get(variant, "pins"))]
        yield from _unknown_in_tags(_get(variant, "tags"), f"{place}.tags", [*roles, *own])


def _unknown(names: tuple[Value, ...], known: dict[Text, Value], key: str, noun: str) -> Iterator[Finding]:
    for name in names:
        if isinstance(name, Text) and name not in known:
            yield _at(name, key, f"no {noun} '{name}'{nearest(name, [*known])}")


def _unknown_in_tags(tags: Value | None, key: str, roles: list[str]) -> Iterator[Finding]:
    for tag in (each for each in _items(tags) if isinstance(each, Text)):
        for name in (each for each in re.findall(PLACEHOLDER, tag) if each not in roles):
            yield _at(tag, key, f"the image has no pin '{name}'{nearest(name, roles)}")


def _unknown_archs(value: Value | None, key: str) -> Iterator[Finding]:
    for arch in _items(value):
        if isinstance(arch, Text) and arch.partition(":")[0] not in archs.KNOWN:
            yield _at(arch, key, f"unknown GPU architecture '{arch}'{nearest(arch, archs.KNOWN)}")


def _check_parent(name: Text, image: Value, images: dict[Text, Value]) -> Iterator[Finding]:
    own = _entries(_get(image, "variants"))
    for variant, parent in _parents(image):
        key = f"images.{name}.parent"
        base, _, wanted = parent.partition("/")
        if base not in images:
            yield _at(parent, key, f"no image '{base}'{nearest(base, [*images])}")
            continue
        variants = _entries(_get(images[_key(images, base)], "variants"))
        candidates = [wanted] if wanted else [str(variant)] if variant else [str(each) for each in own]
        for each in candidates:
            if each not in variants and (wanted or len(variants) != 1):
                yield _at(parent, key, f"image '{base}' has no variant '{each}'{nearest(each, [*variants])}")


def _parents(image: Value) -> Iterator[tuple[Text | None, Text]]:
    """The parents an image and its variants name, with the variant that names it (None: the image)."""
    if isinstance(parent := _get(image, "parent"), Text):
        yield None, parent
    for variant, fields in _entries(_get(image, "variants")).items():
        if isinstance(parent := _get(fields, "parent"), Text):
            yield variant, parent


def _shared_tags(images: dict[Text, Value]) -> Iterator[Finding]:
    for name, image in images.items():
        tags = _get(image, "tags")
        if tags is not None and len(_entries(_get(image, "variants"))) > 1:
            yield _at(tags, f"images.{name}.tags", "every variant would carry these tags; give them per variant")


def _chains(images: dict[Text, Value]) -> Iterator[Finding]:
    edges = {str(name): [each.partition("/")[0] for _, each in _parents(image)] for name, image in images.items()}
    above: dict[str, int] = {}

    def walk(name: str, path: list[str]) -> Iterator[str]:
        if name in path:
            yield f"parents form a cycle: {' -> '.join([*path[path.index(name) :], name])}"
        elif name not in above and len(path) <= MOST_PARENTS:
            for parent in edges.get(name, ()):
                yield from walk(parent, [*path, name])
            above[name] = max((above.get(parent, 0) + 1 for parent in edges.get(name, ())), default=0)
            if above[name] == MOST_PARENTS + 1:
                yield f"stands on a chain of more than {MOST_PARENTS} parents, more layers than an image can have"

    for name in images:
        for problem in walk(str(name), []):
            yield _at(name, f"images.{name}.parent", problem)


def _at(value: Value, key: str, message: str) -> Finding:
    return Finding(value.line, value.column, key, message)


def _entries(value: Value | None) -> dict[Text, Value]:
    return value.entries if isinstance(value, yaml.Mapping) else {}


def _get(value: Value | None, key: str) -> Value | None:
    return value.get(key) if isinstance(value, yaml.Mapping) else None


def _items(value: Value | None) -> tuple[Value, ...]:
    return value.items if isinstance(value, yaml.Sequence) else ()


def _key(images: dict[Text, Value], name: str) -> Text:
    return next(each for each in images if each == name)
