"""--offline: what nobody was asked is not known, and never said not to exist."""

from collections.abc import Callable
from typing import Any

import pytest

Pinned = Callable[..., Any]
TRACKS = ["{branch: main}", "{tag: v1}", '{pull: "7", then: main}', ""]


@pytest.mark.parametrize("track", TRACKS)
def test_what_is_tracked_is_not_known_with_an_empty_cache(pinned: Pinned, track: str) -> None:
    ended = pinned(track=track).assert_refuses("rccl", "--offline", code=4)
    assert "ask again without --offline" in ended.err


@pytest.mark.parametrize("ref", ["main", "heads/main", "v1", "tags/v1", "pull/7", "deadbee", "nosuch"])
def test_ref_is_not_known_with_an_empty_cache(pinned: Pinned, ref: str) -> None:
    ended = pinned().assert_refuses("rccl", ref, "--offline", code=4)
    assert "nobody was asked whether it exists" in ended.err


@pytest.mark.parametrize("track", TRACKS)
def test_outdated_blames_no_pin_with_an_empty_cache(pinned: Pinned, track: str) -> None:
    ended = pinned(track=track).run("--outdated", "--offline", "--json")
    [status] = ended.json["pins"]
    assert (ended.code, status["attention"], status["words"]) == (0, [], "unknown")
    assert "is not in the cache" in status["unknown"][-1]


def test_part_of_a_branch_is_not_denied_by_an_old_cache(pinned: Pinned, upstream: Any) -> None:
    project = pinned()
    project.run("rccl", "pull/7", "--dry-run")
    project.run("--outdated")
    commit = upstream.sha("refs/pull/7/head")
    upstream.git("checkout", "--quiet", "main")
    upstream.git("merge", "--quiet", "--no-edit", commit)
    ended = project.assert_refuses("rccl", commit, "--offline", code=4)
    assert f"whether {commit[:12]} is part of branch main is not known" in ended.err
    assert project.run("rccl", commit).code == 0


def test_pinned_commit_beyond_an_old_cache_needs_no_person(pinned: Pinned, upstream: Any) -> None:
    project = pinned("refs/pull/7/head", track="{branch: main}")
    project.run("--outdated")
    ended = project.run("--outdated", "--offline", "--json")
    [status] = ended.json["pins"]
    assert (ended.code, status["attention"]) == (0, [])
    assert "whether branch main has the pinned commit by now (offline)" in status["unknown"]


def test_version_by_tag_is_not_known_without_the_tags(project: Any, upstream: Any) -> None:
    commit = upstream.sha("refs/keep/c4")
    project.write(f'  x:\n    git: {upstream.url}\n    commit: "{commit}"\n    track: {{branch: main}}\n')
    project.run("--outdated")
    project.write_bytes(
        project.pins.read_bytes().replace(b"  x:\n", b'  x:\n    version: "1"\n    version_from: tag\n')
    )
    ended = project.run("--outdated", "--offline", "--json")
    assert (ended.code, ended.json["pins"][0]["attention"]) == (0, [])
    assert project.assert_refuses("x", "main", "--offline", code=4)
