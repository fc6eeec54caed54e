"""Artifact with a rebuilt library + image with stock copies → image where every copy is the rebuilt one.

Runs in the final stage; needs patchelf and readelf, otherwise the standard library only. What it guards against has
happened:

- Wheel SDKs hold two trees. With one of them patched, torch goes on loading the stock copy of the other.
- ldconfig points a SONAME link at the name it sorts highest, which may be the stock file's. So every stock name becomes
  a link to the new file, whose own name then also shows in /proc/PID/maps.
- A later apt run puts a package's stock file back. So dpkg is told to put that file elsewhere.
- Each tree has its own RUNPATH (or RPATH, which LD_LIBRARY_PATH does not override), under which the library finds its
  neighbours. So each copy keeps the one it had.
- A rebuilt library may find fewer of its neighbours than the stock one did. So their unresolved names are compared.
"""

import argparse
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import provenance

DIVERTED = Path("/var/lib/imagepins/diverted")
SKIPPED = frozenset(map(Path, ("/proc", "/sys", "/dev", str(DIVERTED))))


@dataclass
class Swap:
    """One library on its way into an image. ``placed`` gathers the files written, by checksum of their content."""

    pin: str
    family: str
    new: Path
    soname: str
    keep_needed: list[str]
    must_need: list[str]
    placed: dict[str, Path] = field(default_factory=dict)


def main() -> None:
    """Replace every copy of every family, record what is where, and prove it."""
    options = parse_arguments()
    record = provenance.record_of(options.artifact)
    installed: dict[str, str] = {}
    for family in options.family:
        swap = prepare(options, record["pin"], family)
        copies = stock_copies(options.root, family, options.artifact)
        if len(copies) < options.at_least:
            places = ", ".join(map(str, copies)) or "nowhere"
            raise provenance.fail(swap.pin, f"expected {family} in {options.at_least} places, found it in: {places}")
        for directory, names in copies.items():
            installed |= replace(swap, directory, names)
        refresh_loader_cache()
        for directory in copies:
            prove(swap, directory, installed)
    copy_kernel_packs(options.artifact, [Path(path).parent for path in installed])
    provenance.add(record, installed, options.provenance)


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--artifact", type=Path, required=True, help="directory of the rebuilt library, read only")
    parser.add_argument("--family", action="append", required=True, help="name without version, e.g. librccl.so")
    parser.add_argument("--at-least", type=int, default=1, help="number of directories that must hold a stock copy")
    parser.add_argument("--keep-needed", action="append", default=[], help="keep this dependency where stock had it")
    parser.add_argument(
        "--must-need", action="append", default=[], help="fail where stock has this one and new has not"
    )
    parser.add_argument("--root", type=Path, default=Path("/"), help="where to look for stock copies")
    parser.add_argument("--provenance", type=Path, default=provenance.FILE, help="the image's provenance file")
    return parser.parse_args()


def prepare(options: argparse.Namespace, pin: str, family: str) -> Swap:
    """Find the one rebuilt file of a family in the artifact."""
    found = [path for path in options.artifact.rglob(f"{family}*") if path.is_file() and not path.is_symlink()]
    if len({provenance.sha256(path) for path in found}) != 1:
        raise provenance.fail(pin, f"the artifact holds {len(found)} files of {family}, expected one")
    new = max(found, key=lambda path: len(path.name))
    soname = patchelf(new, "--print-soname")
    return Swap(pin, family, new, soname, options.keep_needed, options.must_need)


def stock_copies(root: Path, family: str, artifact: Path) -> dict[Path, list[str]]:
    """Names of regular files of the family by directory; links follow by themselves."""
    found: dict[Path, list[str]] = {}
    for directory, names in walk(root, artifact):
        real = [name for name in names if is_member(name, family) and not (directory / name).is_symlink()]
        if real:
            found[directory] = sorted(real)
    return found


def is_member(name: str, family: str) -> bool:
    """Whether a file name is the family's own or carries a version behind it."""
    return name == family or name.startswith(f"{family}.")


def walk(root: Path, artifact: Path) -> Iterator[tuple[Path, list[str]]]:
    """Directories of the image itself: no other mounts, not the artifact."""
    device = root.stat().st_dev
    for directory, below, names in os.walk(root):
        here = Path(directory)
        below[:] = [name for name in below if is_own(here / name, device) and here / name != artifact]
        yield here, names


def is_own(directory: Path, device: int) -> bool:
    """Whether a directory belongs to the image's own file system and is searched."""
    return directory not in SKIPPED and not directory.is_symlink() and directory.stat().st_dev == device


