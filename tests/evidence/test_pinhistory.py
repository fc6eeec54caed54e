from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from imagepins.bump.move import Options
from imagepins.errors import RefError
from imagepins.evidence.bisection.history import History, describe_commit, read_history
from imagepins.pins.load import loads

Read = Callable[..., History]


@pytest.fixture
def lib(new_upstream: Callable[..., Any]) -> Any:
    made = new_upstream("lib")
    made.commit_files("start", {"lib/a": "1", "other": "1"})
    return made


@pytest.fixture
def read(lib: Any, tmp_path: Path) -> Read:
    def one(good: str, bad: str, path: str = "[lib]") -> History:
        text = f"schema: 1\npins:\n  lib: {{git: {lib.url}, path: {path}, track: {{branch: main}}}}\nimages: {{}}\n"
        return read_history(loads(text).pin("lib"), good, bad, Options(cache=tmp_path / "cache"))

    return one


def test_only_commits_under_the_path_count(lib: Any, read: Read) -> None:
    start = lib.sha("HEAD")
    lib.commit_files("elsewhere", {"other": "2"})
    touching = [lib.commit_files("one", {"lib/a": "2"}), lib.commit_files("two", {"lib/deep/b": "2"})]
    lib.commit_files("elsewhere again", {"other": "3"})
    history = read(start, "main")
    assert history.span.commits == tuple(touching)
    assert history.all_count == 4


def test_a_merged_branch_counts_as_its_merge(lib: Any, read: Read) -> None:
    start = lib.sha("HEAD")
    lib.git("checkout", "--quiet", "-b", "side")
    lib.commit_files("in the middle of a branch", {"lib/a": "half"})
    lib.commit_files("end of the branch", {"lib/a": "whole"})
    lib.git("checkout", "--quiet", "main")
    lib.commit_files("beside it", {"other": "2"})
    lib.git("merge", "--quiet", "--no-ff", "--message", "Merge pull request #77 from o/side", "side")
    history = read(start, "main")
    assert history.span.commits == (lib.sha("main"),)
    assert describe_commit(history, lib.sha("main")).pull == "pull 77"


@pytest.mark.parametrize(
    ("message", "page"),
    [
        ("fix (#7)", "https://gitlab.example/o/lib/pull/7"),
        ("Merge branch x\n\nSee merge request o/lib!12", "https://gitlab.example/o/lib/-/merge_requests/12"),
        ("nothing of the kind #7", ""),
    ],
)
def test_the_page_of_the_change_is_named_as_its_host_does(lib: Any, read: Read, message: str, page: str) -> None:
    start = lib.sha("HEAD")
    commit = lib.commit_files(message, {"lib/a": "2"})
    history = read(start, "main")
    hosted = replace(history, repository=replace(history.repository, url="https://gitlab.example/o/lib.git"))
    assert describe_commit(hosted, commit).pull == page


@pytest.mark.parametrize("path", ["[lib]", "[lib, other]"])
def test_a_range_without_a_commit_under_the_path_is_refused(path: str, lib: Any, read: Read) -> None:
    start = lib.sha("HEAD")
    lib.commit_files("nothing of ours", {"third": "1"})
    with pytest.raises(RefError, match="the images do not differ"):
        read(start, "main", path)


def test_commits_that_do_not_follow_one_another_are_refused(lib: Any, read: Read) -> None:
    start = lib.sha("HEAD")
    last = lib.commit_files("one", {"lib/a": "2"})
    with pytest.raises(RefError, match="does not come before"):
        read(last, start)
    with pytest.raises(RefError, match="does not come before"):
        read(last, last)
