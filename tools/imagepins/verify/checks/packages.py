"""Packages of the distribution and of Python: is the pinned version installed, and are its files still its own?"""

import re
from collections.abc import Iterator

from imagepins.pins.model import AptPin, Pin, PinSet, PypiPin, Target
from imagepins.verify.checks.libraries import why_taken
from imagepins.verify.checks.making import pin_check
from imagepins.verify.components import Component
from imagepins.verify.findings import Check, Rank, Status
from imagepins.verify.judge import versions_match
from imagepins.verify.observed import Distribution, Observed, Package
from imagepins.verify.probes import used_distributions


def check_apt(pin: AptPin, component: Component | None, pins: PinSet, observed: Observed) -> Iterator[Check]:
    """The package must be installed in that version, and processes must map its files."""
    found = [each for each in observed.packages if each.name == pin.apt]
    installed = next((each for each in found if each.is_installed), None)
    yield _apt_version(pin, pins, installed)
    if installed:
        yield from _apt_files(pin, pins, installed)
        yield from _apt_owner(pin, component, pins, installed, observed)


def _apt_version(pin: AptPin, pins: PinSet, installed: Package | None) -> Check:
    version = installed.version if installed else "not installed"
    is_right = installed is not None and apt_matches(pin.version, version)
    return pin_check(
        pin,
        pins,
        "package",
        Status.PASSED if is_right else Status.FAILED,
        expected=f"{pin.apt} {pin.version}",
        found=version,
        rank=Rank.PACKAGE,
        file="/var/lib/dpkg/status",
        how="dpkg",
        cause="" if is_right else _apt_cause(version),
    )


def _apt_files(pin: AptPin, pins: PinSet, installed: Package) -> Iterator[Check]:
    """Files of the package must be as it brought them."""
    if not installed.has_record:
        yield pin_check(
            pin,
            pins,
            "files",
            Status.UNPROVEN,
            expected="md5sums of its files",
            found="none",
            rank=Rank.PACKAGE,
            file=f"/var/lib/dpkg/info/{pin.apt}.md5sums",
            cause="without them nobody can tell whether the files are the package's",
        )
    if installed.changed:
        yield pin_check(
            pin,
            pins,
            "files",
            Status.FAILED,
            expected="as the package installed them",
            found=f"{len(installed.changed)} changed",
            rank=Rank.FILE,
            file=installed.changed[0],
            how=f"md5sums of {pin.apt}",
            cause="overwritten or removed after the package was installed",
        )


def _apt_owner(
    pin: AptPin, component: Component | None, pins: PinSet, installed: Package, observed: Observed
) -> Iterator[Check]:
    """What processes map of the component must be the package's."""
    families = component.libraries if component and installed.files else ()
    mapped = [(load, each) for family in families for load, each in observed.mapped(family)]
    for load, stranger in [(load, each) for load, each in mapped if each.path not in installed.files][:1]:
        yield pin_check(
            pin,
            pins,
            "owner",
            Status.FAILED,
            expected=f"a file of {pin.apt}",
            found=stranger.path,
            rank=Rank.MAPPED,
            file=stranger.path,
            how=f"mapped by '{load.what}'",
            cause=why_taken(observed, stranger.path, load.what),
        )


def apt_matches(expected: str, found: str) -> bool:
    """Whether a Debian version is the pinned one: whole, without its epoch, or its upstream part."""
    plain = found.partition(":")[2] if re.match(r"\d+:", found) else found
    return expected in (found, plain, plain.rpartition("-")[0] or plain)


def _apt_cause(version: str) -> str:
    if version == "not installed":
        return "the package was removed, or never installed"
    return "another version was installed: the image is older than the pin, or a later step upgraded the package"


def check_pypi(pin: PypiPin, pins: PinSet, observed: Observed) -> Iterator[Check]:
    """An import must take that version."""
    used = used_distributions(observed, (pin.pypi,))
    versions = sorted({each.version for each in used})
    is_right = bool(used) and all(versions_match(pin.version, version) for version in versions)
    yield pin_check(
        pin,
        pins,
        "package",
        Status.PASSED if is_right else Status.FAILED,
        expected=f"{pin.pypi} {pin.version}",
        found=" and ".join(versions) or "not installed",
        rank=Rank.PACKAGE,
        file=used[0].path if used else "",
        how="package metadata",
        cause="" if is_right else _pypi_cause(used),
    )


