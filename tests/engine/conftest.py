"""Engines of the tests' own beside the one of the machine, machines without one, and programs that fail on demand."""

import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from imagepins.engine.daemon import Daemon
from imagepins.process import Completed, run

Start = Callable[..., Daemon]


@pytest.fixture
def said() -> list[str]:
    """What a step told; pass ``said.append`` as its ``say``."""
    return []


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    """Put a shell script first on PATH under a program's name; returns the log its ``$LOG`` names."""
    programs = tmp_path / "fake-programs"
    programs.mkdir()
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")

    def make(name: str, script: str) -> Path:
        log = programs / f"{name}.log"
        log.touch()
        program = programs / name
        program.write_text(f"#!/bin/sh\nLOG={log}\n{script}\n")
        program.chmod(0o755)
        return log

    return make


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Answer on a unix socket with the given bytes, piece by piece; yields a function that returns its DOCKER_HOST."""
    opened: list[socket.socket] = []

    def start(*pieces: bytes, pause: float = 0.0) -> str:
        path = tmp_path / f"answers-{len(opened)}.sock"
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(path))
        listener.listen()
        opened.append(listener)
        threading.Thread(target=_answer, args=(listener, pieces, pause), daemon=True).start()
        return f"unix://{path}"

    yield start
    for listener in opened:
        listener.close()


def _answer(listener: socket.socket, pieces: tuple[bytes, ...], pause: float) -> None:
    with suppress(OSError):
        while True:
            connection, _ = listener.accept()
            with connection, suppress(OSError):
                connection.recv(4096)
                for piece in pieces:
                    connection.sendall(piece)
                    time.sleep(pause)


@pytest.fixture(scope="session")
def engine(start_engine: Start) -> Daemon:
    """One further engine for all tests that neither stop it nor need it empty."""
    return start_engine()


@pytest.fixture
def at_engine(engine: Daemon, monkeypatch: pytest.MonkeyPatch) -> Daemon:
    """The further engine, as the one that docker and the tool talk to."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{engine.socket}")
    return engine


@pytest.fixture
def tool(repository: Path) -> Callable[..., Completed]:
    """Run ``tools/engine`` as a process of its own."""

    def call(*arguments: str, timeout: float = 400.0) -> Completed:
        argv = [sys.executable, "-P", "-m", "imagepins.engine", *arguments]
        return run(argv, env=_tool_environment(repository), timeout=timeout, check=False)

    return call


@pytest.fixture
def machine(repository: Path) -> Callable[..., Completed]:
    """Run a shell script on a machine that looks like this one without its engine.

    It has mounts, a network and processes of its own: the engine's socket, configuration and images are out of sight,
    an engine that the script starts meets nobody, and everything ends with the script. ``$TOOL`` is tools/engine.
    """
    hide = "mount -t tmpfs none /run; mkdir /run/lock; mount -t tmpfs none /var/lib/docker; mkdir -p /etc/docker; "
    hide += "mount -t tmpfs none /etc/docker; mount -t proc none /proc; mount -t tmpfs none /var/log"

    def call(script: str, *, before: str = "true", timeout: float = 400.0) -> Completed:
        unshare = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child"]
        environment = {
            **_tool_environment(repository),
            "TOOL": f"{sys.executable} -P -m imagepins.engine",
        }
        environment.pop("DOCKER_HOST", None)
        argv = [*unshare, "sh", "-c", f"set -e; mkdir -p /var/lib/docker; {hide}; {before}; set +e; {script}"]
        return run(argv, env=environment, timeout=timeout, check=False)

    return call


def _tool_environment(repository: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(repository / "tools"), "PYTHONDONTWRITEBYTECODE": "1"}
