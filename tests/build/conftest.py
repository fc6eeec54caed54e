"""A project of small images that build in a moment, the tool as people call it, and a registry on loopback."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from imagepins.engine.daemon import Daemon
from naming import own_name, remove_images
from servers import serve_registry

REPOSITORY = Path(__file__).parents[2]


@dataclass(frozen=True)
class Ran:
    """A command that ended."""

    code: int
    out: str
    err: str

    @property
    def rows(self) -> dict[str, str]:
        """State by target, as ``build`` prints it."""
        return {line.split("\t")[0]: line.split("\t")[1] for line in self.out.splitlines()}


class Project:
    """pins.yaml and templates of images whose names no other test uses; ``images`` maps names to Dockerfiles.

    FROM lines name images of the project as ``@NAME@``.
    """

    def __init__(self, root: Path, prefix: str) -> None:
        self.root = root
        self.prefix = prefix
        self.env: dict[str, str] = {}

    def name(self, short: str) -> str:
        """The image's name in full, with its variant."""
        return f"{self.prefix}-{short}/v"

    def tag(self, short: str) -> str:
        """The image's own tag."""
        return f"{self.prefix}-{short}:v"

    def write(
        self, images: Mapping[str, str], *, pins: str = "  none: {apt: none, version: '1', suite: trixie}\n"
    ) -> None:
        """Write pins.yaml and a template per image; ``:heavy`` after a name makes the image heavy."""
        listed = ""
        for spec, text in images.items():
            short, _, weight = spec.partition(":")
            template = re.sub(r"@(\w+)@", lambda match: self.tag(match[1]), text)
            (self.root / f"{short}.j2").write_text(template)
            used = [name for name in ("tool", "lib") if f"{name.upper()}_" in text]
            listed += f"  {self.prefix}-{short}:\n    template: {short}.j2\n    pins: [{', '.join(used)}]\n"
            listed += f"    weight: {weight}\n" if weight else ""
            listed += "    variants: {v: {}}\n"
        (self.root / "pins.yaml").write_text(f"schema: 1\npins:\n{pins}images:\n{listed}")

    def file(self, short: str, name: str, text: str) -> None:
        """Write a file of an image's context."""
        path = self.root / "images" / f"{self.prefix}-{short}" / "context" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def environment(self) -> dict[str, str]:
        """The environment commands run in."""
        return {**os.environ, "PYTHONPATH": str(REPOSITORY / "tools"), **self.env}

    def argv(self, *args: str) -> list[str]:
        """``tools/image ARGS`` on this project."""
        code = "import sys; from imagepins.cli.image import main; sys.exit(main())"
        return [sys.executable, "-P", "-c", code, *args, "--pins", str(self.root / "pins.yaml")]

    def run(self, *args: str) -> Ran:
        """Run ``tools/image ARGS`` to its end."""
        done = subprocess.run(
            self.argv(*args),
            cwd=self.root,
            env=self.environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def plan(self, *args: str) -> dict[str, dict[str, Any]]:
        """Rows of ``plan --json`` by the image's short name."""
        rows = json.loads(self.run("plan", "--json", *args).out)["targets"]
        return {row["image"].removeprefix(f"{self.prefix}-"): row for row in rows}

    @contextmanager
    def start(self, *args: str) -> Iterator[subprocess.Popen[str]]:
        """Start ``tools/image ARGS`` in a session of its own and end it in any case."""
        process = subprocess.Popen(
            self.argv(*args),
            cwd=self.root,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()

    def log_docker(self) -> Path:
        """From now on, write the arguments of every docker call to the file that is returned."""
        calls = self.root / "docker-calls"
        calls.write_text("")
        self.before_docker(f'echo "$*" >>{calls}')
        return calls

    @contextmanager
    def held_build(self) -> Iterator[subprocess.Popen[str]]:
        """Start ``build``, held before its first image is built; ``release`` lets it go on. Other runs are not held."""
        gate = self.root / "gate"
        os.mkfifo(gate)
        self.before_docker(f'case "$*" in *rawjson*) echo >{gate}; read -r _ <{gate};; esac')
        with self.start("build") as process:
            del self.env["PATH"]
            gate.read_text()  # returns once the build is there
            yield process

    def release(self) -> None:
        """Let a held build go on."""
        (self.root / "gate").write_text("\n")

    def before_docker(self, script: str) -> None:
        """From now on, run a piece of shell before every docker call, whose arguments it sees and may end."""
        shim = self.root / "bin" / "docker"
        shim.parent.mkdir(exist_ok=True)
        shim.write_text(f'#!/bin/sh\n{script}\nexec {shutil.which("docker") or "docker"} "$@"\n')
        shim.chmod(0o755)
        self.env["PATH"] = f"{shim.parent}:{os.environ['PATH']}"


def docker(*args: str, env: Mapping[str, str] | None = None) -> str:
    """What ``docker ARGS`` prints."""
    done = subprocess.run(
        ["docker", *args], capture_output=True, text=True, check=False, env={**os.environ, **(env or {})}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """A project whose images are removed afterwards."""
    made = Project(tmp_path, own_name("build"))
    yield made
    remove_images(f"{made.prefix}-*")


@pytest.fixture(name="docker")
def _docker() -> Any:
    """``docker ARGS`` → what it prints."""
    return docker


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """``127.0.0.1:PORT`` of a registry of the tests' own."""
    with serve_registry(tmp_path_factory.mktemp("registry")) as address:
        yield address
    remove_images(f"{address}/*", f"{address}/*/*", f"{address}/*/*/*")


class Faulty(ThreadingHTTPServer):
    """A registry's front that fails on purpose: ``plan`` holds what to answer to coming requests, in order.

    An entry is a status, ``slow`` or ``close``; after the plan everything is passed on. ``matching`` limits the faults
    to requests whose line holds it. ``seen`` records them all.
    """

    daemon_threads = True

    def __init__(self, upstream: str) -> None:
        super().__init__(("127.0.0.1", 0), FaultyHandler)
        self.upstream = upstream
        self.plan: list[int | str] = []
        self.matching = ""
        self.seen: list[str] = []
        self.address = f"127.0.0.1:{self.server_address[1]}"

    def next_fault(self, line: str) -> int | str | None:
        """What this request gets instead of an answer."""
        self.seen.append(line)
        return self.plan.pop(0) if self.plan and self.matching in line else None


class FaultyHandler(BaseHTTPRequestHandler):
    """One connection of ``Faulty``."""

    protocol_version = "HTTP/1.1"
    server: Faulty

    def handle_one_request(self) -> None:
        """Answer TLS as a plain server does, in a way that clients recognise and fall back from."""
        with suppress(OSError):
            if self.connection.recv(1, socket.MSG_PEEK) == b"\x16":
                self.wfile.write(b"HTTP/1.0 400 Bad Request\r\n\r\n")
                self.close_connection = True
                return
            super().handle_one_request()
            return
        self.close_connection = True

    def handle_any(self) -> None:
        """Fail as planned, or pass the request on."""
        body = self._body()
        fault = self.server.next_fault(f"{self.command} {self.path}")
        if fault == "close":
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        if fault == "slow":
            time.sleep(3)
        if isinstance(fault, int):
            self._answer(fault, b'{"errors":[{"code":"TOOMANYREQUESTS"}]}', {"Retry-After": "0"})
        else:
            self._pass_on(body)

    do_GET = do_HEAD = do_PUT = do_POST = do_PATCH = do_DELETE = handle_any  # noqa: N815 - names of http.server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - name of http.server
        """Say nothing."""

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _pass_on(self, body: bytes) -> None:
        dropped = ("host", "transfer-encoding", "content-length", "connection")
        headers = {key: value for key, value in self.headers.items() if key.lower() not in dropped}
        with closing(HTTPConnection(self.server.upstream, timeout=60)) as connection:
            connection.request(self.command, self.path, body=body, headers=headers | {"Host": self.server.address})
            answer = connection.getresponse()
            content = answer.read()
        kept = {key: value for key, value in answer.getheaders() if key.lower() not in dropped}
        length = answer.getheader("Content-Length") if self.command == "HEAD" else str(len(content))
        self._answer(answer.status, content, kept | {"Content-Length": length or "0"})

    def _answer(self, status: int, content: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for key, value in ({"Content-Length": str(len(content))} | dict(headers)).items():
            if key != "Content-Length" or status != HTTPStatus.NO_CONTENT:
                self.send_header(key, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


@pytest.fixture
def faulty(registry: str) -> Iterator[Faulty]:
    """A front of the registry that fails as told."""
    with Faulty(registry) as front:
        thread = Thread(target=front.serve_forever, daemon=True)
        thread.start()
        yield front
        front.shutdown()
    remove_images(f"{front.address}/*", f"{front.address}/*/*", f"{front.address}/*/*/*")


@pytest.fixture(scope="session")
def second_engine(start_engine: Callable[..., Daemon]) -> str:
    """``unix://...`` of an engine of its own beside the first, with other data; it needs root."""
    return f"unix://{start_engine().socket}"
