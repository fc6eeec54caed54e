"""git over http and ssh: logins, prompts, busy servers, time limits; and nobody else's settings."""

import base64
import http.server
import os
import pty
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from imagepins.errors import NetworkError
from imagepins.gitrepo import command
from imagepins.gitrepo.cache import Repository, commits_of, default_branch, fetch_commit, fetch_refs, open_repository
from imagepins.gitrepo.command import environment, git_remote, last_words
from imagepins.gitrepo.history import describe_commits, log
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


def test_ssh_never_asks_and_keeps_the_user_s_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "ssh")
    (tmp_path / "ssh").write_text(
        f'#!/bin/sh\necho "$@" >>{tmp_path}/said\necho "Host key verification failed." >&2\nexit 255\n'
    )
    (tmp_path / "ssh").chmod(0o755)
    (tmp_path / "gitconfig").write_text(f"[core]\n\tsshCommand = {tmp_path}/ssh -i mykey\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    with pytest.raises(NetworkError, match="ssh key"):
        fetch_refs(open_repository("git@unknown.example:o/r.git", {}, tmp_path / "cache"), MAIN)
    said = (tmp_path / "said").read_text()
    assert "-i mykey -oBatchMode=yes" in said
    assert said.count("\n") == 1


def test_time_limit_ends_git_and_its_helpers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "ssh")
    (tmp_path / "ssh").write_text(f"#!/bin/sh\necho $$ >{tmp_path}/pid\nexec sleep 60\n")
    (tmp_path / "ssh").chmod(0o755)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(tmp_path / "ssh"))
    with pytest.raises(NetworkError, match="no end after 4 s"):
        git_remote(["ls-remote", "git@slow.example:o/r.git"], url="git@slow.example:o/r.git", cwd=tmp_path, timeout=4)
    helper = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 60  # it was sent a signal; the kernel ends it when it gets to it
    while b"sleep" in _command_line(helper):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _command_line(pid: int) -> bytes:
    """The program and arguments of a process; empty for one that is gone or that nobody reaped."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def test_server_that_took_long_to_fail_is_not_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "ssh")
    monkeypatch.setattr(command, "RETRY_SECONDS", 0.5)
    (tmp_path / "ssh").write_text(
        f"#!/bin/sh\necho x >>{tmp_path}/tries\nsleep 1\necho 'Connection timed out' >&2\nexit 255\n"
    )
    (tmp_path / "ssh").chmod(0o755)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(tmp_path / "ssh"))
    with pytest.raises(NetworkError, match="no answer after 1 try "):
        git_remote(["ls-remote", "git@h.example:o/r.git"], url="git@h.example:o/r.git", cwd=tmp_path)
    assert (tmp_path / "tries").read_text() == "x\n"


def test_settings_of_a_surrounding_git_command_do_not_leak_in(
    upstream: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"):
        monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
    found = open_repository(upstream.url, {}, tmp_path / "cache")
    fetch_refs(found, MAIN)
    assert commits_of(found, MAIN)["refs/heads/main"]
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize(
    ("stderr", "told"),
    [
        (
            "ssh: connect to host h port 22: Connection refused\nfatal: Could not read from remote repository.\n",
            "ssh: connect to host h port 22: Connection refused",
        ),
        (
            "Warning: added.\ngit@h: Permission denied (publickey).\nfatal: Could not read from remote\n",
            "git@h: Permission denied (publickey).",
        ),
        (
            "remote:\nremote: ===\nremote: ERROR: project is gone\nfatal: Could not read from remote repository.\n",
            "remote: ERROR: project is gone",
        ),
        ("fatal: the remote end hung up unexpectedly\n", "fatal: the remote end hung up unexpectedly"),
        ("warning: x\nfatal: https://me:secret@h/r not found\n", "fatal: https://***@h/r not found"),
        ("", "no message"),
    ],
)
def test_reason_is_the_line_that_tells_one(stderr: str, told: str) -> None:
    assert last_words(stderr) == told


def test_refused_ssh_connection_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_ALLOW_PROTOCOL", "ssh")
    monkeypatch.setattr(command, "_BACK_OFF_SECONDS", 0.01)
    said = "ssh: connect to host h.example port 22: Connection refused"
    (tmp_path / "ssh").write_text(f"#!/bin/sh\necho '{said}' >&2\nexit 255\n")
    (tmp_path / "ssh").chmod(0o755)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(tmp_path / "ssh"))
    with pytest.raises(NetworkError, match=said):
        fetch_refs(open_repository("git@h.example:o/r.git", {}, tmp_path / "cache"), MAIN)


def test_habits_of_the_user_do_not_change_what_is_read(
    new_upstream: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    up = new_upstream()
    up.commit("first: é", f="1")
    signed = up.git("cat-file", "commit", "HEAD").replace("\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n x\n\n", 1)
    up.git("update-ref", "HEAD", up.git("hash-object", "-t", "commit", "-w", "--stdin", stdin=f"{signed}\n"))
    (tmp_path / "gpg").write_text("#!/bin/sh\necho 'gpg: Good signature' >&2\n")
    (tmp_path / "gpg").chmod(0o755)
    (tmp_path / "gitconfig").write_text(
        f"[log]\n\tshowSignature = true\n[gpg]\n\tprogram = {tmp_path}/gpg\n[color]\n\tui = always\n"
        "[i18n]\n\tlogOutputEncoding = latin1\n[diff]\n\tnoprefix = true\n[fetch]\n\tprune = true\n\tpruneTags = true\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    found = open_repository(up.url, {}, tmp_path / "cache")
    fetch_refs(found, MAIN)
    tip = commits_of(found, MAIN)["refs/heads/main"] or ""
    assert describe_commits(found, [tip])[tip].subject == "first: é"
    assert [commit.sha for commit in log(found, f"{tip}~0", tip)] == []


def test_environment_says_no_to_every_prompt() -> None:
    env = environment({"GIT_DIR": "x", "HOME": "/home/me", "GIT_SSH_COMMAND": "ssh -v"})
    assert "GIT_DIR" not in env
    assert env["HOME"] == "/home/me"
    assert (env["GIT_TERMINAL_PROMPT"], env["GIT_ASKPASS"], env["LC_ALL"]) == ("0", "true", "C")
    assert env["GIT_SSH_COMMAND"].startswith("ssh -v -oBatchMode=yes")
    assert "ext" not in env["GIT_ALLOW_PROTOCOL"]


def test_parallel_runs_share_one_cache(upstream: Any, tmp_path: Path) -> None:
    failures: list[BaseException] = []

    def fetch() -> None:
        try:
            found = open_repository(upstream.url, {}, tmp_path / "cache")
            fetch_refs(found, MAIN)
            assert commits_of(found, MAIN)["refs/heads/main"] == upstream.sha("main")
        except BaseException as error:  # noqa: BLE001 - told below
            failures.append(error)

    threads = [threading.Thread(target=fetch) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(list((tmp_path / "cache/git").iterdir())) == 1


def test_second_fetch_brings_only_what_is_new(upstream: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = open_repository(upstream.url, {}, tmp_path / "cache")
    fetch_refs(found, MAIN)
    monkeypatch.setenv("GIT_TRACE_PACKET", str(tmp_path / "packets"))
    fetch_refs(found, MAIN)
    assert "command=fetch" not in (tmp_path / "packets").read_text()
    upstream.commit("new", f="new")
    fetch_refs(found, MAIN)
    assert "have " in (tmp_path / "packets").read_text()
