"""Gates: features that exist from some version on, read off what a process loads; and what the program decides."""

from collections.abc import Iterator, Mapping

from imagepins.pins.model import Gate, PinSet, Target
from imagepins.verify.claims import gather
from imagepins.verify.components import component_of
from imagepins.verify.findings import Aspect, Check, Rank, Status
from imagepins.verify.observed import Observed


def check_gates(target: Target, pins: PinSet, observed: Observed) -> Iterator[Check]:
    """Whether each gate is on in this image; a required one must be."""
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
