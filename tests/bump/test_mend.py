"""Pins whose id is none yet: a branch, a short sha, nothing. What stands there is replaced, or left as it is."""

from collections.abc import Callable
from typing import Any

import pytest

Pinned = Callable[..., Any]


@pytest.fixture
def written(project: Any, upstream: Any) -> Callable[[str], Any]:
    """The project with one pin, in whose ``commit`` something else stands."""

    def make(commit: str, more: str = "") -> Any:
        project.write(f"  rccl:\n    git: {upstream.url}\n    commit: {commit}\n    track: {{branch: main}}\n{more}")
        return project

    return make


def test_pin_that_cannot_move_keeps_what_stands_there(written: Callable[..., Any], upstream: Any) -> None:
    project = written("main", f'  other:\n    git: {upstream.url}\n    commit: "{upstream.sha("refs/keep/c1")}"\n')
    project.pins.write_text(project.pins.read_text().replace(upstream.url, f"{upstream.url}-missing", 1))
    before = project.snapshot()
    ended = project.run("--all")
    assert (ended.code, project.snapshot()) == (4, before)
    assert "upstream-missing" in ended.err


def test_held_pin_keeps_what_stands_there(written: Callable[..., Any]) -> None:
    project = written("main", "    hold: wait\n")
    before = project.snapshot()
    ended = project.run("--all")
    assert (ended.code, project.snapshot()) == (3, before)
    assert "is held: wait" in ended.err


@pytest.mark.parametrize("text", ["main", '""', "", "nosuch", "'1 2'"])
def test_anything_in_the_place_of_the_commit_is_replaced(written: Callable[..., Any], upstream: Any, text: str) -> None:
    project = written(text)
    ended = project.run("rccl")
    assert ended.code == 0, ended.err
    assert upstream.sha("main") in project.pins.read_text()
    assert f"ARG RCCL_COMMIT={upstream.sha('main')}\n" in project.dockerfile.read_text()
    assert "0000" not in project.pins.read_text() + ended.out


def test_short_sha_is_the_old_commit_and_protects_against_going_back(
    written: Callable[..., Any], upstream: Any
) -> None:
    project = written(f'"{upstream.sha("main")[:9]}"')
    before = project.snapshot()
    ended = project.run("rccl", upstream.sha("refs/keep/c1"))
    assert (ended.code, project.snapshot()) == (3, before)
    assert "5 commits BEFORE" in ended.err
    ended = project.run("rccl", upstream.sha("refs/keep/c1"), "--allow-downgrade", "--json")
    assert ended.json["moves"][0]["old"]["id"] == upstream.sha("main")


def test_short_sha_of_the_commit_asked_for_is_written_out(written: Callable[..., Any], upstream: Any) -> None:
    commit = upstream.sha("refs/keep/c3")
    project = written(f'"{commit[:9]}"')
    ended = project.run("rccl", commit)
    assert (ended.code, "the same commit" in ended.out) == (0, True), ended.err
    assert f'commit: "{commit}"' in project.pins.read_text()


def test_outdated_tells_what_is_not_known_without_inventing_it(written: Callable[..., Any]) -> None:
    ended = written("main").run("--outdated")
    assert (ended.code, "not known yet" in ended.out, "0000" in ended.out) == (1, True, False)


def test_text_that_another_run_changed_meanwhile_is_looked_up_again(
    written: Callable[..., Any], upstream: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from imagepins.bump import run

    project, asked = written("main"), []
    propose = run.propose

    def slow(*arguments: Any) -> Any:
        asked.append(arguments)
        found = propose(*arguments)
        project.pins.write_text(project.pins.read_text().replace("commit: main", "commit: deadbeef"))
        return found

    monkeypatch.setattr(run, "propose", slow)
    assert project.run("rccl").code == 0
    assert len(asked) == 2
