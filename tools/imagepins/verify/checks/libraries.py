"""Libraries of a pin: there and loadable, in one build only, and still what its build recorded."""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import replace

from imagepins.pins.model import Pin, PinSet, Target
from imagepins.verify.checks.environment import search_path_parts
from imagepins.verify.checks.making import pin_check
from imagepins.verify.claims import changed, is_recorded, record_of, unrecorded
from imagepins.verify.components import Component
from imagepins.verify.findings import Check, Rank, Status
from imagepins.verify.observed import Library, Observed
from imagepins.verify.request import PRELOADED

NO_USE = "what 'loads' names holds it statically, takes another file, or does without; name what takes this one"


def check_present(pin: Pin, component: Component, pins: PinSet, observed: Observed) -> Iterator[Check]:
    """The library must be there, and something must be able to load it."""
    for family in component.libraries:
        files = [each for each in observed.libraries if each.family == family]
        usable = [each for each in files if not each.error]
        mapped = observed.mapped(family)
        if usable and any(observed.is_use(load) for load, _ in mapped):
            continue
        if usable and mapped:
            # amd-smi and the like are loaded when they are needed; the runtimes are what a program starts with.
            if not component.calls or any(load.error for load in observed.loads):
                continue
            expected, found, cause = f"a load that maps {family}", f"no load maps {family}", NO_USE
        elif usable:
            expected, found, cause = f"{family} loads", "does not load", _load_error(family, usable, observed)
        else:
            expected, found = family, "none"
            cause = _fault(files[0]) if files else "removed, or never installed"
        if not files and observed.errors:
            found, cause = "not collected", f"the collector stopped before it came to it: {observed.errors[0]}"
        where = (usable or files)[0].path if files else ""
        values = {"expected": expected, "found": found, "file": where, "cause": cause}
        yield pin_check(pin, pins, "library", Status.FAILED, rank=Rank.FILE, **values)


def check_provider(pin: Pin, component: Component, pins: PinSet, observed: Observed) -> Iterator[Check]:
    """A program must get a library's functions from the library's own file, not from another that has them."""
    for family in component.libraries:
        for load in observed.loads:
            files = {(each.device, each.inode) for each in load.mapped if each.family == family}
            others = [each for each in load.provided if each["family"] == family]
            others = [each for each in others if (each["device"], each["inode"]) not in files]
            if others:
                path, symbol = others[0]["path"], others[0]["symbol"]
                yield pin_check(
                    pin,
                    pins,
                    "provider",
                    Status.FAILED,
                    expected=f"{symbol} of {family}",
                    found=f"{symbol} of {path}",
                    rank=Rank.MAPPED,
                    file=path,
                    how=f"mapped by '{load.what}'",
                    cause=why_preloaded(observed, path) or "this file holds the library, or a copy under another name",
                )
                break


def why_preloaded(observed: Observed, path: str) -> str:
    """What puts a file in front of all others; empty where nothing does."""
    if path in observed.env.get("LD_PRELOAD", "").replace(":", " ").split():
        return "LD_PRELOAD names it"
    if path in re.split(r"[\s:]+", observed.texts.get(PRELOADED, "")):
        return f"{PRELOADED} names it"
    return ""


def _fault(file: Library) -> str:
    kind = "is no library" if file.error.startswith("not a") else "cannot be used"
    return f"{file.path} {kind}: {file.error}"


def _load_error(family: str, files: list[Library], observed: Observed) -> str:
    sonames = {each.soname for each in files}
    errors = [load.error for load in observed.loads if load.error and (load.is_implied or load.what in sonames)]
    return errors[0] if errors else f"nothing that was loaded needs {family}"


def check_record(pin: Pin, component: Component | None, pins: PinSet, observed: Observed) -> Iterator[Check]:
    """Recorded files must be as the build left them, and a process must map recorded files only."""
    record = record_of(pin, observed)
    if record is None:
        return
    if not record.files or not record.fields.get("commit") or not record.fields.get("dirty") or record.strange:
        values = {"expected": "a commit, 'dirty: no' and files with their sha256", "found": "unreadable record"}
        values |= {"file": record.path, "cause": "emptied, cut short, or not written by the build"}
        yield pin_check(pin, pins, "build record", Status.FAILED, rank=Rank.FILE, **values)
        return
    differing, loose = changed(record), unrecorded(record, component, observed)
    cause = "a process maps a file that the build did not install" if loose else ""
    if differing:
        cause = "replaced after the build installed it"
    wrong = differing or loose
    yield pin_check(
        pin,
        pins,
        "build record",
        Status.FAILED if wrong else Status.PASSED,
        expected=f"{len(record.files)} files as built",
        found=f"{len(wrong)} not as built" if wrong else "all as built",
        rank=Rank.FILE,
        file=wrong[0] if wrong else record.path,
        how=f"sha256 against {record.path}" if wrong else "sha256",
        cause=cause,
    )


