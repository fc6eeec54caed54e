"""Checked out source → nothing, or a clear end of the build: is the version what pins.yaml says?

Conditions and checks of pins.yaml rest on that version, so a wrong one must not get as far as an image.
"""

import argparse
import re
from pathlib import Path

import provenance

NUMBER = re.compile(r"^(?:[A-Za-z_]+\s*:?=)?\s*(\d+)\s*$", re.MULTILINE)
"""A number on a line of its own (HIP's VERSION), or assigned (RCCL's version.mk)."""


def main() -> None:
    """Compare the first numbers of the version file with the pinned version."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pin", required=True, help="name of the pin")
    parser.add_argument("--version", required=True, help="version that pins.yaml says, or its beginning")
    parser.add_argument("--file", type=Path, required=True, help="file of the source that holds the version")
    options = parser.parse_args()
    wanted = options.version.split(".")
    found = NUMBER.findall(options.file.read_text())[: len(wanted)]
    if found != wanted:
        raise provenance.fail(
            options.pin,
            f"{options.file} says version {'.'.join(found)}, pins.yaml {options.version};"
            f" tools/bump_pin {options.pin} reads it anew",
        )


if __name__ == "__main__":
    main()
