"""apt → installed packages, with every wait bounded and nothing asked."""

import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from imagepins.engine.client import system_path
from imagepins.engine.progress import Say
from imagepins.errors import EngineError
from imagepins.process import Completed, ProcessFailed, run

UPDATE_SECONDS = 300.0
INSTALL_SECONDS = 900.0
LOCK_SECONDS = 180.0
_POLL_SECONDS = 1.0
_TAIL_LINES = 12

_EXPIRED = re.compile(r"Release file .* (is expired|is not valid yet)")
_LOCKED = re.compile(r"Could not get lock|Unable to (acquire|lock)")
_INTERRUPTED = "dpkg --configure -a"
_CANDIDATE = re.compile(r"^(\S+):\n(?:  .*\n)*?  Candidate: (\S+)$", re.MULTILINE)
_OPTIONS = (
    f"DPkg::Lock::Timeout={LOCK_SECONDS:.0f}",
    "Acquire::Retries=2",
    "Acquire::http::Timeout=20",
    "Acquire::https::Timeout=20",
    "Dpkg::Options::=--force-confdef",
    "Dpkg::Options::=--force-confold",
)


@dataclass(frozen=True)
class Target:
    """One package index of apt: the archive it comes from, and what its Release file says of itself."""

    uri: str
    release: str
    component: str
    origin: str
    label: str


@dataclass(frozen=True)
class Updated:
    """An update of the package lists: what apt said, and whether a Release file past its Valid-Until was accepted."""

    output: Completed
    was_expired: bool


def update(say: Say, *, only: Path | None = None) -> Updated:
    """Fetch the package lists, of the source file ``only`` where given.

    A failing source is not an error here: whether what is wanted can be had is seen by ``candidates``. A Release file
    past its Valid-Until, usual for frozen mirrors, is accepted for this one update, and said.
    """
    narrow = [f"Dir::Etc::sourcelist={only}", "Dir::Etc::sourceparts=-", "APT::Get::List-Cleanup=0"] if only else []
    say("apt-get update" + (f" ({only})" if only else ""))
    done = _apt_get("update", narrow, (), say, timeout=UPDATE_SECONDS)
    was_expired = bool(_EXPIRED.search(done.stdout + done.stderr))
    if was_expired:
        say("apt-get update again: a Release file is past its Valid-Until, which is accepted this once")
        done = _apt_get("update", [*narrow, "Acquire::Check-Valid-Until=false"], (), say, timeout=UPDATE_SECONDS)
    return Updated(done, was_expired)


def install(packages: Sequence[str], say: Say) -> None:
    """Install ``packages`` without recommendations. Raises EngineError with the end of apt's output.

    Finishes what an interrupted dpkg left behind first, where there is such a thing.
    """
    say(f"apt-get install {' '.join(packages)}")
    arguments = ("-y", "--no-install-recommends", *packages)
    done = _apt_get("install", (), arguments, say, timeout=INSTALL_SECONDS)
    if done.code != 0 and _INTERRUPTED in done.stdout + done.stderr:
        say("dpkg --configure -a: an earlier installation was interrupted")
        run(["dpkg", "--configure", "-a"], env=_environment(), timeout=INSTALL_SECONDS, check=False)
        done = _apt_get("install", (), ("--fix-broken", *arguments), say, timeout=INSTALL_SECONDS)
    if done.code != 0:
        text = f"apt-get install {' '.join(packages)} failed with exit code {done.code}:{tail(done)}"
        raise EngineError(f"{text}\nRepair apt, then run this again.")


def candidates(packages: Sequence[str]) -> Mapping[str, str]:
    """Return the version apt would install of each package; a package it cannot install is left out."""
    done = run(["apt-cache", "policy", *packages], env=_environment(), timeout=UPDATE_SECONDS, check=False)
    return {name: version for name, version in _CANDIDATE.findall(done.stdout) if version != "(none)"}


def targets() -> tuple[Target, ...]:
    """Return the package indexes this machine is set up for, in the order of its sources."""
    form = "$(REPO_URI)|$(RELEASE)|$(COMPONENT)|$(ORIGIN)|$(LABEL)"
    argv = ["apt-get", "indextargets", "--format", form, "Created-By: Packages"]
    done = run(argv, env=_environment(), timeout=UPDATE_SECONDS, check=False)
    rows = (line.split("|") for line in done.stdout.splitlines())
    return tuple(Target(*row) for row in rows if len(row) == 5)


def debian_mirror(found: Sequence[Target], codename: str | None) -> str | None:
    """Return the URL of the Debian archive this machine uses, or None where it uses none.

    What calls itself Debian counts first. On a machine whose lists were deleted no source says what it is; there the
    main component of the running release ``codename`` is taken (None where that is not Debian).
    """
    named = [target for target in found if (target.origin, target.label) == ("Debian", "Debian")]
    nameless = [target for target in found if target.origin in ("", "$(ORIGIN)")]
    running = [target for target in nameless if (target.release, target.component) == (codename, "main")]
    urls = (_plain_url(target.uri) for target in [*named, *running])
    return next((url for url in urls if url), None)


def tail(done: Completed) -> str:
    """Return the last lines of a program's output, indented, each on a line of its own."""
    lines = (done.stdout.strip() + "\n" + done.stderr.strip()).strip().splitlines()
    return "".join(f"\n  {line}" for line in lines[-_TAIL_LINES:])


def _plain_url(uri: str) -> str | None:
    scheme, _, rest = uri.partition(":")
    if scheme == "mirror+file":
        # A list of mirrors in a file, as Debian's cloud images have it; debootstrap takes one URL only.
        try:
            lines = Path(rest.replace("//", "/", 1)).read_text(encoding="utf-8").split()
        except OSError:
            return None
        return next((line for line in lines if line.startswith("http")), None)
    return uri.rstrip("/") if scheme in ("http", "https", "file") else None


def _apt_get(command: str, options: Sequence[str], arguments: Sequence[str], say: Say, *, timeout: float) -> Completed:
    pairs = [word for option in (*_OPTIONS, *options) for word in ("-o", option)]
    deadline = time.monotonic() + LOCK_SECONDS
    told = False
    while True:
        try:
            done = run(["apt-get", *pairs, command, *arguments], env=_environment(), timeout=timeout, check=False)
        except ProcessFailed as error:
            raise EngineError(f"apt-get {command}: {error.reason}; repair apt, then run this again") from error
        # DPkg::Lock::Timeout does not wait for the lock on the lists, and older apt ignores it altogether.
        if done.code == 0 or not _LOCKED.search(done.stderr) or time.monotonic() > deadline:
            return done
        if not told:
            say("another program uses apt, waiting for it to end")
            told = True
        time.sleep(_POLL_SECONDS)


def _environment() -> dict[str, str]:
    quiet = {"DEBIAN_FRONTEND": "noninteractive", "APT_LISTCHANGES_FRONTEND": "none", "NEEDRESTART_SUSPEND": "1"}
    return {**os.environ, **quiet, "LC_ALL": "C", "PATH": system_path()}
