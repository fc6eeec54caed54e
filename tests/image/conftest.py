"""``pytest tests/image --image REF``: an image against pins.yaml. Without --image, debian_rocm is built first."""

from pathlib import Path

import pytest

from imagepins.errors import ImagePinsError, UsageError
from imagepins.pins.load import load
from imagepins.pins.model import PinSet, Target
from imagepins.verify.findings import Report
from imagepins.verify.keeper import Keeper
from imagepins.verify.run import Options, verify_target

REPOSITORY = Path(__file__).parents[2]
DEFAULT = "debian_rocm"
LABEL = "org.imagepins.target"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --image and --target."""
    parser.addoption("--image", metavar="REF", help="image to verify: a name of pins.yaml, or any reference")
    parser.addoption("--target", metavar="IMAGE", help="which image of pins.yaml REF is, where its label does not tell")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each pin of each target, or one for each target."""
    if "subject" not in metafunc.fixturenames:
        return
    ref = metafunc.config.getoption("--image", default=None)
    try:
        targets = find_targets(load(REPOSITORY / "pins.yaml"), ref, metafunc.config.getoption("--target", default=None))
    except ImagePinsError as error:
        raise pytest.UsageError(str(error)) from None
    if "pin_name" not in metafunc.fixturenames:
        rows = [pytest.param((target.name, ref), id=target.name) for target in targets]
        metafunc.parametrize("subject", rows, indirect=True, scope="session")
        return
    pairs = [
        pytest.param((target.name, ref), name, id=f"{target.name}-{name}")
        for target in targets
        for name in dict.fromkeys(str(pin.name) for pin in target.all_pins.values())
    ]
    metafunc.parametrize(("subject", "pin_name"), pairs, indirect=["subject"], scope="session")


def find_targets(pins: PinSet, ref: str | None, name: str | None) -> tuple[Target, ...]:
    """Targets that ``ref`` names: as told, by name, by tag, or by the label that the build wrote."""
    if name is not None:
        return pins.select((name,))
    if ref is None or ref in pins.targets or any(ref == each.image for each in pins.targets.values()):
        return pins.select((ref or DEFAULT,))
    tagged = tuple(each for each in pins.targets.values() if ref in each.tags)
    return tagged or (pins.targets[target_of_label(pins, ref)],)


def target_of_label(pins: PinSet, ref: str) -> str:
    """The target that an image says it is. Raises UsageError where it says none of pins.yaml."""
    from imagepins.verify.inspect import inspect

    name = inspect(ref).labels.get(LABEL, "")
    if name not in pins.targets:
        raise UsageError(f"{ref} does not say which image of pins.yaml it is (label {LABEL}: {name!r}); add --target")
    return name


@pytest.fixture(scope="session")
def subject(request: pytest.FixtureRequest) -> Report:
    """The report of one image, made once."""
    name, ref = request.param
    pins = load(REPOSITORY / "pins.yaml")
    target = pins.targets[name]
    if ref is None:
        ref = request.getfixturevalue("debian_rocm").ref
    is_reference = ref not in (target.name, target.image)
    with Keeper() as keeper:
        return verify_target(pins, target, Options(ref=ref if is_reference else None), keeper)
