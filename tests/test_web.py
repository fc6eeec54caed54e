"""What is asked by HTTP: whole or not at all, within limits, and again only where that can help."""

import gzip
import socket
import threading
from collections.abc import Callable, Iterator

import pytest
import requests

from imagepins import web
from imagepins.errors import NetworkError

LIMITS = web.Limits(seconds=30, size=1 << 20)
SHORT = web.Limits(seconds=0.3, size=1 << 20)
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
Serve = Callable[..., str]
Answer = bytes | Callable[[socket.socket, threading.Event], None]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts a server that gives connections its answers in turn, the last one for ever; tells its address."""
    over = threading.Event()
    sockets: list[socket.socket] = []

    def start(*answers: Answer, connections: list[int] | None = None) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        sockets.append(listener)

        def accept() -> None:
            for number in range(1000):
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                if connections is not None:
                    connections.append(number)
                answer = answers[min(number, len(answers) - 1)]
                threading.Thread(target=reply, args=(connection, answer), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        return f"http://127.0.0.1:{listener.getsockname()[1]}/x"

    def reply(connection: socket.socket, answer: Answer) -> None:
        with connection:
            connection.recv(1 << 16)
            try:
                connection.sendall(answer) if isinstance(answer, bytes) else answer(connection, over)
            except OSError:
                return

    yield start
    over.set()
    for each in sockets:
        each.shutdown(socket.SHUT_RDWR)
        each.close()


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that were made, in seconds; none takes any time."""
    made: list[float] = []
    monkeypatch.setattr("time.sleep", made.append)
    return made


def dripping(start: bytes) -> Answer:
    """An answer that begins so, and of which one byte after the other comes for ever."""

    def drip(connection: socket.socket, over: threading.Event) -> None:
        connection.sendall(start)
        while not over.wait(0.02):
            connection.sendall(b"a")

    return drip


@pytest.mark.parametrize(
    "start",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nX-Long: ",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n",
    ],
    ids=["status", "header", "body", "chunk", "endless"],
)
def test_server_that_sends_byte_after_byte_ends_with_the_time_limit(
    serve: Serve, pauses: list[float], start: bytes
) -> None:
    with pytest.raises(NetworkError, match=r"is not done after 0\.3 s"):
        web.get(serve(dripping(start)), SHORT)
    assert pauses == []


def test_time_limit_counts_where_nothing_is_sent_at_all(serve: Serve, pauses: list[float]) -> None:
    with pytest.raises(NetworkError, match=r"is not done after 0\.3 s"):
        web.get(serve(lambda _, over: over.wait(60) and None), SHORT)


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_body_that_is_too_large_is_not_read_on(serve: Serve, encoding: str) -> None:
    body = b"x" * (4 << 20)
    sent = gzip.compress(body) if encoding == "gzip" else body
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\nContent-Length: {len(sent)}\r\n\r\n"
    with pytest.raises(NetworkError, match="sends more than 1 MiB"):
        web.get(serve(head.encode() + sent), LIMITS)


@pytest.mark.parametrize(
    "fault",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
        b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 429 Slow Down\r\nContent-Length: 0\r\n\r\n",
    ],
    ids=["cut", "half", "503", "429"],
)
def test_fault_that_passes_is_asked_again_after_a_pause(serve: Serve, pauses: list[float], fault: bytes) -> None:
    assert web.get(serve(fault, fault, OK), LIMITS).text == "ok"
    assert pauses == [0.5, 1.0]


@pytest.mark.parametrize("status", ["200 OK", "301 Moved", "401 Who", "403 No", "404 Not Found"])
def test_answer_is_an_answer(serve: Serve, pauses: list[float], status: str) -> None:
    connections: list[int] = []
    url = serve(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode(), connections=connections)
    assert web.get(url, LIMITS).status_text == status
    assert (connections, pauses) == ([0], [])


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"HTTP/1.1 302 Found\r\nLocation: http://[x\r\nContent-Length: 0\r\n\r\n", "does not answer"),
        (b"HTTP/1.1 302 Found\r\nLocation: ftp://x/y\r\nContent-Length: 0\r\n\r\n", "does not answer"),
        (b"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", "does not answer"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "does not answer"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnone", "does not answer"),
        (b"HTTP/1.1 429 Slow\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n", "wants 3600 s of pause"),
    ],
    ids=["redirect-to-none", "redirect-elsewhere", "redirect-round", "ssh", "no-gzip", "long-pause"],
)
def test_nonsense_is_no_answer(serve: Serve, pauses: list[float], answer: bytes, message: str) -> None:
    with pytest.raises(NetworkError, match=message):
        web.get(serve(answer), LIMITS)


def test_nobody_there_is_told_without_what_the_address_holds(pauses: list[float]) -> None:
    with pytest.raises(NetworkError, match="after 3 tries") as told:
        web.get("http://me:s3cret@127.0.0.1:9/x", LIMITS)
    assert "s3cret" not in str(told.value)
    assert pauses == [0.5, 1.0]


def test_wrong_code_is_not_taken_for_a_fault() -> None:
    def wrong() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        web.retried("x", wrong)
    with requests.Session() as session, pytest.raises(TypeError):
        web.send(session, "GET", "http://127.0.0.1:9/", LIMITS, nosuch=1)
