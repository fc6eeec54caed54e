"""A target and what an image showed → the checks that belong to no single pin."""

from collections.abc import Iterator

from imagepins.pins.model import PinSet, Target
from imagepins.verify.checks.architectures import check_architectures
from imagepins.verify.checks.complete import check_complete
from imagepins.verify.checks.environment import check_env, check_interposed, check_search_path
from imagepins.verify.checks.gates import check_gates
from imagepins.verify.checks.loads import check_loads, check_modules
from imagepins.verify.checks.packages import check_conflicts
from imagepins.verify.findings import Check, Rank, Status
from imagepins.verify.observed import Observed


def check_image(target: Target, pins: PinSet, observed: Observed) -> Iterator[Check]:
    """All checks of the image as a whole, GPU checks left out."""
    yield from _platform(target, observed)
    yield from check_loads(target, pins, observed)
    yield from check_env(target, pins, observed)
    yield from check_search_path(observed)
    yield from check_interposed(target, observed)
    yield from check_architectures(target, pins, observed)
    yield from check_modules(target, pins, observed)
    yield from check_conflicts(target, observed)
    yield from check_gates(target, pins, observed)
    yield from check_complete(target, observed)


def check_gpu(target: Target, observed: Observed, *, is_asked: bool, is_required: bool) -> Check:
    """The HIP runtime must see devices; without --gpu this is skipped, and --require-gpu makes a skip a failure."""
    name, subject = "gpu devices", "gpu"
    if not is_asked:
        status = Status.FAILED if is_required else Status.SKIPPED
        expected, found = ("a GPU", "not looked for") if is_required else ("", "")
        cause = "no devices were passed through; run with --gpu"
        return Check(name=name, subject=subject, status=status, expected=expected, found=found, cause=cause)
    answers = [load.devices for load in observed.loads if load.devices]
    counts = [answer["count"] for answer in answers if answer["code"] == 0]
    if counts and max(counts) > 0:
        found = f"{max(counts)} devices"
        return Check(
            name=name, subject=subject, status=Status.PASSED, found=found, rank=Rank.MAPPED, how="hipGetDeviceCount"
        )
    status = Status.FAILED if is_required else Status.SKIPPED
    return Check(
        name=name,
        subject=subject,
        status=status,
        expected="a GPU",
        found="none",
        cause="the HIP runtime sees no device here",
    )


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
