"""What was loaded, and from where Python would import: failures of their own, with their cause."""

from collections.abc import Iterator

from imagepins.pins.model import PinSet, Target
from imagepins.verify.checks.making import pin_check
from imagepins.verify.components import component_of
from imagepins.verify.findings import Check, Rank, Status
from imagepins.verify.observed import Observed


def check_loads(target: Target, pins: PinSet, observed: Observed) -> Iterator[Check]:
    """Each thing that was loaded must load, without a second file of one family in the process."""
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


def check_modules(target: Target, pins: PinSet, observed: Observed) -> Iterator[Check]:
    """An import must have one place to come from: an old copy may shadow an editable install."""
    if observed.modules_error:
        yield Check(
            name="python",
            subject="loads",
            status=Status.FAILED,
            expected="starts",
            found=observed.modules_error,
            how="the image's Python with its own site and environment",
            cause="sitecustomize, a .pth file, PYTHONHOME or the like ends it, as it would end the served program",
        )
    for pin in target.all_pins.values():
        component = component_of(pin)
        for name in component.modules if component else ():
            module = observed.modules.get(name, {})
            if module.get("error"):
                yield pin_check(
                    pin,
                    pins,
                    f"module {name}",
                    Status.UNPROVEN,
                    expected="a place to import from",
                    found=module["error"],
                    rank=Rank.FILE,
                    cause="the finder of an editable install failed, or whatever else looks for modules",
                )
            taken, candidates = module.get("taken", ""), module.get("candidates", [])
            if len(candidates) > 1:
                yield pin_check(
                    pin,
                    pins,
                    f"module {name}",
                    Status.FAILED,
                    expected="one place to import from",
                    found=f"{len(candidates)}: {'; '.join(candidates)}",
                    rank=Rank.FILE,
                    file=taken,
                    how="finders of the image's Python",
                    cause=f"an import takes {taken or 'one of them'} and the others lie unused",
                )
