"""Bumps of git pins, end to end: what moves, what is refused, what is said."""

import datetime
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Pinned = Callable[..., Any]


@pytest.mark.parametrize(
    "form",
    [str, str.upper, lambda sha: f"  {sha}\n", lambda sha: sha[:12]],
    ids=["as it is", "upper", "blanks", "short"],
)
def test_commit_moves_value_and_dockerfile_and_nothing_else(
    pinned: Pinned, upstream: Any, form: Callable[[str], str]
) -> None:
    project = pinned()
    old, new = upstream.sha("refs/keep/c1"), upstream.sha("refs/keep/c3")
    pins, dockerfile = project.pins.read_text(), project.dockerfile.read_text()
    ended = project.run("rccl", form(new))
    assert ended.code == 0, ended.err
    assert project.pins.read_text() == pins.replace(old, new)
    assert project.dockerfile.read_text() == dockerfile.replace(old, new)
    for part in ("2 commits ahead", "branch main", "c3", "all/one", "pins.yaml, images/all/one/Dockerfile"):
        assert part in ended.out


def test_without_ref_the_pin_follows_its_branch(pinned: Pinned, upstream: Any) -> None:
    project = pinned()
    assert project.run("rccl").code == 0
    assert project.is_at(upstream, "main")


def test_without_track_the_pin_follows_the_default_branch(pinned: Pinned, upstream: Any) -> None:
    upstream.git("symbolic-ref", "HEAD", "refs/heads/rel")
    project = pinned(track="")
    ended = project.run("rccl")
    assert ended.code == 0
    assert project.is_at(upstream, "refs/heads/rel")
    assert "branch rel" in ended.out


def test_default_branch_that_changed_is_said(pinned: Pinned, upstream: Any) -> None:
    project = pinned(track="")
    project.run("rccl", "--dry-run")
    upstream.git("symbolic-ref", "HEAD", "refs/heads/rel")
    assert "was main" in project.run("rccl", "--dry-run").out


def test_tag_is_peeled_and_kept_as_a_comment(pinned: Pinned, upstream: Any) -> None:
    project = pinned()
    assert project.run("rccl", "v1").code == 0
    assert f'"{upstream.sha("refs/keep/c3")}"  # frozen: v1\n' in project.pins.read_text()
    project.run("rccl", "main")
    assert "frozen" not in project.pins.read_text()


def test_foreign_comment_outlives_the_tag(project: Any, upstream: Any) -> None:
    commit = upstream.sha("refs/keep/c1")
    line = f'  rccl: {{git: "{upstream.url}", commit: "{commit}", track: {{branch: main}}}}'
    project.write(f"{line}  # frozen: v0, keep: NAVI fix\n")
    project.run("rccl", "v1")
    assert "}  # frozen: v1, keep: NAVI fix\n" in project.pins.read_text()
    project.run("rccl", upstream.sha("main"))
    assert "}  # keep: NAVI fix\n" in project.pins.read_text()


def test_already_there_changes_no_byte_and_no_time(pinned: Pinned, upstream: Any) -> None:
    project = pinned("main")
    before = project.snapshot()
    for arguments in (["rccl"], ["rccl", upstream.sha("main")], ["rccl", "main"]):
        ended = project.run(*arguments)
        assert (ended.code, ended.out.splitlines()[0]) == (0, f"rccl is already at {upstream.sha('main')[:12]}")
    assert project.snapshot() == before


def test_settled_commit_asks_nobody(pinned: Pinned, upstream: Any) -> None:
    project = pinned()
    commit = upstream.sha("refs/keep/c1")
    upstream.path.rename(upstream.path.with_name("away"))
    assert project.run("rccl", commit).code == 0


def test_dry_run_shows_both_diffs_and_writes_nothing(pinned: Pinned, upstream: Any) -> None:
    project = pinned()
    before = project.snapshot()
    ended = project.run("rccl", "main", "--dry-run")
    assert ended.code == 0
    assert project.snapshot() == before
    for name in ("pins.yaml", "images/all/one/Dockerfile"):
        assert f"--- a/{name}\n+++ b/{name}\n" in ended.out
    assert f"+ARG RCCL_COMMIT={upstream.sha('main')}\n" in ended.out


def test_mistyped_pin_is_refused_with_the_nearest_name(pinned: Pinned) -> None:
    ended = pinned().assert_refuses("rcll", "main", code=2)
    assert "no pin 'rcll'; did you mean 'rccl'" in ended.err


