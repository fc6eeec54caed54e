"""The one provenance file of an image: what each pinned source really became, as its own build recorded it."""

import hashlib
import json
from pathlib import Path
from typing import Any

FILE = Path("/usr/share/imagepins/provenance.json")
"""Where a finished image keeps it: ``{"schema": 1, "pins": {NAME: record}}``."""

IN_ARTIFACT = ".provenance"
"""Directory of an artifact that holds the record its build stage wrote."""


def sha256(path: Path) -> str:
    """Hex checksum of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def fail(pin: str, message: str) -> SystemExit:
    """The error that ends a build step; the build tool finds the pin's place in pins.yaml by this line."""
    return SystemExit(f"imagepins: pin {pin}: {message}")


def write(path: Path, document: Any) -> None:
    """Write JSON with sorted keys, so that equal content is equal bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=2, sort_keys=True) + "\n")


def record_of(artifact: Path) -> dict[str, Any]:
    """The record that the artifact's build stage wrote. Exits where there is not exactly one."""
    found = sorted((artifact / IN_ARTIFACT).glob("*.json"))
    if len(found) != 1:
        raise SystemExit(f"imagepins: {artifact} holds {len(found)} records, expected one")
    record: dict[str, Any] = json.loads(found[0].read_text())
    return record


def add(record: dict[str, Any], installed: dict[str, str], file: Path = FILE) -> None:
    """Add a record with the checksums of what was installed, by path, to the image's file.

    The text beside it says the same of one pin, in lines that ``sha256sum --check`` reads.
    """
    document: dict[str, Any] = {"schema": 1, "pins": {}}
    if file.exists():
        document = json.loads(file.read_text())
    document["pins"][record["pin"]] = {**record, "installed": installed}
    write(file, document)
    lines = [f"commit: {record['commit']}", f"dirty: {'yes' if record['dirty'] else 'no'}"]
    text = file.with_suffix("") / f"{record['pin']}.txt"
    text.parent.mkdir(exist_ok=True)
    text.write_text("\n".join([*lines, *(f"{digest}  {path}" for path, digest in sorted(installed.items()))]) + "\n")
