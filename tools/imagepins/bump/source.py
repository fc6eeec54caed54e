"""pins.yaml → PinSet for a bump, which may mend what other commands refuse: a pin whose id is a branch or short sha."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from imagepins.bump.move import Unreadable
from imagepins.errors import PinsError
from imagepins.pins import text as yaml
from imagepins.pins.load import build
from imagepins.pins.model import PinSet
from imagepins.pins.text import Findings, Text

_PLACEHOLDERS = {
    "commit": "0" * 40,
    "digest": f"sha256:{'0' * 64}",
    "sha256": "0" * 64,
    "version": "0",
}


def read_pins(pins_path: Path, names: Sequence[str] | None) -> PinSet:
    """The PinSet of ``pins_path``; ids of the pins ``names`` (None: of all) may be wrong, to be replaced or told."""
    try:
        data = pins_path.read_bytes()
    except OSError as error:
        raise PinsError(f"{pins_path}: cannot be read: {error.strerror}; name another with --pins FILE") from None
    return load_for(yaml.decode(data, pins_path.name), pins_path.name, names)


def load_for(source: str, shown: str, names: Sequence[str] | None) -> PinSet:
    """The PinSet of ``source``; ids of the pins ``names`` (None: of all) that are none are Unreadable in it.

    Text and places are those of ``source``, so that nothing but a value that is replaced can reach the file. Raises
    Findings with everything else that is wrong.
    """
    document = yaml.parse(source, shown)
    try:
        return build(document, source, shown)
    except Findings as error:
        pins = document.top.get("pins")
        known = [*pins.entries] if names is None and isinstance(pins, yaml.Mapping) else names or ()
        mendable = {f"pins.{name}.{key}": ("pins", str(name), key) for name in known for key in _PLACEHOLDERS}
        keys = {finding.key for finding in error.findings}
        if not keys <= mendable.keys():
            raise
        for key in sorted(keys):
            document = replace(document, top=_with_placeholder(document.top, mendable[key]))
        return build(document, source, shown)


def _with_placeholder(mapping: yaml.Mapping, path: Sequence[str]) -> yaml.Mapping:
    """The tree with an Unreadable in the place of the text at ``path``."""
    first, *rest = path
    value = mapping.get(first)
    if rest and isinstance(value, yaml.Mapping):
        return replace(mapping, entries={**mapping.entries, _key(mapping, first): _with_placeholder(value, rest)})
    if isinstance(value, Text):
        return replace(mapping, entries={**mapping.entries, _key(mapping, first): _placeholder(value, first)})
    return mapping


def _key(mapping: yaml.Mapping, name: str) -> Text:
    return next(key for key in mapping.entries if key == name)


def _placeholder(value: Text, key: str) -> Unreadable:
    made = Unreadable(_PLACEHOLDERS[key])
    made.written = str(value)
    for name in Text.__slots__:
        setattr(made, name, getattr(value, name))
    made.style = value.style or '"'
    return made
