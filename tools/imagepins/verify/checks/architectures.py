"""GPU architectures: the code objects in the installed files against the promised list. Needs no GPU."""

from collections.abc import Iterable, Iterator

from imagepins.pins.model import Pin, PinSet, Target
from imagepins.verify.components import component_of
from imagepins.verify.findings import Check, Rank, Status
from imagepins.verify.observed import Library, Observed

NAMED = "names in its strings; no code object was found"


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
                found=" ".join(library.archs) or f"hidden ({', '.join(library.hidden)})",
                rank=Rank.FILE,
                file=library.path,
                how=NAMED if "named" in library.hidden else "code objects",
                place=place,
                cause=cause,
            )


def _judge(library: Library, promised: list[str], *, is_pinned: bool) -> tuple[Status, str] | None:
    missing = [arch for arch in promised if arch not in library.archs]
    if missing and set(library.hidden) - {"named"}:
        return Status.UNPROVEN, "the code objects are compressed or lie in other files"
    if missing and (is_pinned or len(missing) == len(promised)):
        return Status.FAILED, "the list did not reach the compiler: another variable's name, or cut at a semicolon"
    if missing:
        return Status.FINDING, f"no code for {' '.join(missing)}"
    extra = [arch for arch in library.archs if arch not in promised]
    return (Status.PASSED, f"more than promised: {' '.join(extra)}" if extra else "") if is_pinned else None


def _families(pin: Pin) -> Iterable[str]:
    component = component_of(pin)
    # HIP and ROCr name every architecture they know of and hold code for none.
    return component.libraries if component and component.has_kernels else ()
