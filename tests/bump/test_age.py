"""Minimum age: by the committer's date, and by the day the cache first saw the commit."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

DAY = 86_400


@pytest.fixture
def aged(project: Any, new_upstream: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    """A pin at a commit of 90 days ago, behind by one of 20 days ago and one of now."""
    up = new_upstream("aged")
    shas = []
    for days in (90, 20, 0):
        monkeypatch.setenv("GIT_COMMITTER_DATE", f"{int(time.time()) - days * DAY} +0000")
        shas.append(up.commit(f"{days} days", f=str(days)))
    monkeypatch.delenv("GIT_COMMITTER_DATE")
    project.shas = shas

    def write(more: str = "") -> Any:
        project.write(f'  rccl:\n    git: {up.url}\n    commit: "{shas[0]}"\n    track: {{branch: main}}\n{more}')
        return project

    project.aged = write
    return project


def seen_files() -> list[Path]:
    return list(Path(os.environ["XDG_CACHE_HOME"]).rglob("seen"))


@pytest.mark.parametrize(("more", "arguments"), [("    min_age_days: 7\n", []), ("", ["--min-age", "7"])])
def test_young_commit_waits_and_an_older_one_is_named(aged: Any, more: str, arguments: list[str]) -> None:
    project = aged.aged(more)
    ended = project.assert_refuses("rccl", *arguments)
    assert "takes nothing younger than 7 days" in ended.err
    assert f"tools/bump_pin rccl {aged.shas[1][:12]} is older" in ended.err
    assert project.run("rccl", "--min-age", "0").code == 0


def test_old_commit_is_taken_and_a_young_cache_is_told(aged: Any) -> None:
    project = aged.aged()
    ended = project.run("rccl", aged.shas[1], "--min-age", "7")
    assert ended.code == 0, ended.err
    assert "when it appeared: the cache is younger than 7 days, its date decided" in ended.out


def test_backdated_commit_is_noticed_once_the_cache_is_old_enough(aged: Any) -> None:
    project = aged.aged()
    project.run("rccl", "--dry-run")
    (seen,) = seen_files()
    then = int(time.time()) - 10 * DAY
    seen.write_text(f"{aged.shas[0]} {then}\n")
    ended = project.assert_refuses("rccl", aged.shas[1], "--min-age", "7")
    assert "appeared later" in ended.err
    seen.write_text(f"{aged.shas[1]} {then}\n")
    ended = project.run("rccl", aged.shas[1], "--min-age", "7")
    assert (ended.code, "when it appeared" in ended.out) == (0, False)


def test_oldest_of_very_many_tips_are_forgotten_but_for_those_of_now(
    aged: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("imagepins.bump.seen.LIMIT", 4)
    project = aged.aged()
    project.run("rccl", "--dry-run")
    (seen,) = seen_files()
    lines = [f"{aged.shas[2]} 1", *(f"{str(number) * 40} {number}" for number in range(2, 7))]
    seen.write_text("".join(f"{line}\n" for line in lines))
    project.run("rccl", "--dry-run")
    assert seen.read_text().splitlines() == [lines[0], *lines[-2:]]
    assert not [path for path in seen.parent.iterdir() if path.name.startswith("seen.")]


def test_all_leaves_a_young_pin_where_it_is(aged: Any) -> None:
    ended = aged.aged("    min_age_days: 7\n").run("--all")
    assert (ended.code, "rccl stays:" in ended.out) == (0, True)
