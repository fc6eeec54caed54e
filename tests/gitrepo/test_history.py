"""Ancestry, counts and logs, from commits alone and with the trees along a path."""

from collections.abc import Callable
from typing import Any

import pytest

from imagepins.errors import NetworkError
from imagepins.gitrepo.cache import Repository, fetch_refs, read
from imagepins.gitrepo.history import describe_commits, is_ancestor, log, merge_base, relate
from imagepins.gitrepo.trees import Entry, lookup, read_file, touching


@pytest.fixture
def repository(upstream: Any, open_cache: Callable[..., Repository]) -> Repository:
    found = open_cache(upstream.url)
    fetch_refs(found, ["refs/heads/main", "refs/pull/7/head"])
    return found


@pytest.mark.parametrize(
    ("old", "new", "words", "is_forward"),
    [
        ("refs/keep/c1", "refs/keep/c3", "2 commits ahead", True),
        ("refs/keep/c2", "refs/keep/c3", "1 commit ahead", True),
        ("refs/keep/c5", "refs/keep/c3", "2 commits BEFORE", False),
        ("refs/pull/7/head", "main", "diverged: 2 commits ahead, 2 commits missing", False),
        ("main", "main", "the same commit", True),
    ],
)
def test_relation_in_words(
    repository: Repository, upstream: Any, old: str, new: str, words: str, *, is_forward: bool
) -> None:
    relation = relate(repository, upstream.sha(old), upstream.sha(new))
    assert (relation.words, relation.is_forward) == (words, is_forward)


def test_ancestry_is_right_without_any_tree(repository: Repository, upstream: Any) -> None:
    assert is_ancestor(repository, upstream.sha("refs/keep/c2"), upstream.sha("main"))
    assert not is_ancestor(repository, upstream.sha("refs/pull/7/head"), upstream.sha("main"))
    assert merge_base(repository, upstream.sha("refs/pull/7/head"), upstream.sha("main")) == upstream.sha(
        "refs/keep/c4"
    )
    tree = describe_commits(repository, [upstream.sha("main")])[upstream.sha("main")].tree
    assert read(repository, "cat-file", "--batch-check", stdin=f"{tree}\n").strip() == f"{tree} missing"


def test_shallow_server_is_never_concluded_from(
    upstream: Any, open_cache: Callable[..., Repository], tmp_path: Any
) -> None:
    upstream.git("clone", "--quiet", "--bare", "--depth=1", upstream.url, str(tmp_path / "shallow"))
    found = open_cache(f"file://{tmp_path / 'shallow'}")
    fetch_refs(found, ["refs/heads/main"])
    with pytest.raises(NetworkError, match="shallow"):
        is_ancestor(found, upstream.sha("main"), upstream.sha("main"))


def test_commits_are_described(repository: Repository, upstream: Any) -> None:
    sha = upstream.sha("refs/keep/c3")
    commit = describe_commits(repository, [sha])[sha]
    assert (commit.subject, commit.author) == ("c3", "test@example.org")
    assert commit.date == upstream.git("log", "-1", "--format=%cI", sha)


def test_log_under_a_path_reads_only_the_trees_along_it(
    new_upstream: Callable[..., Any], open_cache: Callable[..., Repository]
) -> None:
    up = new_upstream()
    old = up.commit_files("start", {"projects/rccl/a": "1", "projects/hip/a": "1", "docs/deep/x": "1"})
    up.commit_files("docs", {"docs/deep/x": "2"})
    up.commit_files("rccl", {"projects/rccl/a": "2"})
    new = up.commit_files("hip", {"projects/hip/a": "2"})
    found = open_cache(up.url)
    fetch_refs(found, ["refs/heads/main"])
    assert [commit.subject for commit in touching(found, old, new, ["projects/rccl"])] == ["rccl"]
    assert [commit.subject for commit in log(found, old, new)] == ["hip", "rccl", "docs"]
    docs = up.git("rev-parse", f"{new}:docs")
    assert read(found, "cat-file", "--batch-check", stdin=f"{docs}\n").strip().endswith("missing")


