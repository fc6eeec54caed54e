"""One pin and what an image showed → its checks beyond version and commit: package, record, loads, copies."""

import posixpath
import re
from collections.abc import Iterator

from imagepins.pins.model import AptPin, ImagePin, Pin, PinSet, PypiPin, Target
from imagepins.verify.claims import changed, component_of, gather, record_has, record_of
from imagepins.verify.components import Component
from imagepins.verify.findings import Check, Rank, Status
from imagepins.verify.judge import judge, versions_match
from imagepins.verify.observed import Distribution, Library, Observed
from imagepins.verify.probes import used_distributions


def check_pin(pin: Pin, target: Target, pins: PinSet, observed: Observed) -> Iterator[Check]:
    """All checks of one pin."""
    component = component_of(pin)
    if isinstance(pin, ImagePin):
        yield _base(pin, pins, observed)
        return
    if component and component.libraries and not isinstance(pin, PypiPin):
        yield from _present(pin, component, pins, observed)
    yield from judge(pin, pins, gather(pin, observed))
    if isinstance(pin, AptPin):
        yield from _apt(pin, component, pins, observed)
    if isinstance(pin, PypiPin):
        yield from _pypi(pin, pins, observed)
    yield from _record(pin, component, pins, observed)
    for family in component.families if component else ():
        yield from _copies(pin, family, target, pins, observed)


def _check(pin: Pin, name: str, status: Status, pins: PinSet, **values: object) -> Check:
    value = pin.id or pin.name
    return Check(name=f"{pin.name} {name}", subject=pin.name, status=status, place=pins.place(value), **values)  # type: ignore[arg-type]


def _present(pin: Pin, component: Component, pins: PinSet, observed: Observed) -> Iterator[Check]:
    """The library must be there, and something must be able to load it."""
    for family in component.libraries:
        files = [each for each in observed.libraries if each.family == family]
        usable = [each for each in files if not each.error]
        if not usable:
            cause = f"{files[0].path}: {files[0].error}" if files else "removed, or never installed"
            where = files[0].path if files else ""
            yield _check(
                pin,
                "library",
                Status.FAILED,
                pins,
                expected=family,
                found="none",
                rank=Rank.FILE,
                file=where,
                cause=cause,
            )
        elif not observed.mapped(family):
            errors = [load.error for load in observed.loads if load.error and load.is_implied] or ["nothing loads it"]
            yield _check(
                pin,
                "library",
                Status.FAILED,
                pins,
                expected=f"{family} loads",
                found="does not load",
                rank=Rank.FILE,
                file=usable[0].path,
                cause=errors[0],
            )


def _apt(pin: AptPin, component: Component | None, pins: PinSet, observed: Observed) -> Iterator[Check]:
    found = [each for each in observed.packages if each.name == pin.apt]
    installed = next((each for each in found if each.is_installed), None)
    version = installed.version if installed else "not installed"
    is_right = installed is not None and apt_matches(pin.version, version)
    yield _check(
        pin,
        "package",
        Status.PASSED if is_right else Status.FAILED,
        pins,
        expected=f"{pin.apt} {pin.version}",
        found=version,
        rank=Rank.PACKAGE,
        file="/var/lib/dpkg/status",
        how="dpkg",
        cause="" if is_right else _apt_cause(version),
    )
    strangers = [
        (load, each)
        for family in (component.libraries if component else ())
        for load, each in observed.mapped(family)
        if installed and installed.files and each.path not in installed.files
    ]
    if strangers:
        load, mapped = strangers[0]
        yield _check(
            pin,
            "owner",
            Status.FAILED,
            pins,
            expected=f"a file of {pin.apt}",
            found=mapped.path,
            rank=Rank.MAPPED,
            file=mapped.path,
            how=f"mapped by '{load.what}'",
            cause=why_taken(observed, mapped.path, load.what),
        )


def apt_matches(expected: str, found: str) -> bool:
    """Whether a Debian version is the pinned one: whole, without its epoch, or its upstream part."""
    plain = found.partition(":")[2] if re.match(r"\d+:", found) else found
    return expected in (found, plain, plain.rpartition("-")[0] or plain)


def _apt_cause(version: str) -> str:
    if version == "not installed":
        return "the package was removed, or never installed"
    return "another version was installed: the image is older than the pin, or a later step upgraded the package"


def _pypi(pin: PypiPin, pins: PinSet, observed: Observed) -> Iterator[Check]:
    used = used_distributions(observed, (pin.pypi,))
    versions = sorted({each.version for each in used})
    is_right = bool(used) and all(versions_match(pin.version, version) for version in versions)
    yield _check(
        pin,
        "package",
        Status.PASSED if is_right else Status.FAILED,
        pins,
        expected=f"{pin.pypi} {pin.version}",
        found=" and ".join(versions) or "not installed",
        rank=Rank.PACKAGE,
        file=used[0].path if used else "",
        how="package metadata",
        cause="" if is_right else _pypi_cause(used),
    )
    for each in used:
        if each.changed:
            yield _check(
                pin,
                "files",
                Status.FAILED,
                pins,
                expected="as the wheel installed them",
                found=f"{len(each.changed)} changed",
                rank=Rank.FILE,
                file=each.changed[0],
                how=f"{each.path}/RECORD",
                cause="overwritten after the package was installed",
            )


