"""A base from a registry: pulled where one answers, and known as such."""

import gzip
import hashlib
import io
import json
import tarfile
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from imagepins.engine import debootstrap
from imagepins.engine.base import Base, ensure_base

Fake = Callable[[str, str], Path]

pytestmark = [pytest.mark.engine, pytest.mark.usefixtures("at_engine")]


def digest(blob: bytes) -> str:
    return f"sha256:{hashlib.sha256(blob).hexdigest()}"


def archive() -> bytes:
    """A layer of one file."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as layer:
        entry = tarfile.TarInfo("etc/debian_version")
        entry.size = 5
        layer.addfile(entry, io.BytesIO(b"13.9\n"))
    return raw.getvalue()


OCI = "application/vnd.oci.image"
LAYER = archive()
ZIPPED = gzip.compress(LAYER, mtime=0)
ROOTFS = {"type": "layers", "diff_ids": [digest(LAYER)]}
CONFIG = json.dumps({"architecture": "amd64", "os": "linux", "config": {"Cmd": ["bash"]}, "rootfs": ROOTFS}).encode()
MANIFEST = json.dumps(
    {
        "schemaVersion": 2,
        "mediaType": f"{OCI}.manifest.v1+json",
        "config": {"mediaType": f"{OCI}.config.v1+json", "digest": digest(CONFIG), "size": len(CONFIG)},
        "layers": [{"mediaType": f"{OCI}.layer.v1.tar+gzip", "digest": digest(ZIPPED), "size": len(ZIPPED)}],
    }
).encode()


class Handler(BaseHTTPRequestHandler):
    """As much of the registry protocol as an engine needs to pull the one image there is."""

    protocol_version = "HTTP/1.1"
    default_request_version = "HTTP/1.0"  # a status line also for the TLS that an engine tries first

    def do_GET(self) -> None:
        blobs = {"/v2/": b"{}", digest(CONFIG): CONFIG, digest(ZIPPED): ZIPPED}
        name = self.path if self.path == "/v2/" else self.path.partition("?")[0].rpartition("/")[2]
        if "/manifests/" in self.path and name != "absent-slim":
            self._answer(200, MANIFEST, f"{OCI}.manifest.v1+json")
        elif name in blobs:
            self._answer(200, blobs[name])
        else:
            self._answer(404, b'{"errors": [{"code": "MANIFEST_UNKNOWN", "message": "manifest unknown"}]}')

    def do_HEAD(self) -> None:
        self.do_GET()

    def _answer(self, status: int, body: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Docker-Content-Digest", digest(body))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        """Stay silent."""


@pytest.fixture
def registry() -> Iterator[str]:
    """A registry of one image, by any name; yields ``127.0.0.1:PORT``."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


def test_base_is_pulled_where_a_registry_answers(registry: str, said: list[str]) -> None:
    ref = f"{registry}/debian:trixie-slim"
    pulled = ensure_base(said.append, ref=ref)
    assert pulled == Base(ref, "registry", digest(MANIFEST), pulled.id)
    assert said == [f"docker pull {ref}"]


def test_base_that_was_pulled_is_not_asked_for_again(registry: str, said: list[str]) -> None:
    ref = f"{registry}/debian:again-slim"
    ensure_base(said.append, ref=ref)
    said.clear()
    assert ensure_base(said.append, ref=ref).origin == "registry"
    assert said == []


def test_base_that_a_registry_does_not_have_is_made(
    registry: str, said: list[str], fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(debootstrap, "KEYRING", Path(__file__))
    fake("apt-get", "")
    fake("debootstrap", "for word; do case $word in */root) mkdir -p $word/etc;; esac; done")
    ref = f"{registry}/debian:absent-slim"
    assert ensure_base(said.append, ref=ref).origin == "debootstrap"
    assert said[0] == f"docker pull {ref}"
    assert said[1].startswith(f"the registry does not give {ref} (docker pull: ")
