"""GPU architectures: the code objects in the installed files against the promised list. Needs no GPU."""

from collections.abc import Iterable, Iterator

from imagepins.pins.archs import GENERIC
from imagepins.pins.model import Pin, PinSet, Target
from imagepins.verify.components import component_of
from imagepins.verify.findings import Check, Rank, Status
from imagepins.verify.observed import Library, Observed

HOW = {"named": "names in its strings; no code object was found", "split": "code objects in its .kpack files"}
NOT_COMPILED = "the list did not reach the compiler: another variable's name, or cut at a semicolon"
NOT_THERE = "its .kpack files do not hold them: not copied with the library, or of packages that are not installed"


def check_architectures(target: Target, pins: PinSet, observed: Observed) -> Iterator[Check]:
    """Promised architectures must be in every pinned library; other files may lack some, but not all of them."""
    promised = [str(arch) for arch in target.archs]
    if not promised:
        return
    place = pins.place(target.archs[0])
    families = {family for pin in target.all_pins.values() for family in _families(pin)}
    pinned = [each for each in observed.libraries if each.family in families and (each.archs or each.hidden)]
    known = {path for each in pinned for path in (each.path, *each.names)}
    others = [each for each in observed.objects if each.path not in known]
    for library, is_pinned in [*((each, True) for each in pinned), *((each, False) for each in others)]:
        answer = _judge(library, promised, is_pinned=is_pinned)
        if answer:
            status, cause = answer
            yield Check(
                name=f"architectures of {library.path.rpartition('/')[2]}",
                subject="architectures",
                status=status,
                expected=" ".join(promised),
                found=" ".join(library.archs) or _nothing(library),
                rank=Rank.FILE,
                file=library.path,
                how=next((how for word, how in HOW.items() if word in library.hidden), "code objects"),
                place=place,
                cause=cause,
            )


def _judge(library: Library, promised: list[str], *, is_pinned: bool) -> tuple[Status, str] | None:
    missing = [arch for arch in promised if not any(serves(found, arch) for found in library.archs)]
    if missing and set(library.hidden) - HOW.keys():
        return Status.UNPROVEN, "the code objects are compressed or lie in other files"
    if missing and (is_pinned or len(missing) == len(promised)):
        return Status.FAILED, NOT_THERE if "split" in library.hidden else NOT_COMPILED
    if missing:
        return Status.FINDING, f"no code for {' '.join(missing)}"
    extra = [found for found in library.archs if not any(serves(found, arch) for arch in promised)]
    return (Status.PASSED, f"more than promised: {' '.join(extra)}" if extra else "") if is_pinned else None


def serves(found: str, promised: str) -> bool:
    """Whether code runs on a promised architecture: that of no features does with any, the other with its own only."""
    base, *features = found.split(":")
    wanted, *asked = promised.split(":")
    return wanted in (base, *GENERIC.get(base, ())) and (not asked or set(features) <= set(asked))


def _nothing(library: Library) -> str:
    hidden = [word for word in library.hidden if word not in HOW]
    return f"hidden ({', '.join(hidden)})" if hidden else "none"


def _families(pin: Pin) -> Iterable[str]:
    component = component_of(pin)
    # HIP and ROCr name every architecture they know of and hold code for none.
    return component.libraries if component and component.has_kernels else ()
