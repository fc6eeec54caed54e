"""One pin and what an image showed → all checks of that pin."""

from collections.abc import Iterator

from imagepins.pins.model import AptPin, ImagePin, Pin, PinSet, PypiPin, Target, UrlPin
from imagepins.verify.checks.libraries import (
    allowed_files,
    check_copies,
    check_present,
    check_provider,
    check_record,
    with_cause,
)
from imagepins.verify.checks.making import pin_check
from imagepins.verify.checks.packages import check_apt, check_files, check_pypi
from imagepins.verify.claims import gather, record_of
from imagepins.verify.components import component_of
from imagepins.verify.findings import Check, Rank, Status
from imagepins.verify.judge import judge
from imagepins.verify.observed import Observed

LAYERS = "layers of the image"
TAG_MOVED = "the tag names another base than when the image was built"


def check_pin(pin: Pin, target: Target, pins: PinSet, observed: Observed) -> Iterator[Check]:
    """All checks of one pin."""
    component = component_of(pin)
    if not pin.is_complete:
        cause = f"nobody knows its id yet; run tools/bump_pin {pin.name}"
        yield pin_check(pin, pins, "pin", Status.UNPROVEN, expected="an id", found="none", cause=cause)
        return
    if isinstance(pin, ImagePin):
        yield check_base(pin, target, pins, observed)
        return
    if isinstance(pin, UrlPin) and record_of(pin, observed) is None:
        yield check_download(pin, pins, observed)
    if component and component.libraries and not isinstance(pin, PypiPin):
        yield from check_present(pin, component, pins, observed)
        yield from check_provider(pin, component, pins, observed)
    allowed = allowed_files(component, target, observed) if component else set()
    for check in judge(pin, pins, [claim for claim in gather(pin, observed) if claim.file not in allowed]):
        yield with_cause(check, component, observed) if component else check
    if isinstance(pin, AptPin):
        yield from check_apt(pin, component, pins, observed)
    if isinstance(pin, PypiPin):
        yield from check_pypi(pin, pins, observed)
    yield from check_files(pin, component, pins, observed)
    yield from check_record(pin, component, pins, observed)
    for family in component.families if component else ():
        yield from check_copies(pin, family, target, pins, observed)


def check_base(pin: ImagePin, target: Target, pins: PinSet, observed: Observed) -> Check:
    """The image must begin with the layers of its base, where the base is here to compare with."""
    if not _layers(pin, observed):
        cause = "the base is not on this engine, so its layers cannot be compared"
        return pin_check(pin, pins, "base", Status.UNPROVEN, expected=pin.value, found="not here", cause=cause)
    if _is_base(pin, observed):
        origin = observed.image.bases[pin.value].get("origin", "unknown")
        found = f"its {len(_layers(pin, observed))} layers ({origin})"
        return pin_check(pin, pins, "base", Status.PASSED, expected=pin.value, found=found, rank=Rank.FILE, how=LAYERS)
    others = [each for each in target.all_pins.values() if isinstance(each, ImagePin) and _is_base(each, observed)]
    status, found, cause = _moved(pin, others)
    return pin_check(
        pin, pins, "base", status, expected=pin.value, found=found, rank=Rank.FILE, how=LAYERS, cause=cause
    )


def _moved(pin: ImagePin, others: list[ImagePin]) -> tuple[Status, str, str]:
    """Status, found and cause for an image that does not begin with the layers of this base."""
    if others:
        cause = "built on another; what is copied out of an image leaves no trace of it"
        return Status.UNPROVEN, f"the layers of {others[0].value}", cause
    if pin.digest is None:
        # A tag alone is no promise of bytes, so what it names now cannot convict an older image.
        return Status.FINDING, "other layers", f"{TAG_MOVED}; build it again with --force"
    return Status.FAILED, "other layers", "built on other layers than the pinned ones"


def _layers(pin: ImagePin, observed: Observed) -> list[str]:
    return list(observed.image.bases.get(pin.value, {}).get("layers", ()))


def _is_base(pin: ImagePin, observed: Observed) -> bool:
    layers = _layers(pin, observed)
    return bool(layers) and observed.image.layers[: len(layers)] == layers


def check_download(pin: UrlPin, pins: PinSet, observed: Observed) -> Check:
    """A downloaded program must be the one that was pinned; of an archive only its build record can tell."""
    same = next((each for each in observed.programs if each.name == pin.name and each.sha256 == pin.sha256), None)
    if same:
        return pin_check(
            pin,
            pins,
            "file",
            Status.PASSED,
            expected=str(pin.sha256),
            found=same.sha256,
            rank=Rank.FILE,
            file=same.path,
            how="sha256",
        )
    cause = "no program of this name has this checksum: an archive, or a file that does not stay"
    return pin_check(pin, pins, "file", Status.UNPROVEN, expected=str(pin.sha256), found="unknown", cause=cause)
