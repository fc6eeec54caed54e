"""A Debian mirror → an image that says it was made with debootstrap, and when."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from imagepins.engine import apt
from imagepins.engine.client import find_program, system_path
from imagepins.engine.dockercli import docker
from imagepins.engine.endpoint import find_endpoint
from imagepins.engine.host import Host, read_host
from imagepins.engine.origin import BASE_LABEL
from imagepins.engine.progress import Say
from imagepins.errors import EngineError, NetworkError
from imagepins.process import ProcessFailed, run

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
MAKE_SECONDS = 900.0
IMPORT_SECONDS = 300.0
LEFT_OUT = (
    "./dev/*",  # the engine brings its own
    "./etc/hostname",  # this machine's, copied by debootstrap
    "./etc/resolv.conf",
    "./var/cache/apt/*.bin",
    "./var/cache/apt/archives/*.deb",
    "./var/lib/apt/lists/*",
    "./var/log/*",
)


def import_debian(ref: str, say: Say, *, task: str) -> None:
    """Make the Debian suite that the tag of ``ref`` names, ``debian:trixie-slim`` → trixie, and import it as ``ref``.

    Call it under the lock named ``task``: directories of killed runs of that name are removed first. Raises
    NetworkError where debootstrap cannot be had or no mirror provides the suite, EngineError where the engine refuses.
    """
    suite = ref.rpartition(":")[2].removesuffix("-slim")
    host = read_host()
    _require_debootstrap(host, say)
    mirror = apt.debian_mirror(apt.targets(), host.debian_release) if host.has_apt else None
    with _work_directory(task) as work:
        _bootstrap(suite, work / "root", mirror, say)
        _pack(work / "root", work / "root.tar")
        say(f"docker import {ref}")
        made = datetime.now(UTC).date().isoformat()
        labels = {BASE_LABEL: "debootstrap", f"{BASE_LABEL}.suite": suite, f"{BASE_LABEL}.date": made}
        changes = ['CMD ["bash"]', *(f"LABEL {name}={value}" for name, value in labels.items())]
        arguments = [word for change in changes for word in ("--change", change)]
        message = f"debootstrap {suite} {made}"
        docker(["import", *arguments, "--message", message, str(work / "root.tar"), ref], timeout=IMPORT_SECONDS)


def _require_debootstrap(host: Host, say: Say) -> None:
    if find_endpoint().socket is None:
        raise NetworkError("a remote engine takes no image made here; pull it there")
    if not host.is_root:
        raise NetworkError("making it with debootstrap needs root; run tools/engine base as root, or docker pull it")
    if find_program("debootstrap") and KEYRING.exists():
        return
    if not host.can_install:
        raise NetworkError(f"{host.name} has no debootstrap with Debian's keyring; install both, or docker pull it")
    if not apt.candidates(["debootstrap", "debian-archive-keyring"]):
        apt.update(say)
    apt.install(["debootstrap", "debian-archive-keyring"], say)


def _bootstrap(suite: str, root: Path, mirror: str | None, say: Say) -> None:
    say(f"debootstrap {suite} from {mirror or 'its default mirror'}, about half a minute")
    # Mounts that debootstrap makes vanish with its own mount namespace, however it ends, so removing the directory
    # can never reach into /proc or /dev of this machine. And it ends with this process, even if that is killed.
    argv = ["setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child", "--"]
    argv += ["debootstrap", "--variant=minbase", "--force-check-gpg", f"--keyring={KEYRING}", suite, str(root)]
    argv += [mirror] if mirror else []
    # Nothing of a run that breaks off is kept, so dpkg need not sync every file to the disk: a quarter of the time.
    environment = {**os.environ, "LC_ALL": "C", "PATH": system_path(), "DPKG_FORCE": "unsafe-io"}
    try:
        done = run(argv, env=environment, timeout=MAKE_SECONDS, check=False)
    except ProcessFailed as error:
        raise NetworkError(f"debootstrap {suite}: {error.reason}") from error
    if done.code != 0:
        text = f"debootstrap {suite} from {mirror or 'its default mirror'} failed:{apt.tail(done)}"
        raise NetworkError(f"{text}\nCheck the network and apt's Debian source, then run this again.")


def _pack(root: Path, archive: Path) -> None:
    # A file, not a pipe: a tar that breaks off must never become an image.
    left_out = [f"--exclude={pattern}" for pattern in LEFT_OUT]
    options = ["--create", "--numeric-owner", "--one-file-system", "--anchored", "--sort=name"]
    try:
        run(["tar", *options, f"--file={archive}", f"--directory={root}", *left_out, "."], timeout=IMPORT_SECONDS)
    except ProcessFailed as error:
        text = f"the new base could not be packed into {archive}: {error.output.strip() or error.reason}"
        raise EngineError(f"{text}; free space there or name another directory in TMPDIR") from error


@contextmanager
def _work_directory(task: str) -> Iterator[Path]:
    place = Path(os.environ.get("TMPDIR", "/var/tmp"))  # noqa: S108 - a root file system does not fit a small /tmp
    prefix = f"imagepins-{task}-"
    for left in place.glob(f"{prefix}*"):
        shutil.rmtree(left, ignore_errors=True)
    work = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)
