"""Trees and files from servers that do not hand them out by themselves."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from imagepins.gitrepo.cache import Repository, commits_of, fetch_refs
from imagepins.gitrepo.history import describe_commits
from imagepins.gitrepo.objects import ObjectsUnavailable, require
from imagepins.gitrepo.store import locked
from imagepins.gitrepo.trees import read_file, touching
from waiting import wait_for

MAIN = ["refs/heads/main", "refs/tags/v1"]


@pytest.fixture
def strict(upstream: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An upstream that gives only what its refs point at."""
    for number, (key, value) in enumerate([("protocol.version", "0")]):
        monkeypatch.setenv(f"GIT_CONFIG_KEY_{number}", key)
        monkeypatch.setenv(f"GIT_CONFIG_VALUE_{number}", value)
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    return upstream


@pytest.fixture
def git_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], int]:
    """How often git was called with that word since the test began."""
    log, shim = tmp_path / "git-calls", tmp_path / "bin/git"
    log.touch()
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\necho " $* " >>{log}\nexec {shutil.which("git")} "$@"\n')
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{shim.parent}:{os.environ['PATH']}")
    return lambda word: sum(f" {word} " in line for line in log.read_text().splitlines())


def _tree(repository: Repository, sha: str) -> str:
    return describe_commits(repository, [sha])[sha].tree


def test_strict_server_is_asked_for_its_folders_with_the_history(
    strict: Any, open_cache: Callable[..., Repository], capsys: pytest.CaptureFixture[str]
) -> None:
    found = open_cache(strict.url)
    fetch_refs(found, MAIN)
    commits = touching(found, strict.sha("refs/keep/c1"), strict.sha("main"), ["p"])
    assert [commit.subject for commit in commits] == ["feat (#7)"]
    said = capsys.readouterr().err
    assert "does not hand out single files and folders" in said
    assert "all folders\n" in said


def test_strict_server_is_asked_for_its_files_too_where_one_is_read(
    strict: Any, open_cache: Callable[..., Repository], capsys: pytest.CaptureFixture[str]
) -> None:
    found = open_cache(strict.url)
    fetch_refs(found, MAIN)
    assert read_file(found, _tree(found, strict.sha("refs/keep/c2")), "f") == "2\n"
    assert "all folders and files" in capsys.readouterr().err


def test_detour_is_taken_once_and_new_commits_come_whole(
    strict: Any, open_cache: Callable[..., Repository], capsys: pytest.CaptureFixture[str]
) -> None:
    found = open_cache(strict.url)
    fetch_refs(found, MAIN)
    assert read_file(found, _tree(found, strict.sha("main")), "f") == "5\n"
    new = strict.commit("new", f="new\n")
    capsys.readouterr()
    fetch_refs(found, MAIN)
    assert commits_of(found, [new])[new] == new
    assert read_file(found, _tree(found, new), "f") == "new\n"
    assert capsys.readouterr().err == ""


def test_strict_server_without_filters_gives_everything_at_once(
    strict: Any, open_cache: Callable[..., Repository]
) -> None:
    strict.git("config", "uploadpack.allowFilter", "false")
    found = open_cache(strict.url)
    fetch_refs(found, MAIN)
    assert read_file(found, _tree(found, strict.sha("main")), "f") == "5\n"


def test_refs_that_moved_meanwhile_do_not_spoil_the_detour(strict: Any, open_cache: Callable[..., Repository]) -> None:
    found = open_cache(strict.url)
    fetch_refs(found, [*MAIN, "refs/heads/rel"])
    strict.git("update-ref", "refs/heads/rel", "refs/keep/c1")
    assert read_file(found, _tree(found, strict.sha("main")), "f") == "5\n"


def test_what_two_ask_for_at_once_is_fetched_once(
    upstream: Any, open_cache: Callable[..., Repository], git_calls: Callable[[str], int]
) -> None:
    found = open_cache(upstream.url)
    fetch_refs(found, MAIN)
    tree = _tree(found, upstream.sha("main"))
    looked, fetched = git_calls("cat-file"), git_calls("fetch")
    with locked(found):
        threads = [Thread(target=require, args=(found, [tree])) for _ in range(2)]
        for thread in threads:
            thread.start()
        wait_for(lambda: git_calls("cat-file") == looked + 2, what="both to look for it")
    for thread in threads:
        thread.join()
    require(found, [tree])
    assert git_calls("fetch") == fetched + 1


def test_object_that_is_nowhere_is_said_with_the_server_s_reason(
    strict: Any, open_cache: Callable[..., Repository]
) -> None:
    found = open_cache(strict.url)
    fetch_refs(found, MAIN)
    with pytest.raises(ObjectsUnavailable, match="could not be read"):
        require(found, ["1" * 40])
