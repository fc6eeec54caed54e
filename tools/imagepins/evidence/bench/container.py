"""Containers that run a server while others work with it, or one command to its end; gone afterwards on every path.

Everything goes through the docker client in child processes: those have time limits and end with their group, which a
blocking call of a library does not (docker/docker-py#3155).
"""

import json
import os
import secrets
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from imagepins.engine.dockercli import docker, last_line
from imagepins.engine.endpoint import find_endpoint
from imagepins.errors import CheckFailed, EngineError, ImagePinsError
from imagepins.process import Completed, ProcessFailed, run
from imagepins.verify.leftovers import HOST_LABEL, RUN_LABEL, is_leftover, marks_of

NOT_THERE = 127
CANNOT_RUN = frozenset({126, NOT_THERE})
"""Exit codes of a program that is not in the image, or cannot be executed."""
_ASK_SECONDS = 30.0
_START_SECONDS = 120.0


@dataclass(frozen=True)
class Setup:
    """How a container is started. ``pass_env`` names variables whose values never enter an argv or a log.

    ``options`` are more of ``docker create``'s.
    """

    image: str
    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    pass_env: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    volumes: tuple[str, ...] = ()
    network: str = "bridge"
    options: tuple[str, ...] = ()


@contextmanager
def running(setup: Setup, *, name: str) -> Iterator[str]:
    """Start a container and yield its name; it is removed by force when the block is left, however that happens.

    Raises EngineError where the image or a device is missing, CheckFailed where the program cannot be started.
    """
    _require_devices(setup.devices)
    with _created(setup, name):
        _start(name)
        yield name


def run_once(setup: Setup, *, purpose: str, timeout: float) -> Completed | None:
    """Run the setup's command to its end in a container of its own, and return how that ended.

    None where it had no end within ``timeout`` seconds; code 126 or 127 also where the image has no such program.
    Raises EngineError where it could not run for any other reason: the engine's word on the container counts, as the
    client's exit code may be its own. What killed runs left is removed first.
    """
    sweep()
    with _created(setup, f"imagepins-{purpose}-{os.getpid()}-{secrets.token_hex(4)}") as name:
        done = _within(["docker", "start", "--attach", name], timeout)
        if done is None:
            return None
        state = _state(name)
    if state["Running"] or (state["Error"] and state["ExitCode"] not in CANNOT_RUN):
        raise EngineError(f"{setup.image}: docker start: {state['Error'] or last_line(done)}")
    return replace(done, code=int(state["ExitCode"]))


@contextmanager
def _created(setup: Setup, name: str) -> Iterator[str]:
    try:
        # Asked for by name in the end: an interrupt can come between the creation and the answer with the id.
        docker(_create_argv(setup, name), timeout=_START_SECONDS)
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
    return _within(["docker", "exec", name, *argv], timeout)


def _within(argv: Sequence[str], timeout: float) -> Completed | None:
    try:
        return run(argv, timeout=timeout, check=False)
    except ProcessFailed as error:
        if error.is_timeout:
            return None
        raise EngineError(f"{argv[0]} {argv[1]}: {error.reason}; see tools/engine status") from error


def exit_code(name: str) -> int | None:
    """Exit code of the container's own program, or None while it runs. Raises EngineError."""
    state = _state(name)
    return None if state["Running"] else int(state["ExitCode"])


def ended(name: str, *, within: float) -> int | None:
    """Exit code of the container's own program, if it has ended or ends within so many seconds. Raises EngineError."""
    done = _within(["docker", "wait", name], within)
    if done is None:
        return None
    if not done.stdout.strip().isdigit():
        raise EngineError(f"docker wait: {last_line(done)}")
    return int(done.stdout)


def _state(name: str) -> dict[str, Any]:
    state: dict[str, Any] = json.loads(
        docker(["container", "inspect", "--format", "{{json .State}}", name], timeout=_ASK_SECONDS).stdout
    )
    return state


def _start(name: str) -> None:
    try:
        docker(["start", name], timeout=_START_SECONDS)
    except EngineError as error:
        if _state(name)["ExitCode"] in CANNOT_RUN:
            raise CheckFailed(f"{name}: the container does not start: {error}") from error
        raise


def last_lines(name: str, *, count: int = 20) -> str:
    """The last lines the container's program wrote to both of its outputs, or why the engine keeps none."""
    done = _within(["docker", "logs", "--tail", str(count), name], _ASK_SECONDS)
    return (done.stdout + done.stderr).strip() if done else ""


def read_file(name: str, path: str, *, into: Path) -> bytes | None:
    """The content of a file in the container, or None where there is none; ``into`` is a folder to copy through.

    Raises EngineError.
    """
    copy = into / "copied"
    # A link is followed on the way out: --output-file may be one.
    done = _within(["docker", "cp", "--follow-link", f"{name}:{path}", str(copy)], _START_SECONDS)
    if done is None:
        raise EngineError(f"docker cp {name}:{path}: no end after {_START_SECONDS:g} s")
    if done.code != 0:
        _state(name)  # raises where it is the engine that failed
        return None
    try:
        return copy.read_bytes() if copy.is_file() else None
    finally:
        if copy.is_file():
            copy.unlink()


def sweep() -> list[str]:
    """Remove what killed runs on this machine left behind; the names of the containers removed. Raises EngineError."""
    form = f'{{{{.Names}}}}\t{{{{.Label "{RUN_LABEL}"}}}}\t{{{{.Label "{HOST_LABEL}"}}}}'
    listed = docker(["ps", "--all", "--filter", f"label={RUN_LABEL}", "--format", form], timeout=_ASK_SECONDS).stdout
    rows = [line.split("\t") for line in listed.splitlines()]
    left = [name for name, run, host in rows if is_leftover({RUN_LABEL: run, HOST_LABEL: host})]
    for name in left:
        remove(name)
    return left


def _create_argv(setup: Setup, name: str) -> list[str]:
    argv = ["create", "--pull", "never", "--name", name]
    for key, value in marks_of(os.getpid()).items():
        argv += ["--label", f"{key}={value}"]
    argv += ["--network", setup.network, "--entrypoint", setup.command[0]]
    for key, value in setup.env.items():
        argv += ["--env", f"{key}={value}"]
    for key in setup.pass_env:
        argv += ["--env", key]
    for volume in setup.volumes:
        argv += ["--volume", volume]
    argv += [*_device_argv(setup.devices), *setup.options]
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
