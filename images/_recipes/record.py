"""Built source tree + artifact → the artifact's provenance record. Runs in build stages; standard library only.

Nothing here repeats what was asked for: the commit is read from the tree, the checksums from the built files.
"""

import argparse
import hashlib
import re
import subprocess
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import provenance


def main() -> None:
    """Check the tree and the artifact, and write ``ARTIFACT/.provenance/PIN.json``."""
    options = parse_arguments()
    commit = git(options.source, "rev-parse", "HEAD")
    if commit != options.commit:
        raise provenance.fail(options.pin, f"built from {commit}, pinned is {options.commit}")
    modified = modifications(options.source)
    files = {str(path.relative_to(options.artifact)): path for path in artifact_files(options.artifact)}
    if not files:
        raise provenance.fail(options.pin, f"the build left nothing in {options.artifact}")
    record = {
        "pin": options.pin,
        "repository": git(options.source, "config", "remote.origin.url"),
        "commit": commit,
        "dirty": bool(modified),
        "modified": modified,
        "picks": options.pick,
        "reverts": options.revert,
        "files": {name: provenance.sha256(path) for name, path in files.items()},
        "members": {name: wheel_members(path) for name, path in files.items() if path.suffix == ".whl"},
    }
    libraries = [path for path in files.values() if ".so" in path.name]
    if options.bakes is not None:
        record["baked"] = baked(options, libraries)
    if options.archs:
        record["archs"] = code_objects(options, files.values())
    for path in libraries:
        check_kernel_packs(options, path)
    provenance.write(options.artifact / provenance.IN_ARTIFACT / f"{options.pin}.json", record)


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pin", required=True, help="name of the pin")
    parser.add_argument("--commit", required=True, help="the pinned commit")
    parser.add_argument("--source", type=Path, required=True, help="the source tree that was built")
    parser.add_argument("--artifact", type=Path, required=True, help="directory of what was built")
    parser.add_argument("--bakes", metavar="PREFIX", help="the libraries must hold PREFIX and the commit's 7 digits")
    parser.add_argument("--archs", type=str.split, default=[], help="architectures that must have code objects")
    parser.add_argument("--pick", action="append", default=[], help="a commit applied on top")
    parser.add_argument("--revert", action="append", default=[], help="a commit taken back on top")
    return parser.parse_args()


def git(source: Path, *arguments: str) -> str:
    """Output of a git command in ``source``, stripped."""
    argv = ["git", "-C", str(source), "-c", "safe.directory=*", "-c", "status.renames=false", *arguments]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


def modifications(source: Path) -> list[str]:
    """Tracked files that differ from the commit, each with git's two status letters."""
    return git(source, "status", "--porcelain", "--untracked-files=no", "--ignore-submodules=untracked").splitlines()


def artifact_files(artifact: Path) -> list[Path]:
    """Regular files of the artifact, the record apart."""
    found = (path for path in sorted(artifact.rglob("*")) if path.is_file() and not path.is_symlink())
    return [path for path in found if provenance.IN_ARTIFACT not in path.parts]


def wheel_members(wheel: Path) -> dict[str, str]:
    """Checksums of the libraries in a wheel, by member."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: hashlib.sha256(archive.read(name)).hexdigest() for name in library_members(archive)}


def library_members(archive: zipfile.ZipFile) -> list[str]:
    """Names of the libraries in a wheel."""
    return [name for name in archive.namelist() if re.search(r"\.so(\.|$)", name)]


def baked(options: argparse.Namespace, libraries: list[Path]) -> list[str]:
    """The build's own stamp of the commit found in the libraries. A ``+`` behind it means a modified tree."""
    pattern = re.compile(re.escape(options.bakes + options.commit[:7]).encode() + rb"[0-9a-f]*\+?")
    stamps = sorted({match.decode() for path in libraries for match in pattern.findall(path.read_bytes())})
    if not stamps:
        raise provenance.fail(options.pin, f"no library holds {options.bakes}{options.commit[:7]}")
    if any(stamp.endswith("+") for stamp in stamps) and not (options.pick or options.revert):
        raise provenance.fail(options.pin, f"{stamps} says that the build changed its own source")
    return stamps


def code_objects(options: argparse.Namespace, files: Iterable[Path]) -> list[str]:
    """Architectures that the libraries hold code for. Compressed bundles hide theirs: none found, none asked for."""
    pattern = re.compile(rb"amdgcn-amd-amdhsa--(gfx[0-9a-f]+)")
    found = {match.decode() for content in library_contents(files) for match in pattern.findall(content)}
    if found and (missing := sorted(set(options.archs) - found)):
        raise provenance.fail(options.pin, f"no code for {' '.join(missing)}, only for {' '.join(sorted(found))}")
    return sorted(found)


def library_contents(files: Iterable[Path]) -> Iterator[bytes]:
    """The content of each library, those in wheels included, one at a time: they may be gigabytes."""
    for path in files:
        if ".so" in path.name:
            yield path.read_bytes()
        if path.suffix == ".whl":
            with zipfile.ZipFile(path) as archive:
                yield from (archive.read(name) for name in library_members(archive))


def check_kernel_packs(options: argparse.Namespace, library: Path) -> None:
    """A library whose kernels were split off needs the .kpack files beside it, or it has no kernels at all."""
    sections = subprocess.run(["readelf", "-SW", str(library)], check=False, capture_output=True, text=True).stdout
    if ".rocm_kpack_ref" in sections and not list(options.artifact.rglob("*.kpack")):
        raise provenance.fail(options.pin, f"{library.name} refers to .kpack files, and the artifact has none")


if __name__ == "__main__":
    main()
