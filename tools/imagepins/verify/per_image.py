"""A target and what an image showed → checks that belong to no single pin: loads, ENV, architectures, gates, GPUs."""

import re
from collections.abc import Iterable, Iterator, Mapping

from imagepins.pins.model import Gate, Pin, PinSet, PypiPin, Target
from imagepins.verify.claims import component_of, gather
from imagepins.verify.findings import Aspect, Check, Rank, Status
from imagepins.verify.observed import Library, Observed
from imagepins.verify.probes import used_distributions


def check_image(target: Target, pins: PinSet, observed: Observed) -> Iterator[Check]:
    """All checks of the image as a whole, GPU checks left out."""
    yield from _platform(target, observed)
    yield from _loads(target, pins, observed)
    yield from _env(target, pins, observed)
    yield from _search_path(observed)
    yield from _archs(target, pins, observed)
    yield from _modules(target, pins, observed)
    yield from _conflicts(target, observed)
    yield from _gates(target, pins, observed)
    for error in observed.errors:
        yield Check(name="collector", subject="collector", status=Status.FAILED, expected="complete", found=error)


def check_gpu(target: Target, observed: Observed, *, is_asked: bool, is_required: bool) -> Check:
    """The HIP runtime must see devices; without --gpu this is skipped, and --require-gpu makes a skip a failure."""
    name, subject = "gpu devices", "gpu"
    if not is_asked:
        status = Status.FAILED if is_required else Status.SKIPPED
        return Check(name=name, subject=subject, status=status, cause="no devices were passed through; run with --gpu")
    answers = [load.devices for load in observed.loads if load.devices]
    counts = [answer["count"] for answer in answers if answer["code"] == 0]
    if counts and max(counts) > 0:
        found = f"{max(counts)} devices"
        return Check(
            name=name, subject=subject, status=Status.PASSED, found=found, rank=Rank.MAPPED, how="hipGetDeviceCount"
        )
    status = Status.FAILED if is_required else Status.SKIPPED
    return Check(name=name, subject=subject, status=status, found="none", cause="the HIP runtime sees no device here")


def found_versions(target: Target, observed: Observed) -> Mapping[str, str | None]:
    """Version of each component as the best evidence has it: what a process maps, or a package's files."""
    versions: dict[str, str | None] = {}
    for pin in target.all_pins.values():
        component = component_of(pin)
        if component is None:
            continue
        claims = [claim for claim in gather(pin, observed) if claim.aspect is Aspect.VERSION and claim.value]
        best = claims[0] if claims and claims[0].rank is not Rank.STATED else None
        versions[component.name] = best.value if best else None
    return versions


def _platform(target: Target, observed: Observed) -> Iterator[Check]:
    found = observed.image.platform
    if found and not same_platform(target.platform, found):
        yield Check(
            name="platform",
            subject="image",
            status=Status.FAILED,
            expected=target.platform,
            found=found,
            how="image configuration",
            cause="an image of another platform bears this tag",
        )


def same_platform(expected: str, found: str) -> bool:
    """Whether two platforms are the same as far as ``expected`` goes (linux/arm64 takes linux/arm64/v8)."""
    wanted, actual = expected.split("/"), found.split("/")
    return actual[: len(wanted)] == wanted


def _loads(target: Target, pins: PinSet, observed: Observed) -> Iterator[Check]:
    places = {str(load): pins.place(load) for load in target.loads}
    for load in observed.loads:
        if load.is_implied and not load.error:
            continue
        files: dict[str, set[tuple[int, int]]] = {}
        for each in load.mapped:
            files.setdefault(each.family, set()).add((each.device, each.inode))
        double = [family for family, inodes in files.items() if len(inodes) > 1]
        yield Check(
            name=f"load {load.what}",
            subject="loads",
            status=Status.FAILED if load.error or double else Status.PASSED,
            expected="loads",
            found=load.error or (f"two files of {double[0]} in one process" if double else "loads"),
            rank=Rank.MAPPED,
            file="; ".join(each.path for each in load.mapped if each.family in double) if double else "",
            how="dlopen" if "import" not in load.what else "import",
            place=places.get(load.what, ""),
            cause=_load_cause(load.error, is_late=load.is_late),
        )


