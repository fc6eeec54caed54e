"""An image → what it was proven to hold, as it stands beside each of its benchmark results."""

from collections.abc import Mapping
from contextlib import closing
from typing import Any

from imagepins.engine.dockercli import image_facts
from imagepins.errors import RefError
from imagepins.pins.model import PinSet, Target
from imagepins.verify.findings import Report
from imagepins.verify.keeper import Keeper
from imagepins.verify.run import Options, verify_target


def prove(pinset: PinSet, target: Target, ref: str) -> tuple[Mapping[str, Any], str]:
    """What verify found in ``ref``, and, where that is not what pins.yaml says, one sentence about it.

    An image that does not verify is measured all the same: a base of a comparison is often built from older pins. Its
    records say so. Its ``image_id`` is what has to be measured: ``ref`` may name another image by then.
    Raises RefError where there is no such image, EngineError.
    """
    facts = image_facts(ref)
    if facts is None:
        raise RefError(f"{ref}: no such image here; build it with tools/image build, or docker pull it")
    with closing(Keeper()) as keeper:
        report = verify_target(pinset, target, Options(ref=facts["Id"]), keeper)
    names = {*map(str, target.all_pins), "gates"}
    found = {check.name: check.found for check in report.checks if check.subject in names}
    proof = {"image_id": facts["Id"], "verified": report.is_good(), "found": found}
    why = _why(report).replace(facts["Id"], ref)
    return proof, "" if report.is_good() else f"{ref} is not what pins.yaml says: {why}"


def _why(report: Report) -> str:
    if report.outcome != "checked":
        return report.message
    failed = [f"{check.name}: {check.found}" for check in report.checks if check.status == "failed"]
    return "; ".join(failed[:3]) + (f" and {len(failed) - 3} more" if len(failed) > 3 else "")