@pytest.mark.parametrize("ref", ["nosuch", "heads/nosuch", "1" * 40, "f00dfeed1", "a" * 39, "a" * 41, "pull/99", "rel"])
def test_what_does_not_exist_or_is_ambiguous_is_refused(pinned: Pinned, ref: str) -> None:
    pinned().assert_refuses("rccl", ref)


@pytest.mark.parametrize("ref", ["--upload-pack=touch /tmp/owned", "ext::sh -c id", "-x"])
def test_ref_that_git_could_take_for_an_option_is_refused(pinned: Pinned, ref: str) -> None:
    pinned().assert_refuses("--", "rccl", ref)


def test_impostor_is_refused_and_the_exception_recorded(pinned: Pinned, upstream: Any) -> None:
    project = pinned("main")
    impostor = upstream.sha("refs/old8")
    ended = project.assert_refuses("rccl", impostor)
    assert "not part of branch main" in ended.err
    ended = project.run("rccl", impostor, "--allow-unreachable", "--reason", "tested by hand")
    assert ended.code == 0
    assert 'allow_unreachable: "tested by hand"\n' in project.pins.read_text()
    upstream.git("merge", "--quiet", "--no-ff", "-m", "merged", impostor)
    assert project.run("rccl", "main").code == 0
    assert "allow_unreachable" not in project.pins.read_text()


def test_branch_that_is_not_tracked_is_refused_with_the_way_out(pinned: Pinned, upstream: Any) -> None:
    project = pinned("refs/keep/c1")
    upstream.git("checkout", "--quiet", "-b", "side", "refs/keep/c2")
    upstream.commit("side", s="s")
    ended = project.assert_refuses("rccl", "side")
    assert "change the pin's track" in ended.err


@pytest.mark.parametrize(
    ("revision", "words"), [("refs/keep/c3", "2 commits BEFORE"), ("refs/keep/c4", "1 commit BEFORE")]
)
def test_backwards_needs_leave(pinned: Pinned, upstream: Any, revision: str, words: str) -> None:
    project = pinned("refs/keep/c5")
    ended = project.assert_refuses("rccl", upstream.sha(revision))
    assert words in ended.err
    assert project.run("rccl", upstream.sha(revision), "--allow-downgrade").code == 0
    assert project.is_at(upstream, revision)


def test_held_pin_is_refused_with_its_reason(pinned: Pinned) -> None:
    project = pinned(more="    hold: regression in all-reduce\n")
    ended = project.assert_refuses("rccl", "main")
    assert "is held: regression in all-reduce (pins.yaml:7)" in ended.err


def test_hostile_address_is_refused(project: Any) -> None:
    project.write(f'  rccl:\n    git: ext::sh -c id\n    commit: "{"a" * 40}"\n')
    assert project.run("rccl", "b" * 40).code == 2


def test_repository_that_is_not_there_is_no_answer(pinned: Pinned, upstream: Any) -> None:
    project = pinned()
    upstream.path.rename(upstream.path.with_name("away"))
    ended = project.assert_refuses("rccl", "main", code=4)
    assert upstream.url in ended.err


