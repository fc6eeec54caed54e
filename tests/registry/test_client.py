"""Faults of a registry: busy, broken, in disguise, or wanting a login."""

import base64
import datetime
import hashlib
import json
from collections.abc import Callable
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from imagepins.registry.answers import Absent, Present, Unknown
from imagepins.registry.client import Client
from imagepins.registry.images import look_up, read_config

Faulty = Callable[[Callable[[BaseHTTPRequestHandler], None]], str]
MANIFEST = json.dumps({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json"}).encode()
DIGEST = f"sha256:{hashlib.sha256(MANIFEST).hexdigest()}"
UNKNOWN = {"errors": [{"code": "MANIFEST_UNKNOWN"}]}


def say(request: BaseHTTPRequestHandler, status: int, body: bytes | dict[str, Any] = b"", **headers: str) -> None:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    request.send_response(status)
    for name, value in {"Content-Length": str(len(content)), **headers}.items():
        request.send_header(name.replace("_", "-"), value)
    request.end_headers()
    if request.command != "HEAD":
        request.wfile.write(content)


def good(request: BaseHTTPRequestHandler) -> None:
    say(request, 200, MANIFEST, Docker_Content_Digest=DIGEST, Content_Type="application/vnd.oci.image.manifest.v1+json")


@pytest.fixture
def asked(docker_config: object) -> Callable[[str], tuple[Any, list[float]]]:
    """Looks an image up and tells the answer and the pauses that were made."""

    def ask(address: str) -> tuple[Any, list[float]]:
        pauses: list[float] = []
        with Client(sleep=pauses.append) as client:
            return look_up(client, f"{address}/x:1"), pauses

    return ask


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503])
def test_busy_registry_is_asked_again(faulty: Faulty, asked: Callable[[str], Any], status: int) -> None:
    count = 0

    def answer(request: BaseHTTPRequestHandler) -> None:
        nonlocal count
        count += 1
        say(request, status) if count < 3 else good(request)

    found, pauses = asked(faulty(answer))
    assert isinstance(found, Present)
    assert pauses == [0.5, 1.0]


@pytest.mark.parametrize("status", [429, 503])
def test_registry_that_stays_busy_is_unknown(faulty: Faulty, asked: Callable[[str], Any], status: int) -> None:
    found, pauses = asked(faulty(lambda request: say(request, status)))
    assert isinstance(found, Unknown)
    assert str(status) in found.reason
    assert len(pauses) == 3


def test_retry_after_is_honoured_in_seconds_and_as_a_date(faulty: Faulty, asked: Callable[[str], Any]) -> None:
    date = format_datetime(datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=20), usegmt=True)
    waits = iter(["7", date])

    def answer(request: BaseHTTPRequestHandler) -> None:
        wait = next(waits, None)
        say(request, 429, Retry_After=wait) if wait else good(request)

    found, pauses = asked(faulty(answer))
    assert isinstance(found, Present)
    assert pauses[0] == 7
    assert 17 < pauses[1] <= 20


def test_registry_that_wants_an_hour_is_unknown_at_once(faulty: Faulty, asked: Callable[[str], Any]) -> None:
    found, pauses = asked(faulty(lambda request: say(request, 429, Retry_After="3600")))
    assert isinstance(found, Unknown)
    assert pauses == []


def test_nobody_there_is_unknown(asked: Callable[[str], Any]) -> None:
    found, _ = asked("127.0.0.1:9")
    assert isinstance(found, Unknown)
    assert "does not answer" in found.reason


def test_page_of_a_proxy_with_404_is_unknown(faulty: Faulty, asked: Callable[[str], Any]) -> None:
    found, _ = asked(faulty(lambda request: say(request, 404, b"<html>blocked</html>")))
    assert isinstance(found, Unknown)


def test_404_of_a_registry_is_absent(faulty: Faulty, asked: Callable[[str], Any]) -> None:
    found, _ = asked(faulty(lambda request: say(request, 404, UNKNOWN)))
    assert isinstance(found, Absent)


@pytest.mark.parametrize("status", [401, 403])
def test_refusal_is_unknown(faulty: Faulty, asked: Callable[[str], Any], status: int) -> None:
    found, _ = asked(faulty(lambda request: say(request, status, {"errors": [{"code": "DENIED"}]})))
    assert isinstance(found, Unknown)


def test_connection_cut_in_the_middle_is_unknown(faulty: Faulty, asked: Callable[[str], Any]) -> None:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Length", "1000")
        request.end_headers()
        request.wfile.write(b"{")
        request.close_connection = True

    found, _ = asked(faulty(answer))
    assert isinstance(found, Unknown)


