"""Artifacts with wheels → installed, recorded, and held by a constraints file against every later pip step."""

import argparse
import subprocess
import sys
from importlib.metadata import Distribution, distributions
from pathlib import Path

import provenance


def main() -> None:
    """Install the wheels of all artifacts in one transaction, then constrain and record each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--artifact", type=Path, action="append", required=True, help="directory of one component")
    parser.add_argument("--constraints", type=Path, required=True, help="constraints file to add the versions to")
    parser.add_argument("--provenance", type=Path, default=provenance.FILE, help="the image's provenance file")
    options = parser.parse_args()
    wheels = {artifact: sorted(artifact.rglob("*.whl")) for artifact in options.artifact}
    for artifact, found in wheels.items():
        if not found:
            raise provenance.fail(provenance.record_of(artifact)["pin"], f"no wheel in {artifact}")
    everything = [str(wheel) for found in wheels.values() for wheel in found]
    # The constraints hold stock versions of packages that are replaced here.
    pip("install", "--no-deps", "--force-reinstall", "--no-index", *everything, constraints=None)
    held = []
    for artifact, found in wheels.items():
        installed: dict[str, str] = {}
        for distribution in map(distribution_of, found):
            held.append(constrain(options.constraints, distribution))
            installed |= installed_files(distribution)
        provenance.add(provenance.record_of(artifact), installed, options.provenance)
    # Now what they depend on, with themselves and everything before them held.
    pip("install", *held, constraints=options.constraints)


def pip(*arguments: str, constraints: Path | None) -> None:
    """Run pip of this interpreter, under the given constraints file alone."""
    argv = [sys.executable, "-m", "pip", *arguments]
    argv += ["--constraint", str(constraints)] if constraints else []
    subprocess.run(["env", "--unset=PIP_CONSTRAINT", *argv], check=True)


def distribution_of(wheel: Path) -> Distribution:
    """The installed distribution that a wheel became."""
    name, version = wheel.name.split("-")[:2]
    for found in distributions():
        if normal(found.name) == normal(name):
            return found
    raise SystemExit(f"imagepins: {wheel.name} was installed, and no distribution {name} {version} is there")


def normal(name: str) -> str:
    """A distribution's name as it compares (PEP 503)."""
    return "-".join(part for part in name.lower().replace("_", "-").replace(".", "-").split("-") if part)


def constrain(file: Path, distribution: Distribution) -> str:
    """Make NAME==VERSION the one line of a distribution in the constraints file, and return it."""
    line = f"{distribution.name}=={distribution.version}"
    lines = file.read_text().splitlines() if file.exists() else []
    kept = [line for line in lines if normal(line.partition("==")[0]) != normal(distribution.name)]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join([*kept, line]) + "\n")
    return line


def installed_files(distribution: Distribution) -> dict[str, str]:
    """Checksums of a distribution's libraries, by absolute path; of its modules, else its data, where it has none."""
    files = [Path(str(distribution.locate_file(each))).resolve() for each in distribution.files or []]
    libraries = [path for path in files if ".so" in path.suffixes]
    modules = [path for path in files if path.suffix == ".py"]
    # Its metadata alone would tell nothing of what it is, but pip rewrites none of the rest.
    data = [path for path in files if path.suffix != ".pyc" and not path.parent.name.endswith(".dist-info")]
    chosen = libraries or modules or data
    return {str(path): provenance.sha256(path) for path in chosen if path.is_file()}


if __name__ == "__main__":
    main()
