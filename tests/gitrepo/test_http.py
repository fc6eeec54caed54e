"""git over http: logins, prompts, busy servers, repositories that have moved."""

import base64
import http.server
import os
import pty
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from imagepins.errors import NetworkError
from imagepins.gitrepo import command
from imagepins.gitrepo.cache import Repository, commits_of, default_branch, fetch_commit, fetch_refs, open_repository
from imagepins.gitrepo.trees import read_file

MAIN = ["refs/heads/main"]


@dataclass
class GitServer:
    """git's own http backend behind a server that can be made to misbehave."""

    url: str = ""
    root: Path = Path()
    login: str = ""
    statuses: list[int] = field(default_factory=list)
    asked: int = 0


def _serve(request: http.server.BaseHTTPRequestHandler, made: GitServer) -> None:
    made.asked += 1
    if made.statuses:
        request.send_response(made.statuses.pop(0))
        request.send_header("Content-Length", "0")
        request.end_headers()
        return
    wanted = base64.b64encode(made.login.encode()).decode()
    if made.login and request.headers.get("Authorization") != f"Basic {wanted}":
        request.send_response(401)
        request.send_header("WWW-Authenticate", 'Basic realm="git"')
        request.send_header("Content-Length", "0")
        request.end_headers()
        return
    if request.path.startswith("/old/"):
        request.send_response(301)
        request.send_header("Location", request.path.removeprefix("/old"))
        request.send_header("Content-Length", "0")
        request.end_headers()
        return
    path, _, query = request.path.partition("?")
    body = request.rfile.read(int(request.headers.get("Content-Length", 0)))
    env = {
        "PATH": os.environ["PATH"],
        "GIT_PROJECT_ROOT": str(made.root),
        "GIT_HTTP_EXPORT_ALL": "1",
        "REQUEST_METHOD": request.command,
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "CONTENT_TYPE": request.headers.get("Content-Type", ""),
        "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
        "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
        "GIT_CONFIG_GLOBAL": os.devnull,
    }
    head, _, content = subprocess.run(
        ["git", "http-backend"], input=body, env=env, capture_output=True, check=True
    ).stdout.partition(b"\r\n\r\n")
    headers = dict(line.split(": ", 1) for line in head.decode().splitlines())
    request.send_response(int(headers.pop("Status", "200").split()[0]))
    for name, value in headers.items():
        request.send_header(name, value)
    request.send_header("Content-Length", str(len(content)))
    request.end_headers()
    request.wfile.write(content)


@pytest.fixture
def server(upstream: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[GitServer]:
    made = GitServer(root=upstream.path.parent)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            _serve(self, made)

        def do_POST(self) -> None:
            _serve(self, made)

        def log_message(self, *_: Any) -> None:
            pass

    running = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.url = f"http://127.0.0.1:{running.server_address[1]}/upstream"
    monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "file:http:https:ssh")
    monkeypatch.setattr(command, "_BACK_OFF_SECONDS", 0.01)
    thread = threading.Thread(target=running.serve_forever, daemon=True)
    thread.start()
    yield made
    running.shutdown()
    thread.join()
    running.server_close()


@pytest.fixture
def opened(server: GitServer, tmp_path: Path) -> Repository:
    """The server's repository under the https address it is a mirror of."""
    url = "https://github.com/ROCm/rccl.git"
    return open_repository(url, {url: server.url}, tmp_path / "cache")


def test_everything_works_over_http(opened: Repository, upstream: Any) -> None:
    fetch_refs(opened, [*MAIN, "refs/tags/v1"])
    assert commits_of(opened, MAIN)["refs/heads/main"] == upstream.sha("main")
    assert fetch_commit(opened, upstream.sha("refs/old8")) is None
    tree = upstream.git("rev-parse", "main^{tree}")
    assert read_file(opened, tree, "f") == "5\n"
    assert default_branch(opened)[0] == "main"


def test_repository_that_has_moved_is_told_once(
    server: GitServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], upstream: Any
) -> None:
    url = "https://github.com/ROCm/rccl.git"
    opened = open_repository(url, {url: server.url.replace("/upstream", "/old/upstream")}, tmp_path / "cache")
    fetch_refs(opened, MAIN)
    assert fetch_commit(opened, upstream.sha("refs/old8")) is None
    assert capsys.readouterr().err == (
        f"{url} leads to {server.url} now; write that into pins.yaml, for others may come to own the old address\n"
    )


def test_busy_server_is_asked_again(opened: Repository, server: GitServer, upstream: Any) -> None:
    server.statuses = [503, 502]
    fetch_refs(opened, MAIN)
    assert commits_of(opened, MAIN)["refs/heads/main"] == upstream.sha("main")


def test_server_that_stays_busy_is_no_answer(opened: Repository, server: GitServer) -> None:
    server.statuses = [503] * 20
    with pytest.raises(NetworkError, match="no answer after 3 tries"):
        fetch_refs(opened, MAIN)
    assert server.asked == 3


def test_missing_repository_is_not_asked_for_again(opened: Repository, server: GitServer) -> None:
    server.statuses = [404] * 20
    with pytest.raises(NetworkError, match="there is no"):
        fetch_refs(opened, MAIN)
    assert server.asked == 1


def test_credential_helper_of_the_user_is_used(
    opened: Repository, server: GitServer, upstream: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.login = "me:hunter2"
    helper = "!f() { echo username=me; echo password=hunter2; }; f"
    (tmp_path / "gitconfig").write_text(f'[credential]\n\thelper = "{helper}"\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    fetch_refs(opened, MAIN)
    assert commits_of(opened, MAIN)["refs/heads/main"] == upstream.sha("main")


def test_wrong_login_is_said_without_the_password(
    opened: Repository, server: GitServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.login = "me:right"
    (tmp_path / "gitconfig").write_text(
        f'[url "{server.url.replace("//", "//me:hunter2@")}"]\n\tinsteadOf = {server.url}\n'
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    with pytest.raises(NetworkError) as caught:
        fetch_refs(opened, MAIN)
    assert "who asks" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_no_question_is_asked_on_a_terminal(server: GitServer, tmp_path: Path) -> None:
    server.login = "me:right"
    code = (
        "import sys; from pathlib import Path; from imagepins.gitrepo.cache import *\n"
        "url = 'https://github.com/ROCm/rccl.git'\n"
        "fetch_refs(open_repository(url, {url: sys.argv[1]}, Path(sys.argv[2])), ['refs/heads/main'])"
    )
    parent, child = pty.openpty()
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "tools")}
    with subprocess.Popen(
        [sys.executable, "-c", code, server.url, str(tmp_path)],
        stdin=child, stdout=child, stderr=child, env=env, start_new_session=True,
    ) as running:  # fmt: skip
        assert running.wait(120) == 1
    os.close(child)
    said = os.read(parent, 1 << 16).decode()
    os.close(parent)
    assert "NetworkError" in said
    assert "Username" not in said.split("terminal prompts disabled")[0].split("could not read")[0]
