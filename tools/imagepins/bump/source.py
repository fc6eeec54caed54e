"""pins.yaml → PinSet for a bump, which may mend what other commands refuse: a pin whose id is a branch or short sha."""

from collections.abc import Sequence
from pathlib import Path

from imagepins.bump.move import UNKNOWN_COMMIT
from imagepins.errors import PinsError
from imagepins.pins import text as yaml
from imagepins.pins.edit import Edit, splice
from imagepins.pins.load import loads
from imagepins.pins.model import PinSet
from imagepins.pins.text import Findings, Text

_PLACEHOLDERS = {
    "commit": UNKNOWN_COMMIT,
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
    """The PinSet of ``source``; ids of the pins ``names`` (None: of all) may be wrong and read as a placeholder.

    Raises Findings with everything else that is wrong.
    """
    try:
        return loads(source, shown)
    except Findings as error:
        tree = yaml.parse(source, shown)
        pins = tree.get("pins")
        known = [*pins.entries] if names is None and isinstance(pins, yaml.Mapping) else names or ()
        mendable = {f"pins.{name}.{key}": value for name in known for key, value in _PLACEHOLDERS.items()}
        keys = {finding.key for finding in error.findings}
        if not keys <= mendable.keys():
            raise
        edits = [Edit(value.start, value.end, f'"{mendable[key]}"') for key in keys if (value := _at(tree, key))]
        return loads(splice(source, edits), shown)


def _at(tree: yaml.Mapping, key: str) -> Text | None:
    _, name, field = key.split(".", 1)[0], key.split(".", 1)[1].rpartition(".")[0], key.rpartition(".")[2]
    pins = tree.get("pins")
    pin = pins.get(name) if isinstance(pins, yaml.Mapping) else None
    value = pin.get(field) if isinstance(pin, yaml.Mapping) else None
    return value if isinstance(value, Text) else None
