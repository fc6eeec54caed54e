"""Name of a builder → whether it answers, and what it can see."""

import re
from dataclasses import dataclass

from imagepins.engine.endpoint import find_endpoint
from imagepins.engine.usable import require_engine
from imagepins.errors import EngineError
from imagepins.process import ProcessFailed, run

CHECK_SECONDS = 120.0
"""How long a builder may take to be there: a pool in a cluster may have to start its pods first."""

_NO_PLUGIN = re.compile(r"'buildx' is not a docker command|unknown command: docker buildx|unknown flag: --bootstrap")
"""What docker clients of all ages say to ``buildx inspect --bootstrap`` without the plugin."""


@dataclass(frozen=True)
class Builder:
    """A builder that answered. ``is_elsewhere`` tells that it is the engine of another docker context."""

    name: str
    driver: str
    is_elsewhere: bool = False

    @property
    def sees_local_images(self) -> bool:
        """Whether a local tag can stand for a parent image: only the engine's own builder knows it."""
        return self.driver == "docker" and not self.is_elsewhere

    @property
    def argv(self) -> list[str]:
        """How ``docker buildx`` is called for this builder; another context's engine is reached through the context."""
        if self.is_elsewhere:
            return ["docker", "--context", self.name, "buildx"]
        return ["docker", "buildx", *(["--builder", self.name] if self.name else [])]


def check_builder(name: str | None) -> Builder:
    """The builder, after it answered within CHECK_SECONDS. Raises EngineError with the reason otherwise.

    A builder that is named may run anywhere; this machine then needs a docker client and no engine.
    """
    if name is None:
        require_engine()
    shown = name or "the default builder"
    argv = ["docker", "buildx", "inspect", "--bootstrap", *([name] if name else [])]
    try:
        done = run(argv, timeout=CHECK_SECONDS, check=False)
    except ProcessFailed as error:
        raise EngineError(f"{shown}: {error.reason}; choose another with --builder (docker buildx ls)") from error
    if done.code != 0 and _NO_PLUGIN.search(done.stderr):
        raise EngineError(
            "the docker client has no buildx plugin, and every build goes through it: run tools/engine up, "
            "which installs it on Debian and Ubuntu, or install docker-buildx"
        )
    if done.code != 0:
        raise EngineError(f"{shown}: {done.stderr.strip()}; choose another with --builder (docker buildx ls)")
    found = re.findall(r"^(Name|Driver|Status|Error): +(.*)$", done.stdout, re.MULTILINE)
    # A builder of several nodes works while one of them runs.
    if ("Status", "running") not in found:
        state = dict(found).get("Error") or dict(found).get("Status") or "it says nothing of its state"
        raise EngineError(f"{shown} is not running: {state}; choose another with --builder (docker buildx ls)")
    driver = dict(found).get("Driver", "")
    # The first name is the builder's, those below are its nodes'.
    full = next((value for key, value in found if key == "Name"), name or "")
    is_elsewhere = driver == "docker" and not _is_current(full)
    return Builder(full if is_elsewhere else name or "", driver, is_elsewhere=is_elsewhere)


def _is_current(name: str) -> bool:
    """Whether the builder of that name is the engine that the docker client speaks to."""
    chosen_by = find_endpoint().chosen_by
    if not name or chosen_by == f"context {name}":
        return True
    return name == "default" and not chosen_by.startswith("context")