def test_mirrors_lead_elsewhere(pinned: Pinned, upstream: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    project = pinned()
    upstream.path.rename(upstream.path.with_name("mirror"))
    monkeypatch.setenv("IMAGEPINS_MIRRORS", f"{upstream.url}={upstream.url.replace('upstream', 'mirror')}")
    assert project.run("rccl", "main").code == 0


def test_mirrors_of_the_pin_file_lead_elsewhere(project: Any, upstream: Any) -> None:
    url = "https://github.com/ROCm/rccl.git"
    project.write(
        f'  rccl:\n    git: {url}\n    commit: "{upstream.sha("refs/keep/c1")}"\n    track: {{branch: main}}\n',
        rest=f"mirrors:\n  {url}: {upstream.url}\n",
    )
    ended = project.run("rccl")
    assert ended.code == 0, ended.err
    assert "https://github.com/ROCm/rccl/compare/" in ended.out


def test_offline_takes_a_commit_at_its_word_and_says_so(pinned: Pinned, upstream: Any) -> None:
    project = pinned()
    commit = upstream.sha("main")
    upstream.path.rename(upstream.path.with_name("away"))
    ended = project.run("rccl", commit, "--offline")
    assert ended.code == 0, ended.err
    assert "NOT checked" in ended.out
    assert "that the commit exists (offline)" in ended.out
    assert commit in project.pins.read_text()


def test_offline_uses_what_the_cache_knows(pinned: Pinned, upstream: Any) -> None:
    project = pinned()
    project.run("rccl", "main", "--dry-run")
    commit, older = upstream.sha("main"), upstream.sha("refs/keep/c5")
    upstream.path.rename(upstream.path.with_name("away"))
    ended = project.run("rccl", "main", "--offline")
    assert (ended.code, commit in project.pins.read_text()) == (0, True)
    today = datetime.datetime.now(datetime.UTC).date()
    assert f"that branch main is still at {commit[:12]} (offline; the cache is of {today})" in ended.out
    ended = project.run("rccl", "main", "--offline")
    assert "is still at" in ended.out
    ended = project.run("rccl", older, "--offline", "--allow-downgrade", "--json")
    assert "is still part of branch main (offline" in ended.json["moves"][0]["unchecked"][0]


def test_vanished_old_commit_is_said(pinned: Pinned, upstream: Any) -> None:
    project = pinned()
    text = project.pins.read_text().replace(upstream.sha("refs/keep/c1"), "b" * 40)
    project.write_bytes(text.encode())
    ended = project.run("rccl", "main")
    assert ended.code == 0
    assert f"the old commit {'b' * 12} does not exist on" in ended.out


def test_server_that_refuses_bare_commits_is_told(
    pinned: Pinned, upstream: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = pinned()
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "protocol.version")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "0")
    assert project.run("rccl", upstream.sha("refs/keep/c5")).code == 0
    ended = project.assert_refuses("rccl", upstream.sha("refs/old8"))
    assert "branch main, all branches and tags" in ended.err


@pytest.mark.parametrize(
    ("arguments", "code"), [(["nosuch"], 3), (["a..b"], 3), (["f" * 40], 3), (["https://x.org/a/b/pull/1"], 3)]
)
def test_refusal_names_the_pin_its_line_and_the_ref(pinned: Pinned, arguments: list[str], code: int) -> None:
    ended = pinned().assert_refuses("rccl", *arguments, code=code)
    assert ended.err.startswith("bump_pin: pins.yaml:3: pin 'rccl': ")


def test_no_answer_names_the_pin_and_its_line(pinned: Pinned, upstream: Any) -> None:
    project = pinned()
    upstream.path.rename(upstream.path.with_name("away"))
    assert project.assert_refuses("rccl", code=4).err.startswith("bump_pin: pins.yaml:3: pin 'rccl': ")


@pytest.mark.parametrize(
    ("ref", "track", "asked"),
    [
        ([], "{branch: main}", {"refs/heads/main"}),
        (["heads/rel"], "{branch: main}", {"refs/heads/main", "refs/heads/rel"}),
        (["main"], "{branch: main}", {"refs/heads/main", "refs/tags/main"}),
        (["pull/8"], "{branch: main}", {"refs/pull/8/head", "refs/merge-requests/8/head"}),
        (
            ["pull/8"],
            '{pull: "7", then: main}',
            {
                "refs/heads/main",
                *(f"refs/{kind}/{number}/head" for kind in ("pull", "merge-requests") for number in "78"),
            },
        ),
    ],
)
def test_server_is_asked_for_the_refs_that_decide_and_no_others(
    pinned: Pinned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ref: list[str], track: str, asked: set[str]
) -> None:
    project, trace = pinned("refs/keep/c5", track=track), tmp_path / "packets"
    monkeypatch.setenv("GIT_TRACE_PACKET", str(trace))
    project.run("rccl", *ref, "--allow-unreachable", "--dry-run")
    assert set(re.findall(r"fetch> ref-prefix (\S+)", trace.read_text())) == asked


def test_text_of_others_does_nothing_to_the_terminal(pinned: Pinned, upstream: Any) -> None:
    project = pinned()
    upstream.commit("evil \x1b[31m \x07 \u202eflip")
    upstream.git("commit", "--quiet", "--allow-empty", "--author=A\x1b[2JB <a@example.org>", "--message=last")
    for arguments in (["rccl", "main", "--dry-run"], ["rccl", "\x1b[31m"], ["rccl", "feat/\u202ex"]):
        ended = project.run(*arguments)
        assert not re.search(r"[\x00-\x08\x0b-\x1f\u202e]", ended.out + ended.err)
    assert r"evil \u001b[31m \u0007 \u202eflip" in project.run("rccl", "main", "--dry-run").out
