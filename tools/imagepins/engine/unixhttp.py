"""One GET over an engine's unix socket → status, headers and body.

HTTP/1.0 keeps the answer in one piece, so neither http.client nor the docker SDK has to be imported to ask an engine
whether it is there: both cost more than everything else that question takes.
"""

import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Response:
    """An answer of the engine; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: str


def get(path: str, resource: str, *, timeout: float) -> Response:
    """GET ``resource`` from the unix socket at ``path``, within ``timeout`` seconds in all.

    Raises OSError where the socket cannot be used (FileNotFoundError, PermissionError, ConnectionRefusedError,
    TimeoutError) and ValueError where what answers does not speak HTTP.
    """
    deadline = time.monotonic() + timeout
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout)
        connection.connect(path)
        connection.sendall(f"GET {resource} HTTP/1.0\r\nHost: docker\r\n\r\n".encode())
        raw = bytearray()
        while block := connection.recv(65536):
            raw += block
            connection.settimeout(max(deadline - time.monotonic(), 0.001))
    return _parse(raw.decode(errors="replace"))


def _parse(text: str) -> Response:
    head, _, body = text.partition("\r\n\r\n")
    first, *lines = head.split("\r\n")
    words = first.split(" ", 2)
    if not first.startswith("HTTP/") or len(words) < 2 or not words[1].isdigit():
        raise ValueError(f"no HTTP answer but {first[:80]!r}")
    pairs = (line.partition(":") for line in lines)
    return Response(int(words[1]), {name.strip().lower(): value.strip() for name, _, value in pairs}, body)