def _load_cause(error: str, *, is_late: bool) -> str:
    if is_late:
        return "it hangs, for example in a constructor or while it looks for devices"
    if "undefined symbol" in error:
        return "built against other versions of its libraries than the image has"
    if "cannot open shared object" in error:
        return "the library, or one that it needs, is not where the loader looks"
    if "killed by signal" in error:
        return "it crashes while it loads"
    return "it cannot be loaded as the served program loads it" if error else ""


def _env(target: Target, pins: PinSet, observed: Observed) -> Iterator[Check]:
    for name, var in target.all_env.items():
        found = observed.image.env.get(name, observed.env.get(name))
        is_right = found is not None and env_pattern(var.value).fullmatch(found) is not None
        cause = "" if is_right else "not in the image's ENV" if found is None else "a later ENV or parent replaced it"
        yield Check(
            name=f"env {name}",
            subject="env",
            status=Status.PASSED if is_right else Status.FAILED,
            expected=var.value,
            found="not set" if found is None else found,
            how="ENV of the image",
            place=pins.place(var.value),
            cause=cause,
        )
    # A value whose condition does not hold must not be left over from an older build either.
    for name in {var.name for var in target.env_vars if var.when is not None} - set(target.all_env):
        found = observed.image.env.get(name)
        if found is not None:
            var = next(each for each in target.env_vars if each.name == name)
            yield Check(
                name=f"env {name}",
                subject="env",
                status=Status.FAILED,
                expected="not set",
                found=found,
                how="ENV of the image",
                place=pins.place(var.value),
                cause=f"its condition '{var.when.text if var.when else ''}' does not hold for these pins",
            )


def env_pattern(value: str) -> re.Pattern[str]:
    """A value of ENV with references to other variables → pattern of what it can have become."""
    parts = re.split(r"\$(?:\{[^}]*\}|\w+)", value)
    return re.compile(".*".join(map(re.escape, parts)), re.DOTALL)


def _search_path(observed: Observed) -> Iterator[Check]:
    value = observed.image.env.get("LD_LIBRARY_PATH", observed.env.get("LD_LIBRARY_PATH"))
    if value is None:
        return
    faults = list(search_path_faults(value))
    yield Check(
        name="LD_LIBRARY_PATH",
        subject="env",
        status=Status.FAILED if faults else Status.PASSED,
        expected="absolute folders, each once",
        found="; ".join(faults) or value,
        how="ENV of the image",
        cause="an empty or relative element makes the loader look in the working directory" if faults else "",
    )


def search_path_faults(value: str) -> Iterator[str]:
    """What is wrong with a search path: empty, relative and repeated elements."""
    seen: set[str] = set()
    for part in value.split(":"):
        if not part:
            yield "an empty element"
        elif not part.startswith("/"):
            yield f"relative element {part}"
        elif part.rstrip("/") in seen:
            yield f"{part} twice"
        seen.add(part.rstrip("/"))


def _archs(target: Target, pins: PinSet, observed: Observed) -> Iterator[Check]:
    """Promised architectures must be in every pinned library; other files may lack some, but not all of them."""
    promised = [str(arch) for arch in target.archs]
    if not promised:
        return
    place = pins.place(target.archs[0])
    families = {family for pin in target.all_pins.values() for family in _families(pin)}
    pinned = [each for each in observed.libraries if each.family in families and (each.archs or each.hidden)]
    known = {path for each in pinned for path in (each.path, *each.names)}
    for library in (*pinned, *(each for each in observed.objects if each.path not in known)):
        is_pinned = library in pinned
        missing = [arch for arch in promised if arch not in library.archs]
        if library.hidden and missing:
            yield _arch_check(library, Status.UNPROVEN, promised, place, f"hidden ({', '.join(library.hidden)})", "")
        elif missing and (is_pinned or len(missing) == len(promised)):
            cause = "the list did not reach the compiler: another variable name, or cut at a semicolon"
            yield _arch_check(library, Status.FAILED, promised, place, " ".join(library.archs), cause)
        elif missing:
            cause = f"no code for {' '.join(missing)}"
            yield _arch_check(library, Status.FINDING, promised, place, " ".join(library.archs), cause)
        elif is_pinned:
            extra = [arch for arch in library.archs if arch not in promised]
            cause = f"more than promised: {' '.join(extra)}" if extra else ""
            yield _arch_check(library, Status.PASSED, promised, place, " ".join(library.archs), cause)


