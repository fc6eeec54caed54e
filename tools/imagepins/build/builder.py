"""Name of a builder → whether it answers, and what it can see."""

import re
from dataclasses import dataclass

from imagepins.engine.usable import require_engine
from imagepins.errors import EngineError
from imagepins.process import ProcessFailed, run

CHECK_SECONDS = 30.0


@dataclass(frozen=True)
class Builder:
    """A builder that answered. Only the ``docker`` driver sees the local engine's images."""

    name: str
    driver: str

    @property
    def sees_local_images(self) -> bool:
        """Whether a local tag can stand for a parent image."""
        return self.driver == "docker"


def check_builder(name: str | None) -> Builder:
    """The builder, after it answered within CHECK_SECONDS. Raises EngineError with the reason otherwise."""
    require_engine()
    shown = name or "the default builder"
    argv = ["docker", "buildx", "inspect", "--bootstrap", *([name] if name else [])]
    try:
        done = run(argv, timeout=CHECK_SECONDS, check=False)
    except ProcessFailed as error:
        raise EngineError(f"{shown}: {error.reason}; choose another with --builder (docker buildx ls)") from error
    if done.code != 0:
        raise EngineError(f"{shown}: {done.stderr.strip()}; choose another with --builder (docker buildx ls)")
    found = dict(re.findall(r"^(Name|Driver|Status|Error): +(.*)$", done.stdout, re.MULTILINE))
    if found.get("Status") != "running":
        state = found.get("Error") or found.get("Status") or "it says nothing of its state"
        raise EngineError(f"{shown} is not running: {state}; choose another with --builder (docker buildx ls)")
    return Builder(name or "", found.get("Driver", ""))
