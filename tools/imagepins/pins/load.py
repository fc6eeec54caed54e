"""pins.yaml → PinSet, or every finding at once."""

import re
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from imagepins.errors import PinsError
from imagepins.files import shared
from imagepins.pins import model, spec
from imagepins.pins import text as yaml
from imagepins.pins.conditions import Condition
from imagepins.pins.conditions import parse as parse_condition
from imagepins.pins.consistency import inconsistencies
from imagepins.pins.crosscheck import cross_check
from imagepins.pins.scalars import PLACEHOLDER
from imagepins.pins.schema import check
from imagepins.pins.text import Findings, Text

PIN_TYPES: dict[str, type[model.Pin]] = {
    "git": model.GitPin,
    "image": model.ImagePin,
    "url": model.UrlPin,
    "pypi": model.PypiPin,
    "apt": model.AptPin,
}
RENAMED = {"arg": "arg_name", "component_version": "component_version_text"}


def load(path: Path, *, is_locked: bool = False) -> model.PinSet:
    """Read and check ``path``; messages name it by its file name.

    A write that was killed half-way is finished first; ``is_locked`` says that the caller holds ``files.exclusive``.
    Raises PinsError where the file cannot be read, Findings (a PinsError) with everything that is wrong in it.
    """
    try:
        with nullcontext() if is_locked or not path.parent.is_dir() else shared(path):
            data = path.read_bytes()
    except OSError as error:
        raise PinsError(f"{path}: cannot be read: {error.strerror}; name another with --pins FILE") from None
    return loads(yaml.decode(data, path.name), path.name)


def loads(source: str, path: str = "pins.yaml") -> model.PinSet:
    """The PinSet that ``source`` stands for. Raises Findings with everything that is wrong in it."""
    return build(yaml.parse(source, path), source, path)


def build(document: yaml.Document, source: str, path: str) -> model.PinSet:
    """The PinSet of a parsed ``source``. Raises Findings with everything that is wrong in it."""
    findings = document.all_findings([*check(document.top, spec.FILE), *cross_check(document.top)])
    if findings:
        raise Findings(path, findings)
    pinset = _Builder(document.top, source, path).build()
    if findings := [*inconsistencies(pinset)]:
        raise Findings(path, findings)
    return pinset


class _Builder:
    """A checked tree → PinSet. Nothing is checked here."""

    def __init__(self, tree: yaml.Mapping, source: str, path: str) -> None:
        self.tree, self.source, self.path = tree, source, path
        self.pins = {str(name): _pin(name, item) for name, item in _entries(self.tree.get("pins"))}
        self.gates = {str(name): _gate(name, item) for name, item in _entries(self.tree.get("gates"))}
        self.targets: dict[str, model.Target] = {}

    def build(self) -> model.PinSet:
        images = dict(_entries(self.tree.get("images")))
        for name in images:
            self._add_image(name, images)
        return model.PinSet(
            path=self.path,
            text=self.source,
            pins=self.pins,
            groups={str(name): _texts(item) for name, item in _entries(self.tree.get("groups"))},
            targets=self.targets,
            gates=self.gates,
            constraints=tuple(_constraint(item) for item in _items(self.tree.get("constraints"))),
            mirrors={str(prefix): str(_text(item)) for prefix, item in _entries(self.tree.get("mirrors"))},
        )

    def _add_image(self, name: Text, images: Mapping[Text, yaml.Value]) -> None:
        """Add the variants of an image, its parents' before them."""
        image = _fields(images[name])
        for variant_name, item in _entries(image["variants"]):
            if f"{name}/{variant_name}" in self.targets:
                continue
            variant = _fields(item)
            parent = variant.get("parent", image.get("parent"))
            if parent is not None:
                parent_image = next(each for each in images if each == str(_text(parent)).partition("/")[0])
                self._add_image(parent_image, images)
            self._add_target(name, variant_name, image, variant)

    def _add_target(self, name: Text, variant_name: Text, image: "_Fields", variant: "_Fields") -> None:
        roles = {str(pin): self.pins[pin] for pin in _texts(image["pins"])}
        roles |= {str(role): self.pins[_text(pin)] for role, pin in _entries(variant.get("pins"))}
        both = {**image, **variant}
        target = model.Target(
            image=name,
            variant=variant_name,
            template=_text(image["template"]),
            pins=roles,
            parent=self._parent(both.get("parent"), variant_name),
            archs=_texts(both.get("archs")),
            args={**_text_map(image.get("args")), **_text_map(variant.get("args"))},
            env_vars=tuple({each.name: each for each in _env(image.get("env")) + _env(variant.get("env"))}.values()),
            gates=tuple(self.gates[gate] for gate in _texts(image.get("gates"))),
            require_gates=_texts(image.get("require_gates")),
            tags=tuple(_tag(tag, roles) for tag in _texts(both.get("tags"))) or (f"{name}:{variant_name}",),
            platform=_text(both["platform"]) if "platform" in both else model.DEFAULT_PLATFORM,
            python=_text(image["python"]) if "python" in image else "python3",
            loads=_texts(image.get("loads")),
            allow_copies=_text_map(image.get("allow_copies")),
            weight=_text(image["weight"]) if "weight" in image else "light",
            bench=_bench(image["bench"]) if "bench" in image else None,
        )
        self.targets[target.name] = target

    def _parent(self, parent: yaml.Value | None, variant: str) -> model.Target | None:
        if parent is None:
            return None
        name = str(_text(parent))
        if name in self.targets:
            return self.targets[name]
        same = self.targets.get(f"{name}/{variant}")
        return same or next(each for each in self.targets.values() if each.image == name)