def check_files(pin: Pin, component: Component | None, pins: PinSet, observed: Observed) -> Iterator[Check]:
    """Files of the pin's Python packages must be as their wheels brought them, and be what an import takes."""
    names = (str(pin.pypi),) if isinstance(pin, PypiPin) else component.distributions if component else ()
    for each in used_distributions(observed, names):
        if not each.has_record:
            yield pin_check(
                pin,
                pins,
                "files",
                Status.UNPROVEN,
                expected="a RECORD of its files",
                found="none",
                rank=Rank.PACKAGE,
                file=f"{each.path}/RECORD",
                cause="without it nobody can tell whether the files are the wheel's: removed, or not installed by pip",
            )
        if each.shadowed:
            yield _shadowed(pin, pins, each, observed)
        if each.changed:
            yield pin_check(
                pin,
                pins,
                "files",
                Status.FAILED,
                expected="as the wheel installed them",
                found=f"{len(each.changed)} changed",
                rank=Rank.FILE,
                file=each.changed[0],
                how=f"{each.path}/RECORD",
                cause="overwritten after the package was installed",
            )


def _shadowed(pin: Pin, pins: PinSet, installed: Distribution, observed: Observed) -> Check:
    path = installed.shadowed[0]
    folders = filter(None, observed.env.get("PYTHONPATH", "").split(":"))
    is_asked = any(path.startswith(f"{folder}/") for folder in folders)
    return pin_check(
        pin,
        pins,
        "import",
        Status.FAILED,
        expected=f"modules of {installed.path.rpartition('/')[0]}",
        found=path,
        rank=Rank.FILE,
        file=path,
        how="search path of the image's Python",
        cause=f"{'PYTHONPATH puts it' if is_asked else 'it lies'} before the package that is installed",
    )


def _pypi_cause(used: list[Distribution]) -> str:
    if not used:
        return "the package was removed, or never installed for the image's Python"
    if len(used) > 1:
        return f"{len(used)} metadata folders of one package: an older one was left behind"
    by = f" by {used[0].installer}" if used[0].installer else ""
    origin = f" from {used[0].origin}" if used[0].origin else ""
    return f"installed{by}{origin}; a later step replaced the pinned package"


def check_conflicts(target: Target, observed: Observed) -> Iterator[Check]:
    """Pinned Python packages must not need other versions of one another than the image has."""
    names = [str(pin.pypi) for pin in target.all_pins.values() if isinstance(pin, PypiPin)]
    if not names:
        return
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name

    used = {canonicalize_name(name): used_distributions(observed, (name,)) for name in names}
    for holder in (each for found in used.values() for each in found):
        for need in holder.needs:
            try:
                requirement = Requirement(need)
            except InvalidRequirement:
                continue
            if requirement.marker and not requirement.marker.evaluate(_environment(observed)):
                continue
            for other in used.get(canonicalize_name(requirement.name), ()):
                if not requirement.specifier.contains(other.version, prereleases=True):
                    yield Check(
                        name=f"{holder.name} needs {requirement.name}",
                        subject=holder.name,
                        status=Status.FAILED,
                        expected=need,
                        found=other.version,
                        rank=Rank.PACKAGE,
                        file=other.path,
                        how="package metadata",
                        cause="two pins that do not fit each other, or a step that installed without dependencies",
                    )


def _environment(observed: Observed) -> dict[str, str]:
    """What markers of requirements (PEP 508) read, of the image and not of the Python that runs here."""
    python = str(observed.document.get("python", ""))
    architecture = observed.image.platform.partition("/")[2].partition("/")[0]
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(architecture, architecture)
    return {
        "python_version": ".".join(python.split(".")[:2]),
        "python_full_version": python,
        "extra": "",
        "sys_platform": "linux",
        "platform_system": "Linux",
        "os_name": "posix",
        "platform_machine": machine,
    }
