"""Installed distribution → the same without a requirement that the image answers in another way.

torch names the one Triton it was built with. With another in place, `pip check` complains and every later resolver
puts torch's own back; a constraints file alone cannot help that.
"""

import argparse
import csv
import io
import re
from importlib.metadata import distribution
from pathlib import Path


def main() -> None:
    """Drop the requirement from METADATA, and the checksum of METADATA from RECORD. Exits where none is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--distribution", required=True, help="whose requirement")
    parser.add_argument("--requirement", action="append", required=True, help="name of a package that is required")
    options = parser.parse_args()
    found = distribution(options.distribution)
    metadata = next(each for each in found.files or [] if each.name == "METADATA" and ".dist-info" in str(each))
    path = Path(str(found.locate_file(metadata)))
    names = "|".join(map(re.escape, options.requirement))
    text, count = re.subn(rf"(?m)^Requires-Dist: *(?:{names})(?![\w.-]).*\n", "", path.read_text())
    if not count:
        raise SystemExit(f"imagepins: {options.distribution} {found.version} does not require {names}")
    path.write_text(text)
    forget(path.with_name("RECORD"), str(metadata))


def forget(record: Path, name: str) -> None:
    """Blank checksum and size of one file, as RECORD allows."""
    rows = list(csv.reader(io.StringIO(record.read_text())))
    changed = [[row[0], "", ""] if row and row[0] == name else row for row in rows]
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(changed)
    record.write_text(out.getvalue())


if __name__ == "__main__":
    main()
