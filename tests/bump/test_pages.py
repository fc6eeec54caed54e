"""Pages of a host, pasted as the ref of a pin."""

from typing import Any

import pytest

URL = "https://github.com/ROCm/rccl.git"


@pytest.fixture
def hosted(project: Any, upstream: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A pin of a repository on the host, at c4 of main."""
    monkeypatch.setenv("IMAGEPINS_MIRRORS", f"{URL}={upstream.url}")
    commit = upstream.sha("refs/keep/c4")
    project.write(f'  rccl:\n    git: {URL}\n    commit: "{commit}"\n    track: {{branch: main}}\n')
    return project


@pytest.mark.parametrize("digits", [40, 10])
def test_commit_on_the_page_of_a_pull_makes_the_pin_follow_the_pull(hosted: Any, upstream: Any, digits: int) -> None:
    commit = upstream.sha("refs/pull/7/head~1")
    ended = hosted.run("rccl", f"https://github.com/ROCm/rccl/pull/7/commits/{commit[:digits]}")
    assert ended.code == 0, ended.err
    text = hosted.pins.read_text()
    assert f'commit: "{commit}"' in text
    assert 'track: {pull: "7", then: main}' in text


def test_commit_on_the_page_of_a_pull_that_the_branch_has_keeps_the_branch(hosted: Any, upstream: Any) -> None:
    commit = upstream.sha("main")
    ended = hosted.run("rccl", f"https://github.com/ROCm/rccl/pull/8/commits/{commit}")
    assert ended.code == 0, ended.err
    assert "track: {branch: main}" in hosted.pins.read_text()


def test_commit_of_another_pull_is_refused(hosted: Any, upstream: Any) -> None:
    commit = upstream.sha("refs/pull/7/head")
    before = hosted.snapshot()
    ended = hosted.run("rccl", f"https://github.com/ROCm/rccl/pull/8/commits/{commit}")
    assert (ended.code, hosted.snapshot()) == (3, before)


def test_archive_of_a_tag_is_the_tag(hosted: Any, upstream: Any) -> None:
    ended = hosted.run("rccl", "https://github.com/ROCm/rccl/archive/refs/tags/20260817.tar.gz")
    assert ended.code == 0, ended.err
    assert "already at" in ended.out + ended.err
