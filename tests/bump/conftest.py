"""A small project with a pin file, and the command run on it; a web server that answers as a test says."""

import gzip
import http.server
import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from imagepins.cli.bump import main

READS = 'LABEL pins="[[% for pin in pins.values() %]]${[[[ pin.arg ]]]}[[% endfor %]]"\n'
TEMPLATE = f"FROM scratch\n[[[ pin_args ]]]\n{READS}[[[ env_lines ]]]\n"


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its output as JSON."""
        return json.loads(self.out)


class Project:
    """A directory with pins.yaml, one image that holds all pins, and its rendered Dockerfile."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = root
        self.pins = root / "pins.yaml"
        self.template = TEMPLATE
        self.dockerfile = root / "images/all/one/Dockerfile"
        self._capsys = capsys

    def write(self, pins: str, rest: str = "", env: str = "") -> None:
        """Write pins.yaml from the text below ``pins:`` (two spaces of indent) and render it."""
        names = [line.split(":")[0].strip() for line in pins.splitlines() if line[:2] == "  " and line[2:3] not in " #"]
        images = f"images:\n  all:\n    template: images/all/Dockerfile.j2\n    pins: [{', '.join(names)}]\n{env}"
        self.write_bytes(f"schema: 1\npins:\n{pins}{images}    variants: {{one: {{}}}}\n{rest}".encode())

    def write_bytes(self, content: bytes) -> None:
        """Write pins.yaml as it is and render it where it is valid."""
        from imagepins.errors import ImagePinsError
        from imagepins.pins.load import load
        from imagepins.render.dockerfile import render_all

        template = self.root / "images/all/Dockerfile.j2"
        template.parent.mkdir(parents=True, exist_ok=True)
        template.write_text(self.template)
        self.pins.write_bytes(content)
        try:
            texts = render_all(load(self.pins), self.root)
        except ImagePinsError:
            return
        for path, text in texts.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_bytes(text.encode())

    def run(self, *arguments: str) -> Ended:
        """Run bump_pin on the project."""
        self._capsys.readouterr()
        code = main(["--pins", str(self.pins), *arguments])
        captured = self._capsys.readouterr()
        return Ended(code, captured.out, captured.err)

    def assert_refuses(self, *arguments: str, code: int = 3) -> Ended:
        """Run bump_pin, which must end with ``code``, print no report and leave every file alone."""
        before = self.snapshot()
        ended = self.run(*arguments)
        assert (ended.code, ended.out) == (code, "")
        assert self.snapshot() == before
        return ended

    def is_at(self, upstream: Any, revision: str) -> bool:
        """Whether pin rccl is at that commit, in the pin file and in the Dockerfile."""
        commit = upstream.sha(revision)
        return commit in self.pins.read_text() and f"ARG RCCL_COMMIT={commit}\n" in self.dockerfile.read_text()

    def snapshot(self) -> dict[str, tuple[bytes, int]]:
        """Content and time of every file."""
        files = (path for path in self.root.rglob("*") if path.is_file() and ".git/" not in path.as_posix())
        return {path.relative_to(self.root).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


@pytest.fixture
def project(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Project:
    root = tmp_path / "project"
    root.mkdir()
    return Project(root, capsys)


@pytest.fixture
def pinned(project: Project, upstream: Any) -> Callable[..., Project]:
    """The project with one pin ``rccl`` at a revision of ``upstream``."""

    def make(revision: str = "refs/keep/c1", track: str = "{branch: main}", more: str = "") -> Project:
        commit = upstream.sha(revision)
        tracked = f"    track: {track}\n" if track else ""
        project.write(f'  rccl:\n    git: {upstream.url}\n    commit: "{commit}"\n{tracked}{more}')
        return project

    return make


@pytest.fixture
def two(project: Any, upstream: Any) -> Any:
    """A project with two pins, a and b, at c1."""
    commit = upstream.sha("refs/keep/c1")
    pin = '  {name}:\n    git: {url}\n    commit: "{commit}"\n    track: {{branch: main}}\n'
    project.write("".join(pin.format(name=name, url=upstream.url, commit=commit) for name in "ab"))
    return project


@pytest.fixture
def versioned(two: Any) -> Any:
    """The project as a git repository with everything committed."""

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=two.root, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    two.git = git
    git("init", "--quiet", "--initial-branch=main")
    git("add", "--all")
    git("commit", "--quiet", "--message", "start")
    return two


TARBALL = gzip.compress(b"content", mtime=0)


@dataclass
class Web:
    """A server on the loopback; ``asked`` lists the paths that were asked for.

    ``pages`` holds what it answers for a path, or several answers in turn, each with ``body``, ``status``,
    ``content_type``, ``length`` (of the header; the connection is closed after the body), ``location``, ``encoding``.
    """

    url: str
    pages: dict[str, dict[str, Any] | list[dict[str, Any]]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def page(self, path: str) -> dict[str, Any]:
        self.asked.append(path)
        found = self.pages.get(path, {"body": b"gone", "status": 404, "content_type": "text/plain"})
        return found if isinstance(found, dict) else (found.pop(0) if len(found) > 1 else found[0])


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = made.page(self.path)
            body = page.get("body", TARBALL)
            self.send_response(page.get("status", 200))
            headers = {"Content-Encoding": page.get("encoding"), "Location": page.get("location")}
            headers["Content-Type"] = page.get("content_type", "application/gzip")
            headers["Content-Length"] = page.get("length", len(body))
            for name, value in headers.items():
                if value is not None:
                    self.send_header(name, str(value))
            self.end_headers()
            self.wfile.write(body)
            self.close_connection = True

        def log_message(self, *_: Any) -> None:
            pass

    monkeypatch.setattr("time.sleep", lambda _: None)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made = Web(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield made
    server.shutdown()
    thread.join()
    server.server_close()
