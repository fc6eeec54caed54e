"""A container that runs a server while others work with it, and that is gone afterwards on every path.

Everything goes through the docker client in child processes: those have time limits and end with their group, which a
blocking call of a library does not (docker/docker-py#3155).
"""

import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from imagepins.engine.endpoint import find_endpoint
from imagepins.errors import CheckFailed, EngineError, ImagePinsError
from imagepins.process import Completed, ProcessFailed, run
from imagepins.verify.leftovers import HOST_LABEL, RUN_LABEL, is_alive, marks_of, process_space

LABEL = "org.imagepins.bench"
_ASK_SECONDS = 30.0
_START_SECONDS = 120.0


@dataclass(frozen=True)
class Setup:
    """How a container is started. ``pass_env`` names variables whose values never enter an argv or a log."""

    image: str
    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    pass_env: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    volumes: tuple[str, ...] = ()
    network: str = "bridge"


@contextmanager
def running(setup: Setup, *, name: str) -> Iterator[str]:
    """Start a container and yield its name; it is removed by force when the block is left, however that happens.

    Raises EngineError where the image or a device is missing, CheckFailed where the program cannot be started.
    """
    _require_devices(setup.devices)
    try:
        # Asked for by name in the end: an interrupt can come between the creation and the answer with the id.
        _docker(_create_argv(setup, name), timeout=_START_SECONDS)
        _start(setup.image, name)
        yield name
    finally:
        remove(name)


def remove(name: str) -> None:
    """Remove a container by force, with its volumes; nothing happens where it is not there."""
    with suppress(ImagePinsError):
        run(["docker", "rm", "--force", "--volumes", name], timeout=_START_SECONDS, check=False)


def execute(name: str, argv: Sequence[str], *, timeout: float) -> Completed | None:
    """Run ``argv`` in the container and return how it ended; None where it had no end within ``timeout`` seconds.

    What runs out of time runs on inside the container until that is removed.
    """
    try:
        return run(["docker", "exec", name, *argv], timeout=timeout, check=False)
    except ProcessFailed:
        return None


def exit_code(name: str) -> int | None:
    """Exit code of the container's own program, or None while it runs."""
    state = json.loads(_docker(["inspect", "--format", "{{json .State}}", name]).stdout)
    return None if state["Running"] else int(state["ExitCode"])


def ended(name: str, *, within: float) -> int | None:
    """Exit code of the container's own program, if it has ended or ends within so many seconds."""
    try:
        told = run(["docker", "wait", name], timeout=within, check=False).stdout.strip()
    except ProcessFailed:
        return None
    return int(told) if told.isdigit() else None


def last_lines(name: str, *, count: int = 20) -> str:
    """The last lines the container's program wrote to both of its outputs."""
    done = run(["docker", "logs", "--tail", str(count), name], timeout=_ASK_SECONDS, check=False)
    return (done.stdout + done.stderr).strip()


def read_file(name: str, path: str, *, into: Path) -> bytes | None:
    """The content of a file in the container, or None where there is none; ``into`` is a folder to copy through."""
    copy = into / "copied"
    # A link is followed on the way out: --output-file may be one.
    done = run(["docker", "cp", "--follow-link", f"{name}:{path}", str(copy)], timeout=_START_SECONDS, check=False)
    if done.code != 0:
        return None
    try:
        return copy.read_bytes() if copy.is_file() else None
    finally:
        if copy.is_file():
            copy.unlink()


def sweep() -> list[str]:
    """Remove what a killed run on this machine left behind; the names of the containers removed."""
    form = "\t".join(["{{.Names}}", *(f'{{{{.Label "{label}"}}}}' for label in (RUN_LABEL, HOST_LABEL))])
    listed = _docker(["ps", "--all", "--filter", f"label={LABEL}", "--format", form]).stdout
    rows = [line.split("\t") for line in listed.splitlines()]
    left = [name for name, mark, space in rows if space == process_space() and not is_alive(mark)]
    for name in left:
        remove(name)
    return left


def _start(image: str, name: str) -> None:
    try:
        _docker(["start", name], timeout=_START_SECONDS)
    except EngineError as error:
        if "device" in str(error):
            raise
        raise CheckFailed(f"{image}: the container does not start: {error}") from error


def _create_argv(setup: Setup, name: str) -> list[str]:
    argv = ["create", "--pull", "never", "--name", name]
    for key, value in {LABEL: "", **marks_of(os.getpid())}.items():
        argv += ["--label", f"{key}={value}"]
    argv += ["--network", setup.network, "--entrypoint", setup.command[0]]
    for key, value in setup.env.items():
        argv += ["--env", f"{key}={value}"]
    for key in setup.pass_env:
        argv += ["--env", key]
    for volume in setup.volumes:
        argv += ["--volume", volume]
    argv += _device_argv(setup.devices)
    return [*argv, "--", setup.image, *setup.command[1:]]


def _device_argv(devices: Sequence[str]) -> list[str]:
    """Devices, the groups that own them, and the shared memory that RCCL needs between processes."""
    if not devices:
        return []
    argv = [part for device in devices for part in ("--device", device)]
    groups = sorted({str(node.st_gid) for device in devices for node in _nodes(Path(device))})
    return [*argv, *(part for group in groups for part in ("--group-add", group)), "--shm-size", "16g"]


def _nodes(device: Path) -> list[os.stat_result]:
    paths = [device, *device.iterdir()] if device.is_dir() else [device]
    return [node for path in paths if path.exists() and stat.S_ISCHR((node := path.stat()).st_mode)]


def _require_devices(devices: Sequence[str]) -> None:
    # Of an engine on another machine nothing can be told from here; it complains itself when the container starts.
    missing = [device for device in devices if find_endpoint().socket and not Path(device).exists()]
    if missing:
        raise EngineError(f"{', '.join(missing)}: no such device here; this benchmark needs a machine with a GPU")


def _docker(argv: Sequence[str], *, timeout: float = _ASK_SECONDS) -> Completed:
    try:
        return run(["docker", *argv], timeout=timeout)
    except ProcessFailed as error:
        # The client's last line only points to its help; what went wrong stands in the one that names the error.
        lines = [line for line in error.output.strip().splitlines() if "--help" not in line and line.strip()]
        raise EngineError(f"docker {argv[0]}: {lines[-1] if lines else error.reason}") from error
