"""git as it is run: over ssh, within a time limit, and with nobody else's settings."""

import threading
from pathlib import Path
from typing import Any

import pytest

from imagepins.errors import NetworkError
from imagepins.gitrepo import command
from imagepins.gitrepo.cache import commits_of, fetch_refs, open_repository
from imagepins.gitrepo.command import environment, git_remote, last_words
from imagepins.gitrepo.history import describe_commits, log
from waiting import is_running, pids_in, wait_for

MAIN = ["refs/heads/main"]


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
    (tmp_path / "ssh").write_text(f"#!/bin/sh\necho $$ >{tmp_path}/pid\nexec sleep 100000\n")
    (tmp_path / "ssh").chmod(0o755)
    monkeypatch.setenv("GIT_SSH_COMMAND", str(tmp_path / "ssh"))
    with pytest.raises(NetworkError, match="no end after 4 s"):
        git_remote(["ls-remote", "git@slow.example:o/r.git"], url="git@slow.example:o/r.git", cwd=tmp_path, timeout=4)
    # It was sent a signal; the kernel ends it when it gets to it.
    wait_for(lambda: not any(map(is_running, pids_in(tmp_path / "pid"))), what="the end of ssh")


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