def test_content_that_is_not_its_digest_is_unknown(faulty: Faulty, docker_config: object) -> None:
    address = faulty(lambda request: say(request, 200, b'{"other": 1}'))
    with Client(sleep=lambda _: None) as client:
        assert isinstance(read_config(client, f"{address}/x@{DIGEST}"), Unknown)


def test_endless_answer_is_cut_off(faulty: Faulty, docker_config: object) -> None:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.end_headers()
        try:
            while True:
                request.wfile.write(b"x" * (1 << 20))
        except OSError:
            request.close_connection = True

    address = faulty(answer)
    with Client(sleep=lambda _: None) as client:
        assert isinstance(read_config(client, f"{address}/x:1"), Unknown)


def test_missing_digest_header_is_made_up_from_the_content(faulty: Faulty, asked: Callable[[str], Any]) -> None:
    found, _ = asked(faulty(lambda request: say(request, 200, MANIFEST)))
    assert isinstance(found, Present)
    assert found.digest == DIGEST


def _with_token(faulty: Faulty, seen: list[str]) -> str:
    def token(request: BaseHTTPRequestHandler) -> None:
        seen.append(f"{request.headers.get('Authorization', 'anonymous')} {request.path}")
        say(request, 200, {"token": "t0ken"})

    service = faulty(token)

    def answer(request: BaseHTTPRequestHandler) -> None:
        if request.headers.get("Authorization") == "Bearer t0ken":
            good(request)
        else:
            realm = f'Bearer realm="http://{service}/token",service="reg",scope="repository:x:pull"'
            say(request, 401, WWW_Authenticate=realm)

    return faulty(answer)


def test_anonymous_token_is_fetched_for_the_scope(faulty: Faulty, asked: Callable[[str], Any]) -> None:
    seen: list[str] = []
    found, _ = asked(_with_token(faulty, seen))
    assert isinstance(found, Present)
    assert seen == ["anonymous /token?service=reg&scope=repository%3Ax%3Apull"]


def test_login_of_docker_is_used(
    faulty: Faulty, asked: Callable[[str], Any], docker_config: Callable[[dict[str, Any]], None]
) -> None:
    seen: list[str] = []
    address = _with_token(faulty, seen)
    login = base64.b64encode(b"me:pw").decode()
    docker_config({"auths": {address: {"auth": login}}})
    found, _ = asked(address)
    assert isinstance(found, Present)
    assert seen[0].startswith(f"Basic {login} ")


def test_basic_login_is_used_where_the_registry_asks_for_it(
    faulty: Faulty, asked: Callable[[str], Any], docker_config: Callable[[dict[str, Any]], None]
) -> None:
    login = base64.b64encode(b"me:pw").decode()

    def answer(request: BaseHTTPRequestHandler) -> None:
        if request.headers.get("Authorization") == f"Basic {login}":
            good(request)
        else:
            say(request, 401, WWW_Authenticate='Basic realm="r"')

    address = faulty(answer)
    found, _ = asked(address)
    assert isinstance(found, Unknown)
    assert "docker login" in found.reason
    docker_config({"auths": {address: {"auth": login}}})
    assert isinstance(asked(address)[0], Present)


@pytest.mark.parametrize("status", [400, 404, 405])
def test_head_that_is_refused_is_asked_again_as_get(faulty: Faulty, asked: Callable[[str], Any], status: int) -> None:
    def answer(request: BaseHTTPRequestHandler) -> None:
        say(request, status if request.command == "HEAD" else 200, MANIFEST)

    found, _ = asked(faulty(answer))
    assert isinstance(found, Present)


@pytest.mark.parametrize(
    "challenge",
    [
        'Basic realm="registry", Bearer realm="{realm}", service="reg"',
        'Negotiate, Bearer Realm="{realm}",service=reg',
        'Negotiate YII==, Basic realm="x, Bearer", Bearer service="reg" , realm="{realm}"',
        'Bearer realm="{realm}"',
    ],
)
def test_login_is_chosen_among_several(faulty: Faulty, asked: Callable[[str], Any], challenge: str) -> None:
    def answer(request: BaseHTTPRequestHandler) -> None:
        if request.path.startswith("/token"):
            assert "service=&" not in request.path
            say(request, 200, b'{"access_token": "good"}')
        elif request.headers["Authorization"] == "Bearer good":
            say(request, 200, MANIFEST)
        else:
            offered = challenge.replace("{realm}", f"http://{request.headers['Host']}/token")
            say(request, 401, b"", **{"WWW-Authenticate": offered})

    found, _ = asked(faulty(answer))
    assert isinstance(found, Present)