def test_log_under_a_path_sees_merged_branches(
    new_upstream: Callable[..., Any], open_cache: Callable[..., Repository]
) -> None:
    up = new_upstream()
    old = up.commit_files("start", {"p/a": "1", "q": "1"})
    up.git("checkout", "--quiet", "-b", "side")
    up.commit_files("side", {"p/a": "2"})
    up.git("checkout", "--quiet", "main")
    up.commit_files("other", {"q": "2"})
    up.git("merge", "--quiet", "--no-ff", "-m", "merge", "side")
    found = open_cache(up.url)
    fetch_refs(found, ["refs/heads/main"])
    assert [commit.subject for commit in touching(found, old, up.sha("main"), ["p"])] == ["side"]


def test_log_is_capped(repository: Repository, upstream: Any) -> None:
    assert len(log(repository, upstream.sha("refs/keep/c1"), upstream.sha("main"), limit=2)) == 2


def test_subject_with_odd_characters_survives(
    new_upstream: Callable[..., Any], open_cache: Callable[..., Repository]
) -> None:
    up = new_upstream()
    sha = up.commit("tab\there: é “quoted” %s $HOME", a="1")
    found = open_cache(up.url)
    fetch_refs(found, ["refs/heads/main"])
    assert describe_commits(found, [sha])[sha].subject == "tab\there: é “quoted” %s $HOME"


def test_lookup_tells_files_folders_and_nothing(
    new_upstream: Callable[..., Any], open_cache: Callable[..., Repository]
) -> None:
    up = new_upstream()
    sha = up.commit_files("x", {"a/b/c": "text", "top": "t"})
    found = open_cache(up.url)
    fetch_refs(found, ["refs/heads/main"])
    tree = describe_commits(found, [sha])[sha].tree
    entries = lookup(found, [tree], ["a/b/c", "a/b", "top", "top/below", "a/none", "none/deep/er"])
    assert entries[tree, "a/b/c"] == Entry("100644", up.git("rev-parse", f"{sha}:a/b/c"))
    assert entries[tree, "a/b"] == Entry("040000", up.git("rev-parse", f"{sha}:a/b"))
    assert entries[tree, "top"] is not None
    assert [entries[tree, path] for path in ("top/below", "a/none", "none/deep/er")] == [None, None, None]
    assert read_file(found, tree, "a/b/c") == "text"
    assert read_file(found, tree, "a/b") is None


def test_server_without_filters_works_all_the_same(upstream: Any, open_cache: Callable[..., Repository]) -> None:
    upstream.git("config", "uploadpack.allowFilter", "false")
    found = open_cache(upstream.url)
    fetch_refs(found, ["refs/heads/main"])
    old, new = upstream.sha("refs/keep/c1"), upstream.sha("main")
    assert len(touching(found, old, new, ["f"])) == 4


def test_file_that_comes_and_goes_is_seen(
    new_upstream: Callable[..., Any], open_cache: Callable[..., Repository]
) -> None:
    up = new_upstream()
    old = up.commit_files("start", {"q": "1"})
    up.commit_files("add", {"p/deep/a": "1"})
    (up.path / "p/deep/a").unlink()
    new = up.commit_files("remove", {"q": "2"})
    found = open_cache(up.url)
    fetch_refs(found, ["refs/heads/main"])
    assert [commit.subject for commit in touching(found, old, new, ["p/deep"])] == ["remove", "add"]
    assert [commit.subject for commit in touching(found, old, new, ["none", "q"])] == ["remove"]


def test_answers_are_kept_and_the_same(repository: Repository, upstream: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = upstream.sha("refs/keep/c1"), upstream.sha("main")
    first = relate(repository, old, new), touching(repository, old, new, ["f"])
    monkeypatch.setattr("imagepins.gitrepo.trees.lookup", lambda *_: pytest.fail("searched again"))
    assert (relate(repository, old, new), touching(repository, old, new, ["f"])) == first
    assert relate(repository, new, old).words == "5 commits BEFORE"


def test_answers_of_long_ago_are_thrown_away(
    repository: Repository, upstream: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("imagepins.gitrepo.memo.LIMIT", 2)
    commits = [upstream.sha(f"refs/keep/c{number}") for number in range(1, 6)]
    for commit in commits:
        relate(repository, commit, upstream.sha("main"))
    assert len(list((repository.path / "answers").iterdir())) <= 3


def test_cache_that_cannot_be_written_answers_all_the_same(repository: Repository, upstream: Any) -> None:
    (repository.path / "answers").write_text("in the way")
    assert relate(repository, upstream.sha("refs/keep/c1"), upstream.sha("main")).ahead == 5
