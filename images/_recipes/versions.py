"""The image's provenance → upstream's /app/versions.txt, whose readers expect ``NAME: value`` lines.

Upstream writes there what was asked for; commits and versions here are those that are in the image.
"""

import argparse
import hashlib
import json
import re
from collections.abc import Iterable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import provenance


def main() -> None:
    """Append a line for each entry, in the order given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--file", type=Path, default=Path("/app/versions.txt"), help="file to append to")
    parser.add_argument("--provenance", type=Path, default=provenance.FILE, help="the image's provenance file")
    parser.add_argument(
        "entry",
        nargs="+",
        help="NAME=value, NAME@pin (its commit), NAME%%package (its version), NAME#package:.py,.so (checksum of its"
        " files with those endings), or NAME?package:WORD (what a header of it defines WORD as)",
    )
    options = parser.parse_args()
    pins = json.loads(options.provenance.read_text())["pins"] if options.provenance.exists() else {}
    options.file.parent.mkdir(parents=True, exist_ok=True)
    with options.file.open("a") as stream:
        stream.writelines(f"{line(entry, pins)}\n" for entry in options.entry)


def line(entry: str, pins: dict[str, dict[str, str]]) -> str:
    """One line of the file."""
    at = re.search(r"[=@%#?]", entry)
    if at is None:
        raise SystemExit(f"imagepins: {entry} names no kind of value")
    name, value = entry[: at.start()], entry[at.end() :]
    package, _, rest = value.partition(":")
    if at[0] == "@":
        value = pins[value]["commit"]
    elif at[0] == "%":
        value = version(value)
    elif at[0] == "#":
        value = checksum(files(package, rest.split(",")))
    elif at[0] == "?":
        value = definition(files(package, [".h"]), rest)
    return f"{name}: {value}"


def files(package: str, endings: Iterable[str]) -> list[Path]:
    """Files of an installed package with one of the endings, sorted."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise SystemExit(f"imagepins: no package {package}")
    found = Path(spec.origin).parent.rglob("*")
    return sorted(path for path in found if path.suffix in endings and path.is_file())


def checksum(paths: Iterable[Path]) -> str:
    """Checksum over what sha256sum says of the files: the same that upstream computes again later."""
    lines = "".join(f"{provenance.sha256(path)}  {path}\n" for path in paths)
    return hashlib.sha256(lines.encode()).hexdigest()


def definition(headers: Iterable[Path], word: str) -> str:
    """What the first header that defines ``word`` defines it as."""
    pattern = re.compile(rf"^#\s*define {re.escape(word)}\s+(\S+)", re.MULTILINE)
    matches = (pattern.search(path.read_text()) for path in headers)
    return next((match[1] for match in matches if match), "")


if __name__ == "__main__":
    main()
