"""Artifact with a tree of files → the same files in the image, recorded."""

import argparse
import shutil
from pathlib import Path

import provenance


def main() -> None:
    """Copy everything but the record, links as links, and add the record with the checksums of what was copied."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--artifact", type=Path, required=True, help="directory whose content is laid over the root")
    parser.add_argument("--root", type=Path, default=Path("/"), help="where to lay it")
    parser.add_argument("--provenance", type=Path, default=provenance.FILE, help="the image's provenance file")
    options = parser.parse_args()
    record = provenance.record_of(options.artifact)
    ignored = shutil.ignore_patterns(provenance.IN_ARTIFACT)
    shutil.copytree(options.artifact, options.root, symlinks=True, ignore=ignored, dirs_exist_ok=True)
    installed = {str(options.root / name): checksum for name, checksum in record["files"].items()}
    provenance.add(record, installed, options.provenance)


if __name__ == "__main__":
    main()