def check_copies(pin: Pin, family: str, target: Target, pins: PinSet, observed: Observed) -> Iterator[Check]:
    """One build of a library may be in an image, under any number of names; ``allow_copies`` names exceptions."""
    files = [each for each in observed.libraries if each.family == family and not each.error]
    kinds = {each.identity for each in files}
    reason = _allowance(family, files, target)
    taken = {each.path for _, each in observed.mapped(family)}
    listed = "; ".join(f"{each.path}{' (loaded)' if each.path in taken else ''}" for each in files)
    if len(kinds) > 1:
        yield pin_check(
            pin,
            pins,
            f"copies of {family}",
            Status.PASSED if reason else Status.FAILED,
            expected="one",
            found=f"{len(kinds)} different",
            rank=Rank.FILE,
            file=listed,
            how=f"allowed: {reason}" if reason else "build ids and contents",
            cause="" if reason else _copies_cause(files, taken),
        )
    elif reason is None and len({each.sha256 for each in files}) > 1 and not _are_as_built(pin, files, observed):
        yield pin_check(
            pin,
            pins,
            f"copies of {family}",
            Status.FINDING,
            expected="one",
            found="one build, other bytes",
            rank=Rank.FILE,
            file=listed,
            how="build ids and sha256",
            cause="code and data are the same: search paths or symbols were rewritten, as patchelf and strip do",
        )


def allowed_files(component: Component, target: Target, observed: Observed) -> set[str]:
    """Files that pins.yaml allows beside the one that processes map; what they say of themselves says nothing of it."""
    allowed: set[str] = set()
    for family in component.families:
        files = [each for each in observed.libraries if each.family == family]
        taken = {each.path for _, each in observed.mapped(family)}
        if taken and _allowance(family, files, target):
            others = [each for each in files if not taken.intersection((each.path, *each.names))]
            allowed.update(name for each in others for name in (each.path, *each.names))
    return allowed


def _allowance(family: str, files: list[Library], target: Target) -> str | None:
    return next((why for name, why in target.allow_copies.items() if _names_family(name, family, files)), None)


def _are_as_built(pin: Pin, files: list[Library], observed: Observed) -> bool:
    """Whether the build recorded all these files: it gives each tree a copy with the tree's own search path."""
    record = record_of(pin, observed)
    return record is not None and all(is_recorded(record, each.path, each) for each in files)


def _names_family(name: str, family: str, files: list[Library]) -> bool:
    return name == family or any(name in (each.soname, *each.names, *each.links) for each in files)


def _copies_cause(files: list[Library], taken: set[str]) -> str:
    others = [each.path for each in files if each.path not in taken]
    return (
        f"a second, different copy lies in {others[0].rpartition('/')[0] or '/'}" if others else "processes load both"
    )


def with_cause(check: Check, component: Component, observed: Observed) -> Check:
    """A failed check of a mapped file, with the reason why the loader takes that file where there are others."""
    if check.status is not Status.FAILED or check.rank is not Rank.MAPPED:
        return check
    for family in component.libraries:
        kinds = {each.identity for each in observed.libraries if each.family == family and not each.error}
        for load, mapped in observed.mapped(family):
            if mapped.path == check.file and len(kinds) > 1:
                return replace(check, cause=why_taken(observed, mapped.path, load.what))
    return check


def why_taken(observed: Observed, path: str, consumer: str) -> str:
    """The likely reason why the loader takes a file: the search path that leads to its folder."""
    # Of a folder that a search path names, the loader prefers the subdirectory for the processor.
    folder = re.sub(r"/glibc-hwcaps/[^/]+$", "", path.rpartition("/")[0])
    preloaded = why_preloaded(observed, path)
    if preloaded:
        return preloaded
    for user in (user for load in observed.loads if load.what == consumer for user in load.users):
        kind = "RPATH" if user["rpath"] else "RUNPATH"
        if leads_to(user[kind.lower()], user["path"], folder):
            beats = ", which beats LD_LIBRARY_PATH" if kind == "RPATH" else ""
            return f"the {kind} of {user['path']} leads to {folder}{beats}"
    if folder in map(posixpath.normpath, filter(None, search_path_parts(observed.env.get("LD_LIBRARY_PATH", "")))):
        return f"LD_LIBRARY_PATH puts {folder} first"
    return f"the loader finds {folder} first: ld.so.conf, or a link that ldconfig made"


def leads_to(search_path: str, user: str, folder: str) -> bool:
    """Whether a search path, with $ORIGIN as the folder of its user, has ``folder`` among its elements."""
    origin = user.rpartition("/")[0]
    parts = search_path.replace("${ORIGIN}", origin).replace("$ORIGIN", origin).split(":")
    return any(posixpath.normpath(part) == folder for part in parts if part)
