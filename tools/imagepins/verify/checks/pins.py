"""One pin and what an image showed → all checks of that pin."""

from collections.abc import Iterator

from imagepins.pins.model import AptPin, ImagePin, Pin, PinSet, PypiPin, Target
from imagepins.verify.checks.libraries import check_copies, check_present, check_record, with_cause
from imagepins.verify.checks.making import pin_check
from imagepins.verify.checks.packages import check_apt, check_pypi
from imagepins.verify.claims import component_of, gather
from imagepins.verify.findings import Check, Rank, Status
from imagepins.verify.judge import judge
from imagepins.verify.observed import Observed


def check_pin(pin: Pin, target: Target, pins: PinSet, observed: Observed) -> Iterator[Check]:
    """All checks of one pin."""
    component = component_of(pin)
    if isinstance(pin, ImagePin):
        yield check_base(pin, pins, observed)
        return
    if component and component.libraries and not isinstance(pin, PypiPin):
        yield from check_present(pin, component, pins, observed)
    for check in judge(pin, pins, gather(pin, observed)):
        yield with_cause(check, component, observed) if component else check
    if isinstance(pin, AptPin):
        yield from check_apt(pin, component, pins, observed)
    if isinstance(pin, PypiPin):
        yield from check_pypi(pin, pins, observed)
    yield from check_record(pin, component, pins, observed)
    for family in component.families if component else ():
        yield from check_copies(pin, family, target, pins, observed)


def check_base(pin: ImagePin, pins: PinSet, observed: Observed) -> Check:
    """The image must begin with the layers of its base, where the base is here to compare with."""
    facts = observed.image.bases.get(pin.value, {})
    layers = list(facts.get("layers", ()))
    origin = str(facts.get("origin", ""))
    if not layers:
        return pin_check(
            pin,
            pins,
            "base",
            Status.UNPROVEN,
            expected=pin.value,
            found="not here",
            cause="the base is not here to compare",
        )
    is_base = observed.image.layers[: len(layers)] == layers
    return pin_check(
        pin,
        pins,
        "base",
        Status.PASSED if is_base else Status.FAILED,
        expected=pin.value,
        found=f"its {len(layers)} layers ({origin})" if is_base else "other layers",
        rank=Rank.FILE,
        how="layers of the image",
        cause="" if is_base else "the base has moved since the image was built",
    )
