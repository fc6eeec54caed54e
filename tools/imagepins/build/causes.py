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
INTERRUPTED = Cause("interrupted")

LIMITED = Cause("rate limit", "the registry limits requests", 4)
REFUSED = Cause("not authorised", "log in with docker login; credentials never come from pins.yaml")
NO_HELPER = Cause("no credentials", "install the credential helper that docker's config.json names, or remove it there")
MISSING = Cause("not there", "the registry has no such image; see the pin of the base")
LOST = Cause("builder lost the build", "it was tried again alone (docker/buildx#3810)", 1, alone=True)
RACE = Cause("tagged at the same time", "another build, of another tree, gave its image the same name just then", 2)
GONE = Cause("builder gone", "look at the builder with docker buildx inspect, or take another with --builder", 1)
NETWORK = Cause("network", "a registry or the network failed", 3)
NO_NAME = Cause("network", "the name does not resolve from the builder")
NOT_ALLOWED = Cause("not allowed", "the builder refuses what the build asks for")
DOCKERFILE = Cause("Dockerfile")

_RUN = re.compile(r"did not complete successfully: (?:exit code: (?P<code>\d+)|(?P<rest>.*))", re.DOTALL)
# What only a compiler or the kernel says, in the way they say it: it counts wherever it stands in the tail, as other
# jobs of make and ninja go on printing for a while.
_KILLED = (
    r"Killed signal terminated program|internal compiler error: Killed|unable to execute command: Killed"
    r"|what\(\): +std::bad_alloc|instance of 'std::bad_alloc'|LLVM ERROR: out of memory|virtual memory exhausted: "
)
_FULL = r"(?::|\[Errno 28\]) (?:No space left on device|Disk quota exceeded)\b"
# What may as well be a word that a command prints: it counts at the very end.
_KILLED_LAST = r"std::bad_alloc|virtual memory exhausted|signal: killed|: Killed$"
_DISK = r"no space left on device|disk quota exceeded"
_PLATFORM = r"exec format error|no match for platform|does not provide the specified platform"
_BUSY = (
    r"TLS handshake timeout|connection reset by peer|connection refused|i/o timeout|unexpected EOF|\bEOF$|broken pipe"
)
_SLOW = r"temporary failure|server misbehaving|context deadline exceeded|connection timed out|no route to host"


def _status(code: str, phrase: str) -> str:
    """A status as clients word it; the same digits in a name or a tag say nothing."""
    return rf"\b{code} {phrase}|status(?: code)?:? {code}\b|status[^\n]*?: {code}\b|HTTP(?:/[\d.]+)? {code}\b"


_FAULT = _status(r"5\d\d", "(?:internal|bad|service|gateway)")
# "denied" as a word, and not as the name of an image.
_REFUSAL = _status("40[13]", "(?:unauthorized|forbidden)") + r"|(?<![/\w.-])(?:permission_)?denied\b(?!:\w)"
# Complete, with a slash, as builders name images in errors: a program or a header file is not found, too.
_NO_IMAGE = r"[\w.-]+/[\w./-]+[:@][\w.:@-]+: not found|" + _status("404", "not found")
_RULES: tuple[tuple[str, Cause], ...] = (
    (_DISK, DISK),
    (_PLATFORM, PLATFORM),
    (r"signal: killed|cannot allocate memory", MEMORY),
    (r"additional privileges requested", NOT_ALLOWED),
    (rf"toomanyrequests|too many requests|{_status('429', 'too many')}", LIMITED),
    (r"docker-credential-\S+[^\n]*not found", NO_HELPER),
    (r"no such job", LOST),
    (r'image "[^"\s]+": already exists', RACE),
    (r"code = Unavailable|error reading from server|transport is closing|Cannot connect to the Docker daemon", GONE),
    (
        r"parse error|unknown instruction|unknown flag|failed to compute cache key|failed to calculate checksum",
        DOCKERFILE,
    ),
    (rf"unauthorized|authentication required|insufficient_scope|{_REFUSAL}", REFUSED),
    (_FAULT, NETWORK),
    (f"{_BUSY}|{_SLOW}", NETWORK),
    (r"no such host|network is unreachable", NO_NAME),
    (rf"(?:manifest|name)[ _]unknown|repository does not exist|{_NO_IMAGE}", MISSING),
)


def classify(final_error: str, tail: Iterable[str] = ()) -> Cause:
    """Class of ``final_error``; ``tail``, the failed step's last lines, only refines why a RUN failed."""
    run = _RUN.search(final_error)
    if run is None:
        return _match(final_error) or OTHER
    if run["code"] is None:
        # The command never ran or was cut off: what the builder says counts, and not the command's own text.
        return _match(run["rest"]) or STEP
    lines = list(tail)
    every, last = "\n".join(lines), "\n".join(lines[-10:])
    if run["code"] == "137" or re.search(_KILLED, every) or re.search(_KILLED_LAST, last, re.MULTILINE):
        return MEMORY
    if re.search(_FULL, every) or re.search(_DISK, last, re.IGNORECASE):
        return DISK
    return PLATFORM if re.search(_PLATFORM, last, re.IGNORECASE) else STEP


def _match(text: str) -> Cause | None:
    return next((cause for pattern, cause in _RULES if re.search(pattern, text, re.IGNORECASE | re.MULTILINE)), None)


def wait_seconds(final_error: str, attempt: int) -> float:
    """How long to wait before try number ``attempt`` + 1: what the registry asks for, else 2, 4, 8 ... seconds."""
    asked = re.search(
        rf"(?:retry[- ]after|retry in|try again in)\D{{0,3}}?((?:{_AMOUNT}\s*)+)", final_error, re.IGNORECASE
    )
    if asked:
        parts = re.findall(_AMOUNT, asked[1], re.IGNORECASE)
        return min(sum(float(number) * _unit(unit) for number, unit in parts), MAX_WAIT_SECONDS)
    return min(2.0**attempt, MAX_WAIT_SECONDS)


_AMOUNT = r"(\d+(?:\.\d+)?) ?(ns|[uµμ]s|ms|s(?:ec(?:ond)?s?)?|m(?:in(?:ute)?s?)?|h(?:ours?)?)?(?![a-zµμ])"
_UNITS = {"n": 1e-9, "u": 1e-6, "µ": 1e-6, "μ": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def _unit(name: str) -> float:
    """Seconds in a unit as Go writes durations, or as people do; without one they are seconds."""
    lower = name.lower()
    return _UNITS["ms"] if lower == "ms" else _UNITS[lower[:1] or "s"]