def replace(swap: Swap, directory: Path, names: list[str]) -> dict[str, str]:
    """Put the new file into a directory, and turn every stock name into a link to it."""
    stock = directory / (swap.soname if swap.soname in names else names[0])
    target = directory / swap.new.name
    draft = directory / f".{swap.new.name}.imagepins"
    shutil.copyfile(swap.new, draft)
    draft.chmod(0o755)
    adapt(swap, draft, stock)
    lost = unresolved(draft) - unresolved(stock)
    if lost:
        raise provenance.fail(swap.pin, f"the rebuilt {swap.family} misses {', '.join(sorted(lost))} in {directory}")
    for name in names:
        divert(directory / name)
    checksum = provenance.sha256(draft)
    share(swap, draft, checksum)
    draft.replace(target)
    for name in {*names, swap.soname} - {target.name}:
        (directory / name).unlink(missing_ok=True)
        (directory / name).symlink_to(target.name)
    return {str(target): checksum}


def adapt(swap: Swap, draft: Path, stock: Path) -> None:
    """Give the new file the stock file's RUNPATH and the dependencies that must not get lost."""
    runpath = patchelf(stock, "--print-rpath")
    if not runpath:
        patchelf(draft, "--remove-rpath")
    elif (runpath, has_rpath(stock)) != (patchelf(draft, "--print-rpath"), has_rpath(draft)):
        patchelf(draft, "--remove-rpath")
        patchelf(draft, *(["--force-rpath"] if has_rpath(stock) else []), "--set-rpath", runpath)
    had, has = (patchelf(path, "--print-needed").split() for path in (stock, draft))
    for name in had:
        if any(name.startswith(kept) for kept in swap.keep_needed) and name not in has:
            patchelf(draft, "--add-needed", name)
        if any(name.startswith(wanted) for wanted in swap.must_need) and name not in has:
            raise provenance.fail(swap.pin, f"the stock {stock} needs {name}, the rebuilt one does not")


def has_rpath(library: Path) -> bool:
    """Whether a library carries the older RPATH instead of a RUNPATH."""
    done = subprocess.run(["readelf", "--dynamic", "--wide", str(library)], check=True, capture_output=True, text=True)
    return "(RPATH)" in done.stdout


def share(swap: Swap, draft: Path, checksum: str) -> None:
    """Make ``draft`` one file with an equal copy placed before, where the file system allows it."""
    first = swap.placed.setdefault(checksum, draft.with_name(swap.new.name))
    if first.exists() and first.parent != draft.parent and first.stat().st_dev == draft.stat().st_dev:
        draft.unlink()
        os.link(first, draft)


def unresolved(library: Path) -> set[str]:
    """Names the loader does not find for a library."""
    done = subprocess.run(["ldd", str(library)], check=False, capture_output=True, text=True)
    return {line.split()[0] for line in done.stdout.splitlines() if line.rstrip().endswith("not found")}


def divert(path: Path) -> None:
    """Have dpkg put a package's file elsewhere from now on: apt --fix-broken install would bring the stock one back."""
    if not shutil.which("dpkg-divert"):
        return
    owner = subprocess.run(["dpkg", "-S", str(path)], check=False, capture_output=True, text=True)
    if owner.returncode == 0:
        aside = DIVERTED / str(path).lstrip("/")
        aside.parent.mkdir(parents=True, exist_ok=True)
        argv = ["dpkg-divert", "--local", "--no-rename", "--divert", str(aside), "--add", str(path)]
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)


def refresh_loader_cache() -> None:
    """Run ldconfig now, so that what it does to the links is seen by ``prove``."""
    subprocess.run(["ldconfig"], check=True)
    Path("/var/cache/ldconfig/aux-cache").unlink(missing_ok=True)


def prove(swap: Swap, directory: Path, installed: dict[str, str]) -> None:
    """Every name of the family in a directory leads to the new file, ldconfig's work included."""
    target = directory / swap.new.name
    names = {path.name for path in directory.iterdir() if is_member(path.name, swap.family)}
    for name in {swap.soname, *names}:
        found = (directory / name).resolve()
        if found != target.resolve() or provenance.sha256(found) != installed[str(target)]:
            raise provenance.fail(swap.pin, f"{directory / name} leads to {found}, not to the rebuilt {target}")


def copy_kernel_packs(artifact: Path, directories: list[Path]) -> None:
    """Put .kpack files where libraries look for them: in .kpack beside the lib directory of each tree."""
    for pack in artifact.rglob("*.kpack"):
        for directory in {each.parent / ".kpack" for each in directories}:
            directory.mkdir(exist_ok=True)
            shutil.copyfile(pack, directory / pack.name)


def patchelf(library: Path, *arguments: str) -> str:
    """Output of patchelf on a library, stripped."""
    argv = ["patchelf", *arguments, str(library)]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    main()