def _families(pin: Pin) -> Iterable[str]:
    component = component_of(pin)
    return component.families if component else ()


def _arch_check(library: Library, status: Status, promised: list[str], place: str, found: str, cause: str) -> Check:
    return Check(
        name=f"architectures of {library.path.rpartition('/')[2]}",
        subject="architectures",
        status=status,
        expected=" ".join(promised),
        found=found,
        rank=Rank.FILE,
        file=library.path,
        how="code objects",
        place=place,
        cause=cause,
    )


def _modules(target: Target, pins: PinSet, observed: Observed) -> Iterator[Check]:
    """An import must have one place to come from: an old copy may shadow an editable install."""
    for pin in target.all_pins.values():
        component = component_of(pin)
        for name in component.modules if component else ():
            module = observed.modules.get(name, {})
            candidates = module.get("candidates", [])
            if len(candidates) > 1:
                yield Check(
                    name=f"{pin.name} module {name}",
                    subject=pin.name,
                    status=Status.FAILED,
                    expected="one place to import from",
                    found=f"{len(candidates)}: {'; '.join(candidates)}",
                    rank=Rank.FILE,
                    file=module.get("taken", ""),
                    how="finders of the image's Python",
                    place=pins.place(pin.id or pin.name),
                    cause=f"an import takes {module.get('taken') or 'one of them'} and the others lie unused",
                )


def _conflicts(target: Target, observed: Observed) -> Iterator[Check]:
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
            if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
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


def _gates(target: Target, pins: PinSet, observed: Observed) -> Iterator[Check]:
    versions = found_versions(target, observed)
    for gate in target.gates:
        is_on = gate.when.holds_for(versions)
        required = next((each for each in target.require_gates if each == gate.name), None)
        read = ", ".join(f"{name} {versions.get(name) or 'unknown'}" for name in gate.when.names)
        yield Check(
            name=f"gate {gate.name}",
            subject="gates",
            status=Status.FAILED if required and not is_on else Status.PASSED,
            expected="on" if required else gate.when.text,
            found=f"{'on' if is_on else 'off'} ({read})",
            rank=Rank.MAPPED if all(versions.get(name) for name in gate.when.names) else None,
            how="versions found in the image",
            place=pins.place(required or gate.name),
            cause=f"'{gate.when.text}' does not hold" if required and not is_on else "",
        )
        yield from _gate_answer(gate, observed, pins, is_on=is_on)


def _gate_answer(gate: Gate, observed: Observed, pins: PinSet, *, is_on: bool) -> Iterator[Check]:
    """What the served program's own code says of the gate, as evidence of its own."""
    answer = observed.answers.get(gate.name)
    if answer is None:
        return
    expected = (gate.value or "1") if is_on else gate.otherwise
    found = answer.get("error") or str(answer.get("value"))
    yield Check(
        name=f"gate {gate.name} in the program",
        subject="gates",
        status=Status.PASSED if _number(found) == _number(expected) else Status.FAILED,
        expected=expected,
        found=found,
        rank=Rank.MAPPED,
        how=f"its own function, asked with {answer.get('argument')}",
        place=pins.place(gate.name),
        cause="" if _number(found) == _number(expected) else "the program decides otherwise than pins.yaml",
    )


def _number(text: str) -> int | str:
    try:
        return int(text, 0)
    except ValueError:
        return text
