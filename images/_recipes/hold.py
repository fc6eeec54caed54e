"""Installed packages → constraints, for what a base image brought and nobody here chose the version of."""

import argparse
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import wheels


def main() -> None:
    """Hold each named package that is installed at the version it has."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--constraints", type=Path, required=True, help="constraints file to add the versions to")
    parser.add_argument("name", nargs="+", help="package to hold where it is installed")
    options = parser.parse_args()
    for name in options.name:
        try:
            wheels.constrain(options.constraints, distribution(name))
        except PackageNotFoundError:
            continue


if __name__ == "__main__":
    main()
