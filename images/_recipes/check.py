"""Installed packages → nothing, or the end of the build where some do not go together.

A base image brings packages that do not fit one another already, or do not fit what is pinned. Complaints of a package
that still is as the base brought it are told; those of any other, and of one that is held by a constraint, end the
build.
"""

import argparse
import re
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

import wheels

COMPLAINT = re.compile(r"(\S+) (\S+) (?:requires|has requirement|is not supported)")


def main() -> None:
    """Write down what a base brought, or check what is there now."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the packages of the base to FILE")
    parser.add_argument("--constraints", type=Path, help="constraints file; what it holds must fit in any case")
    parser.add_argument("file", type=Path, help="packages of the base, one NAME==VERSION a line")
    options = parser.parse_args()
    if options.write:
        options.file.parent.mkdir(parents=True, exist_ok=True)
        options.file.write_text("".join(f"{line}\n" for line in sorted(installed())))
        return
    brought = set(options.file.read_text().splitlines()) - held(options.constraints)
    done = subprocess.run([sys.executable, "-m", "pip", "check"], check=False, capture_output=True, text=True)
    if done.returncode and (new := [line for line in done.stdout.splitlines() if of(line) not in brought]):
        raise SystemExit("\n".join(["imagepins: packages do not go together:", *new, done.stderr]))
    sys.stderr.write(done.stdout)


def installed() -> set[str]:
    """Every installed distribution as NAME==VERSION."""
    return {f"{wheels.normal(each.name)}=={each.version}" for each in distributions() if each.name}


def held(constraints: Path | None) -> set[str]:
    """What a constraints file holds, as NAME==VERSION."""
    lines = (line.partition("==") for line in constraints.read_text().splitlines()) if constraints else ()
    return {f"{wheels.normal(name)}=={version}" for name, _, version in lines}


def of(line: str) -> str:
    """Whose complaint a line of pip check is, as NAME==VERSION."""
    match = COMPLAINT.match(line)
    return f"{wheels.normal(match[1])}=={match[2]}" if match else ""


if __name__ == "__main__":
    main()
