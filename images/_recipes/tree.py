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
    lay(options.artifact, options.root)
    installed = {str(options.root / name): checksum for name, checksum in record["files"].items()}
    provenance.add(record, installed, options.provenance)


def lay(artifact: Path, root: Path) -> None:
    """Copy a tree over another. What is there under the same name goes first: a link would be written through."""
    for path in sorted(artifact.rglob("*")):
        relative = path.relative_to(artifact)
        if provenance.IN_ARTIFACT in relative.parts:
            continue
        target = root / relative
        if path.is_dir() and not path.is_symlink():
            target.mkdir(exist_ok=True)
            continue
        target.unlink(missing_ok=True)
        shutil.copy2(path, target, follow_symlinks=False)


if __name__ == "__main__":
    main()
