"""ENV of the image: as rendered, with conditions, and a search path that leads nowhere by accident."""

import re
from collections.abc import Iterator

from imagepins.pins.model import PinSet, Target
from imagepins.verify.findings import Check, Status
from imagepins.verify.observed import Observed
from imagepins.verify.request import PRELOADED

INTERPOSES = re.compile(r"LD_PRELOAD|LD_AUDIT|(\w+_)?[NR]CCL_SO_PATH")


def check_env(target: Target, pins: PinSet, observed: Observed) -> Iterator[Check]:
    """Every value as rendered, and no value whose condition does not hold."""
    for name, var in target.all_env.items():
        found = observed.image.env.get(name, observed.env.get(name))
        is_right = found is not None and env_pattern(var.value).fullmatch(found) is not None
        cause = "" if is_right else "not in the image's ENV" if found is None else "a later ENV or parent replaced it"
        yield Check(
            name=f"env {name}",
            subject="env",
            status=Status.PASSED if is_right else Status.FAILED,
            expected=var.value,
            found="not set" if found is None else found,
            how="ENV of the image",
            place=pins.place(var.value),
            cause=cause,
        )
    # A value whose condition does not hold must not be left over from an older build either.
    for name in {var.name for var in target.env_vars if var.when is not None} - set(target.all_env):
        found = observed.image.env.get(name)
        if found is not None:
            var = next(each for each in target.env_vars if each.name == name)
            yield Check(
                name=f"env {name}",
                subject="env",
                status=Status.FAILED,
                expected="not set",
                found=found,
                how="ENV of the image",
                place=pins.place(var.value),
                cause=f"its condition '{var.when.text if var.when else ''}' does not hold for these pins",
            )


def env_pattern(value: str) -> re.Pattern[str]:
    """A value of ENV with references to other variables → pattern of what it can have become."""
    parts = re.split(r"\$(?:\{[^}]*\}|\w+)", value)
    return re.compile(".*".join(map(re.escape, parts)), re.DOTALL)


def check_interposed(target: Target, observed: Observed) -> Iterator[Check]:
    """What puts other code before the pinned libraries, unless pins.yaml asks for it."""
    values = {**observed.env, **observed.image.env}
    found = {name: value for name, value in values.items() if INTERPOSES.fullmatch(name) and name not in target.all_env}
    for name, value in {**found, PRELOADED: observed.texts.get(PRELOADED, "").strip()}.items():
        if value:
            yield Check(
                name=f"env {name}",
                subject="env",
                status=Status.FINDING,
                expected="not set",
                found=value,
                how="ENV of the image" if name in found else "file of the loader",
                cause="it puts other code before the pinned libraries, and pins.yaml does not ask for it",
            )


def check_search_path(observed: Observed) -> Iterator[Check]:
    value = observed.image.env.get("LD_LIBRARY_PATH", observed.env.get("LD_LIBRARY_PATH"))
    if value is None:
        return
    faults = list(search_path_faults(value))
    yield Check(
        name="LD_LIBRARY_PATH",
        subject="env",
        status=Status.FAILED if faults else Status.PASSED,
        expected="absolute folders, each once",
        found="; ".join(faults) or value,
        how="ENV of the image",
        cause="an empty or relative element makes the loader look in the working directory" if faults else "",
    )


def search_path_parts(value: str) -> list[str]:
    """Elements of LD_LIBRARY_PATH, which the loader takes apart at semicolons too."""
    return re.split("[:;]", value)


def search_path_faults(value: str) -> Iterator[str]:
    """What is wrong with a search path: empty, relative and repeated elements."""
    seen: set[str] = set()
    for part in search_path_parts(value):
        if not part:
            yield "an empty element"
        elif not part.startswith(("/", "$ORIGIN", "${ORIGIN}")):
            yield f"relative element {part}"
        elif part.rstrip("/") in seen:
            yield f"{part} twice"
        seen.add(part.rstrip("/"))
