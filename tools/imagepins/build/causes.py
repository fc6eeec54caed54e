"""Final error of a build → its class: what to call it, whether trying again can help, and what to do.

Only the final error decides. A progress line that merely contains ``resolve image config for docker.io``, or a command
that prints ``503``, says nothing about why the build ended (ClickHouse/ClickHouse#108969).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

MAX_WAIT_SECONDS = 120.0


@dataclass(frozen=True)
class Cause:
    """Class of a failure. ``retries`` says how often another try may follow; ``alone`` with nothing beside it."""

    name: str
    hint: str = ""
    retries: int = 0
    alone: bool = False


STEP = Cause("step failed")
MEMORY = Cause("out of memory", "give the builder more memory, or lower MAX_JOBS; it was tried alone", 1, alone=True)
DISK = Cause("disk full", "free space on the builder (docker buildx du, docker system df) and build again")
PLATFORM = Cause("platform", "this builder cannot run that platform; use another --builder or install binfmt handlers")
OTHER = Cause("failed")

_RUN = re.compile(r"did not complete successfully: (?:exit code: (?P<code>\d+)|(?P<rest>.*))", re.DOTALL)
_KILLED = re.compile(
    r"Killed signal terminated program|std::bad_alloc|virtual memory exhausted|signal: killed|: Killed$"
)
_DISK = re.compile(r"no space left on device", re.IGNORECASE)
_FORMAT = re.compile(r"exec format error", re.IGNORECASE)
_RULES: tuple[tuple[re.Pattern[str], Cause], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), cause)
    for pattern, cause in (
        (r"no space left on device|disk quota exceeded", DISK),
        (r"exec format error|no match for platform|does not provide the specified platform", PLATFORM),
        (r"signal: killed|cannot allocate memory|exit code: 137", MEMORY),
        (r"additional privileges requested", Cause("not allowed", "the builder refuses what the build asks for")),
        (r"toomanyrequests|too many requests|\b429\b", Cause("rate limit", "the registry limits requests", 4)),
        (
            r"unauthorized|authentication required|\b401\b|\b403\b|denied|insufficient_scope",
            Cause("not authorised", "log in with docker login; credentials are never taken from pins.yaml"),
        ),
        (
            r"manifest unknown|not found|\b404\b|repository does not exist|failed to find",
            Cause("not there", "the registry has no such image; see the pin of the base"),
        ),
        (r"no such job", Cause("builder lost the build", "docker/buildx#3810; it was tried alone", 1, alone=True)),
        (
            r"code = Unavailable|error reading from server|closing transport|transport is closing|connection refused"
            r"|failed to list workers|Cannot connect to the Docker daemon",
            Cause("builder gone", "look at the builder: docker buildx inspect", 1),
        ),
        (
            r"TLS handshake timeout|connection reset by peer|i/o timeout|unexpected EOF|\bEOF$|broken pipe"
            r"|(?:status|response)[^\n]*\b5\d\d\b|\b50[0234] (?:internal|bad|service|gateway)"
            r"|temporary failure|server misbehaving|context deadline exceeded|connection timed out|no route to host",
            Cause("network", "the registry or network failed", 3),
        ),
        (r"no such host|network is unreachable", Cause("network", "the name does not resolve from the builder")),
        (r"parse error|unknown instruction|unknown flag|dockerfile|failed to compute cache key", Cause("Dockerfile")),
    )
)


def classify(final_error: str, tail: Iterable[str] = ()) -> Cause:
    """Class of ``final_error``; ``tail``, the failed step's last lines, only refines why a RUN failed."""
    run = _RUN.search(final_error)
    if run is None:
        return next((cause for pattern, cause in _RULES if pattern.search(final_error)), OTHER)
    if run["code"] is None:
        # The command never ran or was cut off: what the builder says counts, and not the command's own text.
        return next((cause for pattern, cause in _RULES if pattern.search(run["rest"])), STEP)
    lines = list(tail)[-10:]
    if run["code"] == "137" or any(_KILLED.search(line) for line in lines):
        return MEMORY
    if any(_DISK.search(line) for line in lines):
        return DISK
    return PLATFORM if any(_FORMAT.search(line) for line in lines) else STEP


def wait_seconds(final_error: str, attempt: int) -> float:
    """How long to wait before try number ``attempt`` + 1: what the registry asks for, else 2, 4, 8 ... seconds."""
    asked = re.search(
        r"(?:retry[- ]after|retry in|try again in)\D{0,3}(\d+(?:\.\d+)?)\s*(ms|m\b)?", final_error, re.IGNORECASE
    )
    if asked:
        unit = {"ms": 0.001, "m": 60.0}.get((asked[2] or "").lower(), 1.0)
        return min(float(asked[1]) * unit, MAX_WAIT_SECONDS)
    return min(2.0**attempt, MAX_WAIT_SECONDS)