_Fields = Mapping[str, yaml.Value]


def _pin(name: Text, item: yaml.Value) -> model.Pin:
    fields = _fields(item)
    kind = next(kind for kind in PIN_TYPES if kind in fields)
    values: dict[str, Any] = {}
    for key, value in fields.items():
        match key:
            case "path":
                values[key] = _texts(value)
            case "track":
                values[key] = model.Track(**_text_map(value))
            case "picks" | "reverts":
                values[key] = tuple(_patch(each) for each in _items(value))
            case _:
                values[RENAMED.get(key, key)] = _text(value)
    return PIN_TYPES[kind](name=name, **values)


def _tag(tag: Text, roles: Mapping[str, model.Pin]) -> str:
    """The tag with the versions of the pins it names; a version is written without the v of its tag."""

    def value(match: re.Match[str]) -> str:
        pin = roles[match[1]]
        track = pin.track if isinstance(pin, model.GitPin) else None
        known = pin.component_version or (track.tag if track else None)
        return re.sub(r"^v(?=\d)|[^\w.-]", "", str(known)) if known else "unknown"

    return re.sub(PLACEHOLDER, value, tag) if "{" in tag else tag


def _patch(item: yaml.Value) -> model.Patch:
    fields = _text_map(item)
    return model.Patch(fields.get("commit") or fields["short"], fields["reason"])


def _gate(name: Text, item: yaml.Value) -> model.Gate:
    fields = _text_map(item, short="when")
    when = parse_condition(fields.pop("when"))
    return model.Gate(name=name, when=when, **fields)


def _constraint(item: yaml.Value) -> model.Constraint:
    fields = _text_map(item)
    when = parse_condition(fields["when"]) if "when" in fields else None
    return model.Constraint(require=parse_condition(fields["require"]), reason=fields["reason"], when=when)


def _env(item: yaml.Value | None) -> tuple[model.EnvVar, ...]:
    found = []
    for name, value in _entries(item):
        fields = _text_map(value, short="value")
        when: Condition | None = parse_condition(fields["when"]) if "when" in fields else None
        found.append(model.EnvVar(name, fields["value"], when, fields.get("reason")))
    return tuple(found)


def _bench(item: yaml.Value) -> model.Bench:
    values: dict[str, Any] = {}
    for key, value in _fields(item).items():
        if key == "env_sets":
            values[key] = tuple(_text_map(each) for each in _items(value))
        elif isinstance(value, yaml.Sequence):
            values[key] = _texts(value)
        else:
            values[key] = _text(value) if key == "result" else int(_text(value))
    return model.Bench(**values)


def _entries(value: yaml.Value | None) -> list[tuple[Text, yaml.Value]]:
    return list(value.entries.items()) if isinstance(value, yaml.Mapping) else []


def _fields(value: yaml.Value) -> _Fields:
    return {str(key): item for key, item in _entries(value)}


def _items(value: yaml.Value | None) -> tuple[yaml.Value, ...]:
    if value is None:
        return ()
    return value.items if isinstance(value, yaml.Sequence) else (value,)


def _text(value: yaml.Value) -> Text:
    assert isinstance(value, Text)  # noqa: S101 - checked against spec.FILE before
    return value


def _texts(value: yaml.Value | None) -> tuple[Text, ...]:
    return tuple(_text(item) for item in _items(value))


def _text_map(value: yaml.Value | None, *, short: str | None = None) -> dict[str, Text]:
    if short and isinstance(value, Text):
        return {short: value}
    return {str(key): _text(item) for key, item in _entries(value)}
