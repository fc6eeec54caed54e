"""Sides whose records say what image they were measured on → remarks about those images."""

from collections.abc import Mapping, Sequence

from imagepins.evidence.figures.sides import Side


def image_remarks(sides: Sequence[Side]) -> list[str]:
    """Images that did not verify, and what was found to differ between the image of the base and another one."""
    base, *others = sides
    doubtful = [
        f"{side.name}: {ref} was not proven to hold what pins.yaml says"
        for side in sides
        for ref in dict.fromkeys(str(proof.get("ref")) for proof in _proofs(side) if not proof.get("verified"))
    ]
    return doubtful + [remark for side in others for remark in _differences(base, side)]


def _differences(base: Side, other: Side) -> list[str]:
    one, two = _found(base), _found(other)
    differing = [name for name in one if name in two and one[name] != two[name]]
    return [f"{other.name}: {name} is {two[name]}, not {one[name]} as in {base.name}" for name in differing]


def _found(side: Side) -> dict[str, str]:
    found: dict[str, str] = {}
    for proof in _proofs(side):
        values = proof.get("found")
        found |= {str(name): str(value) for name, value in values.items()} if isinstance(values, Mapping) else {}
    return found


def _proofs(side: Side) -> list[Mapping[str, object]]:
    proofs = (run.fields.get("imagepins") for run in side.runs)
    return [proof for proof in proofs if isinstance(proof, Mapping)]
