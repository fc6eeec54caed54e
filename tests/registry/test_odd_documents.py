"""Documents and headers that no good registry sends: an answer that is unknown, and never a traceback or a pin."""

import hashlib
import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from imagepins.registry.answers import Absent, Present, Unknown
from imagepins.registry.client import Client
from imagepins.registry.documents import environment, layer_makers, layer_sizes
from imagepins.registry.images import look_up, platforms, read_config

Faulty = Callable[[Callable[[BaseHTTPRequestHandler], None]], str]
INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"


def serving(content: bytes, **headers: str) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        for name, value in {"Content-Length": str(len(content)), "Content-Type": MANIFEST, **headers}.items():
            request.send_header(name.replace("_", "-"), value)
        request.end_headers()
        if request.command != "HEAD":
            request.wfile.write(content)

    return answer


@pytest.mark.parametrize(
    "document",
    [
        {"mediaType": INDEX, "manifests": None},
        {"mediaType": INDEX, "manifests": "text"},
        {"mediaType": INDEX, "manifests": ["text", None, {"platform": "linux/amd64"}]},
        {"mediaType": INDEX, "manifests": [{"platform": {"os": "linux", "architecture": "amd64"}}]},
        {"mediaType": INDEX, "manifests": [{"platform": {"os": "linux", "architecture": "amd64"}, "digest": "../x"}]},
        {"mediaType": MANIFEST},
        {"mediaType": MANIFEST, "config": "text"},
        {"mediaType": MANIFEST, "config": {"digest": ["list"]}},
        {"mediaType": MANIFEST, "config": {"digest": "../../x"}},
        {"mediaType": ["list"]},
    ],
    ids=str,
)
def test_odd_document_is_no_image(faulty: Faulty, docker_config: object, document: dict[str, Any]) -> None:
    ref = f"{faulty(serving(json.dumps(document).encode()))}/x:1"
    with Client(sleep=lambda _: None) as client:
        assert isinstance(look_up(client, ref, platform="linux/amd64"), (Absent, Unknown))
        assert isinstance(read_config(client, ref), (Absent, Unknown))
        found = platforms(client, ref)
        assert isinstance(found, Unknown) or not found


@pytest.mark.parametrize(
    ("content_type", "content"),
    [
        ("application/vnd.docker.distribution.manifest.v1+prettyjws", {"schemaVersion": 1, "name": "x"}),
        ("application/json", {"schemaVersion": 1, "name": "x"}),
        ("application/json", {"login": "required"}),
    ],
)
def test_document_that_is_no_manifest_gives_no_digest(
    faulty: Faulty, docker_config: object, content_type: str, content: dict[str, Any]
) -> None:
    headers = {"Content-Type": content_type, "Docker-Content-Digest": "sha256:" + "0" * 64}
    ref = f"{faulty(serving(json.dumps(content).encode(), **headers))}/x:1"
    with Client(sleep=lambda _: None) as client:
        assert isinstance(look_up(client, ref), Unknown)
        assert isinstance(look_up(client, ref, platform="linux/amd64"), Unknown)


def test_document_nested_too_deeply_is_unknown(faulty: Faulty, docker_config: object) -> None:
    with Client(sleep=lambda _: None) as client:
        assert isinstance(read_config(client, f"{faulty(serving(b'[' * 200_000))}/x:1"), Unknown)


@pytest.mark.parametrize("header", ["sha256:short", "latest", '"; rm -rf /', "sha512:" + "0" * 128])
def test_header_that_is_no_digest_is_not_believed(faulty: Faulty, docker_config: object, header: str) -> None:
    content = json.dumps({"mediaType": MANIFEST}).encode()
    with Client(sleep=lambda _: None) as client:
        answer = look_up(client, f"{faulty(serving(content, Docker_Content_Digest=header))}/x:1")
    assert isinstance(answer, Present)
    assert answer.digest == f"sha256:{hashlib.sha256(content).hexdigest()}"


def test_pause_in_odd_digits_is_no_number(faulty: Faulty, docker_config: object) -> None:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(503)
        request.send_header("Retry-After", "\xb2")
        request.send_header("Content-Length", "0")
        request.end_headers()

    pauses: list[float] = []
    with Client(sleep=pauses.append) as client:
        assert isinstance(look_up(client, f"{faulty(answer)}/x:1"), Unknown)
    assert pauses == [0.5, 1.0, 2.0]


def test_netrc_does_not_take_the_place_of_the_token(
    faulty: Faulty, docker_config: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = json.dumps({"mediaType": MANIFEST}).encode()
    token = json.dumps({"token": "good"}).encode()

    def answer(request: BaseHTTPRequestHandler) -> None:
        if request.path.startswith("/token"):
            serving(token)(request)
        elif request.headers["Authorization"] == "Bearer good":
            serving(content)(request)
        else:
            request.send_response(401)
            host = request.headers["Host"]
            request.send_header("WWW-Authenticate", f'Bearer realm="http://{host}/token",service="s"')
            request.send_header("Content-Length", "0")
            request.end_headers()

    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password other\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    with Client(sleep=lambda _: None) as client:
        assert isinstance(look_up(client, f"{faulty(answer)}/x:1"), Present)


@pytest.mark.parametrize("odd", [None, 1, "text", {}, [], [None, 1, "=", {"size": "1"}, {"created_by": 1}]])
def test_documents_of_another_form_tell_nothing(odd: Any) -> None:
    assert set(environment({"config": {"Env": odd}})) <= {""}
    assert environment({"config": odd}) == {}
    assert set(layer_makers({"history": odd})) <= {"", "1"}
    assert set(layer_sizes({"layers": odd})) <= {0}
