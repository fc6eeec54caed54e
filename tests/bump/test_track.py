"""Pins that track a tag or a pull request: open, force-pushed, merged; moved tags."""

from collections.abc import Callable
from typing import Any

import pytest

Pinned = Callable[..., Any]


def test_sideways_is_a_word_of_its_own(pinned: Pinned, upstream: Any) -> None:
    project = pinned("refs/pull/8/head", track='{pull: "8", then: main}')
    upstream.commit("on", f="on")
    ended = project.assert_refuses("rccl", "main")
    assert "diverged" in ended.err


def test_pull_is_followed_at_its_head_and_recorded(pinned: Pinned, upstream: Any) -> None:
    project = pinned("refs/keep/c4")
    ended = project.run("rccl", "pr/7")
    assert ended.code == 0, ended.err
    assert project.is_at(upstream, "refs/pull/7/head")
    assert 'track: {pull: "7", then: main}\n' in project.pins.read_text()


def test_pull_of_a_pin_that_tracks_no_branch_asks_for_then(pinned: Pinned) -> None:
    ended = pinned("refs/keep/c4", track="").assert_refuses("rccl", "pull/7")
    assert "then: BRANCH" in ended.err


def test_merged_pull_moves_to_the_commit_on_the_branch(pinned: Pinned, upstream: Any) -> None:
    project = pinned("refs/pull/7/head", track='{pull: "7", then: main}')
    squash = upstream.sha("main")
    upstream.commit("later", f="later")
    ended = project.run("rccl")
    assert ended.code == 0, ended.err
    assert squash in project.pins.read_text()
    assert "pull 7 was merged (squash)" in ended.out
    assert "differ" in ended.out


@pytest.mark.parametrize(
    ("track", "final"),
    [
        ('{pull: "7", then: main}', "{branch: main}"),
        ("{then: 'main', pull: \"7\"}", "{branch: 'main'}"),
        (
            '\n      pull: "7"  # until it is merged\n      then: main  # where it goes',
            "\n      # until it is merged\n      branch: main  # where it goes",
        ),
    ],
    ids=["flow", "then first", "block"],
)
@pytest.mark.parametrize("ref", [None, "main"])
def test_merged_pull_makes_the_pin_final(
    pinned: Pinned, upstream: Any, track: str, final: str, *, ref: str | None
) -> None:
    project = pinned("refs/pull/7/head", track=track)
    before = project.pins.read_text()
    ended = project.run("rccl", *([ref] if ref else []))
    assert ended.code == 0, ended.err
    expected = before.replace(upstream.sha("refs/pull/7/head"), upstream.sha("main")).replace(track, final)
    assert project.pins.read_text() == expected
    assert "branch main from now on" in ended.out
    upstream.commit("later", f="later")
    assert project.run("rccl").code == 0
    assert project.is_at(upstream, "main")
    assert project.run("--outdated").code == 0


def test_provisional_pin_that_is_on_the_branch_already_needs_nobody_and_becomes_final(
    pinned: Pinned, upstream: Any
) -> None:
    project = pinned("main", track='{pull: "7", then: main}')
    assert project.run("--outdated").code == 0
    commit = upstream.sha("main")
    upstream.commit("later", f="later")
    ended = project.run("rccl")
    assert (ended.code, f"already at {commit[:12]}" in ended.out) == (0, True), ended.err
    assert f'commit: "{commit}"\n    track: {{branch: main}}\n' in project.pins.read_text()


def test_moved_tag_is_followed_only_with_leave(pinned: Pinned, upstream: Any) -> None:
    project = pinned("refs/keep/c3", track="{tag: light}")
    upstream.git("tag", "--force", "light", "refs/keep/c4")
    for arguments in (["rccl"], ["rccl", "light"]):
        ended = project.assert_refuses(*arguments)
        assert "upstream moved the tag" in ended.err
    ended = project.run("rccl", "--allow-moved-tag")
    assert (ended.code, "upstream moved the tag" in ended.out) == (0, True)
    assert project.is_at(upstream, "refs/keep/c4")


def test_pin_let_stand_elsewhere_blames_no_tag(pinned: Pinned) -> None:
    project = pinned("refs/old8", track="{tag: light}", more="    allow_unreachable: tested by hand\n")
    assert "was moved" not in project.run("--outdated").out
    assert "moved the tag" not in project.run("rccl", "--allow-downgrade").out


def test_open_pull_moves_to_its_newer_head(pinned: Pinned, upstream: Any) -> None:
    project = pinned("refs/keep/c5", track='{pull: "8", then: main}')
    assert project.run("rccl").code == 0
    assert project.is_at(upstream, "refs/pull/8/head")


def test_force_pushed_pull_needs_leave(pinned: Pinned, upstream: Any) -> None:
    project = pinned("refs/old8", track='{pull: "8", then: main}')
    ended = project.assert_refuses("rccl")
    assert "diverged" in ended.err
    assert project.run("rccl", "--allow-downgrade").code == 0
    assert project.is_at(upstream, "refs/pull/8/head")


def test_tag_pin_moves_to_another_tag_and_tracks_it(pinned: Pinned, upstream: Any) -> None:
    upstream.git("tag", "v2", "refs/keep/c5")
    project = pinned("refs/keep/c3", track="{tag: v1}")
    assert project.run("rccl", "v2").code == 0
    assert project.is_at(upstream, "refs/keep/c5")
    assert "track: {tag: v2}" in project.pins.read_text()


def test_tag_the_old_commit_was_pinned_by_is_told(pinned: Pinned) -> None:
    project = pinned()
    project.run("rccl", "v1")
    assert project.run("rccl", "main", "--dry-run", "--json").json["moves"][0]["old"]["tag"] == "v1"


def test_tag_that_moved_since_it_was_pinned_needs_leave(pinned: Pinned, upstream: Any) -> None:
    project = pinned()
    project.run("rccl", "light")
    upstream.git("tag", "--force", "light", "refs/keep/c5")
    ended = project.assert_refuses("rccl", "light")
    assert f"tag light was {upstream.sha('refs/keep/c3')[:12]} when it was pinned" in ended.err
    assert project.run("rccl", "light", "--allow-moved-tag").code == 0
