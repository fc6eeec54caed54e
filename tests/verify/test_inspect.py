"""Looking an image up tells apart: not there, there, and nobody knows."""

import os
import re
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from imagepins.errors import EngineError
from imagepins.process import run
from imagepins.verify.inspect import Inspection, as_text, inspect


class Empty(BaseHTTPRequestHandler):
    """A registry that has nothing."""

    def do_GET(self) -> None:
        """Answer that it is not there."""
        body = b'{"errors": [{"code": "MANIFEST_UNKNOWN"}]}'
        self.send_response(404)
        self.send_header("Docker-Distribution-Api-Version", "registry/2.0")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_HEAD = do_GET  # noqa: N815 - the name that the server calls

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def ref() -> Iterator[str]:
    """A reference that its registry knows nothing of."""
    with HTTPServer(("localhost", 0), Empty) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"localhost:{server.server_port}/nowhere/image:1"
        server.shutdown()


def test_engine_that_is_not_there_exits_6_where_the_registry_gives_none(
    repository: Path, ref: str, tmp_path: Path
) -> None:
    env = {**os.environ, "DOCKER_HOST": f"unix://{tmp_path}/none.sock"}
    done = run([str(repository / "tools/image"), "inspect", ref], check=False, env=env)

    assert (done.code, done.stdout) == (6, "")
    assert f"No engine listens at unix://{tmp_path}/none.sock" in done.stderr
    assert f"It may have {ref}" in done.stderr


def test_engine_that_hangs_is_told_in_a_few_seconds(monkeypatch: pytest.MonkeyPatch, ref: str, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/deaf.sock")
    monkeypatch.setattr("imagepins.verify.inspect.ENGINE_SECONDS", 0.5)
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(f"{tmp_path}/deaf.sock")
        deaf.listen()

        with pytest.raises(EngineError, match="did not answer"):
            inspect(ref)


@pytest.mark.engine
def test_image_that_is_nowhere_exits_3(repository: Path, ref: str) -> None:
    done = run([str(repository / "tools/image"), "inspect", ref], check=False)

    assert done.code == 3
    assert "neither" in done.stderr


def test_labels_and_pins_of_an_image_steer_no_terminal() -> None:
    nasty = "\x1b[2J\x9b31m\nred"
    labels = {"org.opencontainers.image.title": nasty}
    pins = {"rccl": {"kind": "git", "id": nasty, "source": nasty}}

    text = as_text(Inspection("a:1", "engine", "sha256:1", "linux/amd64", labels, pins))

    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)
    assert len(text.splitlines()) == 5
