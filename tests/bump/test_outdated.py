"""--outdated: every pin against what it tracks."""

import datetime
import http.server
import json
import os
import re
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

Pinned = Callable[..., Any]


def statuses(project: Any) -> dict[str, Any]:
    ended = project.run("--outdated", "--json")
    return {status["pin"]: {**status, "code": ended.code} for status in ended.json["pins"]}


@pytest.mark.parametrize(
    ("revision", "track", "words", "attention"),
    [
        ("main", "{branch: main}", "current", ""),
        ("refs/keep/c3", "{branch: main}", "behind by 3", ""),
        ("refs/keep/c3", "{tag: v1}", "current", ""),
        ("refs/keep/c2", "{tag: v1}", "behind by 1", "tag v1 was moved"),
        ("refs/keep/c3", "{branch: nosuch}", "unknown", "branch nosuch does not exist on"),
        ("refs/old8", "{branch: main}", "ahead of what it tracks", "not part of branch main"),
        ("refs/pull/8/head", '{pull: "8", then: main}', "current", ""),
        ("refs/old8", '{pull: "8", then: main}', "behind by 1", "force-pushed"),
        ("refs/pull/7/head", '{pull: "7", then: main}', "behind by 2", "merged (squash)"),
        ("main", "", "current", ""),
        ("refs/keep/c4", "", "behind by 2", ""),
    ],
)
def test_states(pinned: Pinned, revision: str, track: str, words: str, attention: str) -> None:
    status = statuses(pinned(revision, track=track))["rccl"]
    assert status["words"] == words
    assert status["code"] == (1 if attention else 0)
    assert attention in " ".join(status["attention"])


def test_commits_under_the_path_are_counted_apart(project: Any, new_upstream: Callable[..., Any]) -> None:
    up = new_upstream()
    old = up.commit_files("start", {"p/a": "1", "q": "1"})
    up.commit_files("q", {"q": "2"})
    up.commit_files("p", {"p/a": "2"})
    project.write(f'  x:\n    git: {up.url}\n    path: p\n    commit: "{old}"\n    track: {{branch: main}}\n')
    assert statuses(project)["x"]["words"] == "behind by 2 (1 under its path)"


def test_vanished_commit_needs_a_person(pinned: Pinned, upstream: Any) -> None:
    project = pinned()
    project.write_bytes(project.pins.read_bytes().replace(upstream.sha("refs/keep/c1").encode(), b"b" * 40))
    told = f"the pinned commit {'b' * 12} does not exist on {upstream.url}"
    assert statuses(project)["rccl"]["attention"] == [told]


def test_repository_of_sha256_objects_needs_a_person(project: Any, tmp_path: Path) -> None:
    made = tmp_path / "sha256"
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main", "--object-format=sha256", made], check=True)
    subprocess.run(["git", "-C", made, "commit", "--quiet", "--allow-empty", "--message=c"], check=True)
    project.write(f'  x:\n    git: file://{made}\n    commit: "{"a" * 40}"\n    track: {{branch: main}}\n')
    status = statuses(project)["x"]
    assert (status["code"], status["words"]) == (1, "unknown")
    assert "names commits by SHA-256" in status["attention"][0]
    assert "names commits by SHA-256" in project.assert_refuses("x").err


def test_unknown_pin_and_held_and_overdue_are_told(pinned: Pinned, upstream: Any) -> None:
    day = datetime.date.today() - datetime.timedelta(days=3)
    project = pinned("main", more=f"    hold: wait for 7.2\n    review_by: {day}\n")
    status = statuses(project)["rccl"]
    assert status["attention"] == [f"was to be reviewed by {day}, 3 days ago"]
    assert status["notes"] == ["held: wait for 7.2"]


