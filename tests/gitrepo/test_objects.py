"""Trees and files from servers that do not hand them out by themselves."""

import time
from collections.abc import Callable
from threading import Thread
from typing import Any
from unittest.mock import Mock

import pytest

from imagepins.gitrepo import objects
from imagepins.gitrepo.cache import Repository, commits_of, fetch, fetch_refs
from imagepins.gitrepo.history import describe_commits
from imagepins.gitrepo.objects import ObjectsUnavailable, require
from imagepins.gitrepo.store import locked
from imagepins.gitrepo.trees import read_file, touching

MAIN = ["refs/heads/main", "refs/tags/v1"]


@pytest.fixture
def strict(upstream: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An upstream that gives only what its refs point at."""
    for number, (key, value) in enumerate([("protocol.version", "0")]):
        monkeypatch.setenv(f"GIT_CONFIG_KEY_{number}", key)
        monkeypatch.setenv(f"GIT_CONFIG_VALUE_{number}", value)
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    return upstream


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
    upstream: Any, open_cache: Callable[..., Repository], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = open_cache(upstream.url)
    fetch_refs(found, MAIN)
    tree = _tree(found, upstream.sha("main"))
    fetched = Mock(wraps=fetch)
    monkeypatch.setattr(objects, "fetch", fetched)
    with locked(found):
        threads = [Thread(target=require, args=(found, [tree])) for _ in range(2)]
        for thread in threads:
            thread.start()
        time.sleep(0.5)  # until both wait for the cache
    for thread in threads:
        thread.join()
    require(found, [tree])
    assert fetched.call_count == 1


def test_object_that_is_nowhere_is_said_with_the_server_s_reason(
    strict: Any, open_cache: Callable[..., Repository]
) -> None:
    found = open_cache(strict.url)
    fetch_refs(found, MAIN)
    with pytest.raises(ObjectsUnavailable, match="could not be read"):
        require(found, ["1" * 40])
