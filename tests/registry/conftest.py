"""A real registry with images made by hand, and a server that answers what a test says."""

import hashlib
import http.server
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from servers import serve_registry
from waiting import PATIENCE

OCI = "application/vnd.oci.image"


class Registry:
    """A running registry; ``push_*`` put documents into it."""

    def __init__(self, address: str) -> None:
        self.address = address

    def push_blob(self, repository: str, content: bytes) -> dict[str, Any]:
        """Store a blob and return its descriptor."""
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        base = f"http://{self.address}/v2/{repository}/blobs/uploads/"
        location = requests.post(base, timeout=PATIENCE).headers["Location"]
        joint = "&" if "?" in location else "?"
        answer = requests.put(f"{location}{joint}digest={digest}", data=content, timeout=PATIENCE)
        assert answer.status_code == 201, answer.text
        return {"digest": digest, "size": len(content)}

    def push_manifest(self, repository: str, tag: str, document: dict[str, Any]) -> dict[str, Any]:
        """Store a manifest or index under ``tag`` and return its descriptor."""
        content = json.dumps(document).encode()
        url = f"http://{self.address}/v2/{repository}/manifests/{tag}"
        headers = {"Content-Type": document["mediaType"]}
        answer = requests.put(url, data=content, headers=headers, timeout=PATIENCE)
        assert answer.status_code == 201, answer.text
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        return {"mediaType": document["mediaType"], "digest": digest, "size": len(content)}

    def push_image(self, repository: str, tag: str, platform: str = "linux/amd64", **labels: str) -> dict[str, Any]:
        """Store an image without layers and return its descriptor, platform included."""
        system, architecture = platform.split("/")[:2]
        config = {
            "os": system,
            "architecture": architecture,
            "config": {"Labels": labels},
            "rootfs": {"type": "layers"},
        }
        blob = self.push_blob(repository, json.dumps(config).encode())
        document = {
            "schemaVersion": 2,
            "mediaType": f"{OCI}.manifest.v1+json",
            "config": {"mediaType": f"{OCI}.config.v1+json", **blob},
            "layers": [],
        }
        found = self.push_manifest(repository, tag, document)
        return {**found, "platform": {"os": system, "architecture": architecture}}

    def push_index(self, repository: str, tag: str, *images: dict[str, Any]) -> str:
        """Store an index of images and return its digest."""
        document = {"schemaVersion": 2, "mediaType": f"{OCI}.index.v1+json", "manifests": list(images)}
        return str(self.push_manifest(repository, tag, document)["digest"])


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    """A registry on loopback."""
    with serve_registry(tmp_path_factory.mktemp("registry")) as address:
        yield Registry(address)


Answer = Callable[[http.server.BaseHTTPRequestHandler], None]


@pytest.fixture
def faulty() -> Iterator[Callable[[Answer], str]]:
    """Starts servers on the loopback that answer as a function says; gives their address."""
    started: list[tuple[http.server.ThreadingHTTPServer, threading.Thread]] = []

    def start(answer: Answer) -> str:
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                answer(self)

            def do_HEAD(self) -> None:
                answer(self)

            def do_POST(self) -> None:
                answer(self)

            def log_message(self, *_: Any) -> None:
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        started.append((server, thread))
        return f"127.0.0.1:{server.server_address[1]}"

    yield start
    for server, thread in started:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def docker_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, Any]], None]:
    """Writes the docker configuration that credentials are taken from."""
    folder = tmp_path / "docker"
    folder.mkdir()
    monkeypatch.setenv("DOCKER_CONFIG", str(folder))

    def write(document: dict[str, Any]) -> None:
        (folder / "config.json").write_text(json.dumps(document))

    write({})
    return write