def test_version_that_does_not_fit_the_source_needs_a_person(project: Any, new_upstream: Callable[..., Any]) -> None:
    up = new_upstream()
    commit = up.commit_files("start", {"VERSION": "1.2\n"})
    project.write(
        f'  x:\n    git: {up.url}\n    commit: "{commit}"\n    track: {{branch: main}}\n'
        '    version: "1.1"\n    version_from: VERSION\n'
    )
    assert statuses(project)["x"]["attention"] == ["the source says version 1.2, pins.yaml 1.1"]


def test_server_that_does_not_answer_is_unknown_and_exits_4(pinned: Pinned, upstream: Any) -> None:
    project = pinned()
    upstream.path.rename(upstream.path.with_name("away"))
    ended = project.run("--outdated")
    assert ended.code == 4
    assert "rccl  " in ended.out
    assert "unknown" in ended.out
    assert "1 pin, 0 need attention, 1 not known" in ended.err


def test_offline_answers_from_the_cache_and_says_so(pinned: Pinned, upstream: Any) -> None:
    project = pinned()
    project.run("--outdated")
    upstream.path.rename(upstream.path.with_name("away"))
    ended = project.run("--outdated", "--offline")
    assert (ended.code, "behind by 5" in ended.out, "offline" in ended.out) == (0, True, True)


def test_nothing_is_written(pinned: Pinned) -> None:
    project = pinned()
    before = project.snapshot()
    project.run("--outdated")
    assert project.snapshot() == before


def test_one_repository_is_asked_once_for_all_its_pins(project: Any, upstream: Any, packets: Any) -> None:
    commit = upstream.sha("main")
    pins = "".join(
        f'  p{number}:\n    git: {upstream.url}\n    commit: "{commit}"\n    track: {{branch: {branch}}}\n'
        for number, branch in enumerate(["main", "rel", "foo/main"])
    )
    project.write(pins)
    project.run("--outdated")
    assert packets.read_text().count("fetch> command=ls-refs") == 1