def _pypi_cause(used: list[Distribution]) -> str:
    if not used:
        return "the package was removed, or never installed for the image's Python"
    if len(used) > 1:
        return f"{len(used)} metadata folders of one package: an older one was left behind"
    by = f" by {used[0].installer}" if used[0].installer else ""
    origin = f" from {used[0].origin}" if used[0].origin else ""
    return f"installed{by}{origin}; a later step replaced the pinned package"


def _base(pin: ImagePin, pins: PinSet, observed: Observed) -> Check:
    """The image must begin with the layers of its base, where the base is here to compare with."""
    facts = observed.image.bases.get(pin.value, {})
    layers = list(facts.get("layers", ()))
    origin = str(facts.get("origin", ""))
    if not layers:
        return _check(
            pin,
            "base",
            Status.UNPROVEN,
            pins,
            expected=pin.value,
            found="not here",
            cause="the base is not here to compare",
        )
    is_base = observed.image.layers[: len(layers)] == layers
    return _check(
        pin,
        "base",
        Status.PASSED if is_base else Status.FAILED,
        pins,
        expected=pin.value,
        found=f"its {len(layers)} layers ({origin})" if is_base else "other layers",
        rank=Rank.FILE,
        how="layers of the image",
        cause="" if is_base else "the base has moved since the image was built",
    )


def _record(pin: Pin, component: Component | None, pins: PinSet, observed: Observed) -> Iterator[Check]:
    record = record_of(pin, observed)
    if record is None or not record.files:
        return
    differing = changed(record)
    loose = [
        each.path
        for family in (component.libraries if component else ())
        for _, each in observed.mapped(family)
        if not record_has(record, each.path)
    ]
    wrong = differing or loose
    yield _check(
        pin,
        "build record",
        Status.FAILED if wrong else Status.PASSED,
        pins,
        expected=f"{len(record.files)} files as built",
        found=f"{len(wrong)} not as built" if wrong else "all as built",
        rank=Rank.FILE,
        file=wrong[0] if wrong else record.path,
        how=record.path,
        cause="replaced after the build installed it"
        if differing
        else "a process maps a file that the build did not install"
        if loose
        else "",
    )


def _copies(pin: Pin, family: str, target: Target, pins: PinSet, observed: Observed) -> Iterator[Check]:
    files = [each for each in observed.libraries if each.family == family and not each.error]
    kinds = {each.identity for each in files}
    reason = next((why for name, why in target.allow_copies.items() if _names_family(name, family, files)), None)
    taken = {each.path for _, each in observed.mapped(family)}
    listed = "; ".join(f"{each.path}{' (loaded)' if each.path in taken else ''}" for each in files)
    if len(kinds) > 1:
        yield _check(
            pin,
            f"copies of {family}",
            Status.FINDING if reason else Status.FAILED,
            pins,
            expected="one",
            found=f"{len(kinds)} different",
            rank=Rank.FILE,
            file=listed,
            how="build ids and contents",
            cause=f"allowed: {reason}" if reason else _copies_cause(files, taken),
        )
    elif len({each.sha256 for each in files}) > 1:
        yield _check(
            pin,
            f"copies of {family}",
            Status.FINDING,
            pins,
            expected="one",
            found="one build, other bytes",
            rank=Rank.FILE,
            file=listed,
            how="build ids and sha256",
            cause="patched or stripped after the build",
        )


def _names_family(name: str, family: str, files: list[Library]) -> bool:
    return name == family or any(name in (each.soname, *each.names, *each.links) for each in files)


def _copies_cause(files: list[Library], taken: set[str]) -> str:
    others = [each.path for each in files if each.path not in taken]
    return (
        f"a second, different copy lies in {others[0].rpartition('/')[0] or '/'}" if others else "processes load both"
    )


def why_taken(observed: Observed, path: str, consumer: str) -> str:
    """The likely reason why the loader takes a file: the search path that leads to its folder."""
    folder = path.rpartition("/")[0]
    if path in observed.env.get("LD_PRELOAD", "").replace(":", " ").split():
        return "LD_PRELOAD names it"
    for user in (user for load in observed.loads if load.what == consumer for user in load.users):
        kind = "RPATH" if user["rpath"] else "RUNPATH"
        if leads_to(user[kind.lower()], user["path"], folder):
            beats = ", which beats LD_LIBRARY_PATH" if kind == "RPATH" else ""
            return f"the {kind} of {user['path']} leads to {folder}{beats}"
    if folder in observed.env.get("LD_LIBRARY_PATH", "").split(":"):
        return f"LD_LIBRARY_PATH puts {folder} first"
    return f"the loader finds {folder} first: ld.so.conf, or a link that ldconfig made"


def leads_to(search_path: str, user: str, folder: str) -> bool:
    """Whether a search path, with $ORIGIN as the folder of its user, has ``folder`` among its elements."""
    origin = user.rpartition("/")[0]
    parts = search_path.replace("${ORIGIN}", origin).replace("$ORIGIN", origin).split(":")
    return any(posixpath.normpath(part) == folder for part in parts if part)