@pytest.fixture
def packets(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """File that git writes every packet to."""
    monkeypatch.setenv("GIT_TRACE_PACKET", str(tmp_path / "packets"))
    return tmp_path / "packets"


@pytest.mark.parametrize(("ref", "track"), [("heads/main", "{branch: main}"), ("pull/7", '{pull: "7", then: main}')])
def test_thousands_of_pull_refs_are_not_sent(
    project: Any, upstream: Any, packets: Any, monkeypatch: pytest.MonkeyPatch, *, ref: str, track: str
) -> None:
    tip = upstream.sha("main")
    upstream.git("update-ref", "--stdin", stdin="".join(f"create refs/pull/{n}/head {tip}\n" for n in range(100, 3100)))
    url = "https://github.com/ROCm/rccl.git"
    monkeypatch.setenv("IMAGEPINS_MIRRORS", f"{url}={upstream.url}")
    project.write(f'  rccl:\n    git: {url}\n    commit: "{upstream.sha("refs/keep/c4")}"\n    track: {track}\n')
    assert project.run("rccl", ref, "--dry-run", "--allow-downgrade").code == 0
    lines = [line for line in packets.read_text().splitlines() if re.search(r"packet: +fetch[<>]", line)]
    look_up = lines[: next(i for i, line in enumerate(lines) if "command=fetch" in line)]
    # 19 for one ref, and one more each way for the branch that the pull leads to.
    assert len(look_up) <= (19 if ref == "heads/main" else 21)


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """A stand-in for the host's API: its answer, and the requests it got."""
    said: dict[str, Any] = {"status": 200, "headers": {}, "body": {}, "asked": []}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            said["asked"].append((self.path, self.headers["Authorization"]))
            if said.get("together"):
                said["together"].wait(60)
            self.send_response(said["status"])
            for name, value in said["headers"].items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(said.get("bytes") or json.dumps(said["body"]).encode())

        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setenv("GITHUB_API_URL", f"http://127.0.0.1:{server.server_address[1]}")
    monkeypatch.setenv("GITHUB_TOKEN", "secret-token")
    monkeypatch.setattr("imagepins.gitrepo.hosting._SECONDS", 120.0)
    yield said
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def hosted(project: Any, upstream: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Two provisional pins of a repository on the host, at the head of pull 8."""
    url = "https://github.com/ROCm/rccl.git"
    monkeypatch.setenv("IMAGEPINS_MIRRORS", f"{url}={upstream.url}")
    pin = f'    git: {url}\n    commit: "{upstream.sha("refs/pull/8/head")}"\n    track: {{pull: "8", then: main}}\n'
    project.write(f"  a:\n{pin}  b:\n{pin}")
    return project


def test_api_knows_that_a_pull_was_closed(hosted: Any, api: dict[str, Any]) -> None:
    api["body"] = {"state": "closed", "merged": False}
    ended = hosted.run("--outdated")
    assert (ended.code, "pull 8 is closed" in ended.out) == (1, True)
    assert api["asked"][0] == ("/repos/ROCm/rccl/pulls/8", "Bearer secret-token")


def test_rate_limit_falls_back_to_git_with_one_warning(hosted: Any, api: dict[str, Any]) -> None:
    api.update(status=403, headers={"x-ratelimit-remaining": "0"})
    ended = hosted.run("--outdated")
    assert (ended.code, ended.out.count("pull 8 is open")) == (0, 2)
    assert ended.err.count("rate limit") == 1
    assert "secret-token" not in ended.out + ended.err


def test_rate_limit_that_several_threads_meet_is_told_once(
    project: Any, upstream: Any, api: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, commit = "https://github.com/ROCm/r", upstream.sha("refs/pull/8/head")
    monkeypatch.setenv("IMAGEPINS_MIRRORS", " ".join(f"{url}{n}={upstream.url}" for n in range(4)))
    pin = '  p{n}:\n    git: {url}{n}\n    commit: "{commit}"\n    track: {{pull: "8", then: main}}\n'
    project.write("".join(pin.format(n=n, url=url, commit=commit) for n in range(4)))
    api.update(status=403, headers={"x-ratelimit-remaining": "0"}, together=threading.Barrier(4))
    ended = project.run("--outdated")
    assert (ended.code, len(api["asked"]), ended.err.count("rate limit")) == (0, 4, 1)


@pytest.mark.parametrize("host", ["localhost.example.org", "127.0.0.1.example.org", "localhost@example.org", "[::2]"])
def test_token_is_sent_in_clear_to_this_machine_alone(
    hosted: Any, api: dict[str, Any], monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    # Whatever leaves for another host in clear passes here.
    monkeypatch.setenv("http_proxy", os.environ["GITHUB_API_URL"])
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("GITHUB_API_URL", f"http://{host}")
    ended = hosted.run("--outdated")
    assert (ended.code, api["asked"], ended.err.count("its address is not https")) == (0, [], 1)


def test_api_that_is_silent_is_waited_for_once(
    hosted: Any, api: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("imagepins.gitrepo.hosting._SECONDS", 0.3)
    silent = api["together"] = threading.Event()
    ended = hosted.run("--outdated")
    silent.set()
    assert (ended.code, ended.err.count("is not done after 0.3 s")) == (0, 1)
    # On a busy machine the time may be over before the request has come.
    assert len(api["asked"]) <= 1


@pytest.mark.parametrize("body", [b"<html>", b"[1]", b"[" * 100_000], ids=["page", "list", "deep"])
def test_answer_of_the_api_that_is_none_is_told_once(hosted: Any, api: dict[str, Any], body: bytes) -> None:
    api["bytes"] = body
    ended = hosted.run("--outdated")
    assert (ended.code, ended.err.count("git refs alone answer")) == (0, 1)


def test_token_is_not_sent_for_other_hosts(pinned: Pinned, api: dict[str, Any]) -> None:
    pinned("refs/pull/8/head", track='{pull: "8", then: main}').run("--outdated")
    assert api["asked"] == []
