"""Names to commits, on a repository with every trap in it."""

import hashlib
import itertools
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest

from imagepins import process
from imagepins.errors import NetworkError, RefError
from imagepins.gitrepo.cache import Repository, commits_of, fetch_refs
from imagepins.gitrepo.resolve import Resolved, pull_refs, reaching, refs_asked, resolve
from imagepins.gitrepo.wanted import parse_wanted

MAIN = ["refs/heads/main"]


@pytest.fixture
def ask(upstream: Any, open_cache: Callable[..., Repository]) -> Callable[[str], Resolved]:
    """Resolves a typed ref for a pin that tracks main."""
    repository = open_cache(upstream.url)

    def asked(text: str) -> Resolved:
        wanted = parse_wanted(text, upstream.url)
        fetch_refs(repository, [*MAIN, *refs_asked(wanted, upstream.url)])
        return resolve(repository, wanted, MAIN)

    return asked


@pytest.mark.parametrize(
    ("text", "revision"),
    [
        ("main", "main"),
        ("foo/main", "refs/keep/c1"),
        ("users/x/main", "refs/keep/c2"),
        ("v1", "refs/keep/c3"),
        ("v1nested", "refs/keep/c3"),
        ("light", "refs/keep/c3"),
        ("heads/rel", "refs/keep/c4"),
        ("tags/rel", "refs/keep/c2"),
        ("deadbeef", "refs/keep/c3"),
        ("20260817", "refs/keep/c4"),
        ("pull/7", "refs/pull/7/head"),
        ("pr/8", "refs/pull/8/head"),
        ("HEAD", "main"),
    ],
)
def test_names_lead_to_their_own_commit(
    ask: Callable[[str], Resolved], upstream: Any, text: str, revision: str
) -> None:
    assert ask(text).commit == upstream.sha(revision)


def test_annotated_tag_object_is_peeled_and_said(ask: Callable[[str], Resolved], upstream: Any) -> None:
    tag_object = upstream.git("rev-parse", "refs/tags/v1")
    found = ask(tag_object)
    assert found.commit == upstream.sha("refs/keep/c3")
    assert "tag object" in found.notes[0]


def test_tag_name_is_kept_where_branch_and_tag_agree(ask: Callable[[str], Resolved], upstream: Any) -> None:
    upstream.git("tag", "same", "refs/keep/c3")
    upstream.git("update-ref", "refs/heads/same", "refs/keep/c3")
    assert ask("same").tag == "same"


def test_branch_and_tag_that_differ_are_both_listed(ask: Callable[[str], Resolved], upstream: Any) -> None:
    with pytest.raises(RefError, match="ambiguous") as caught:
        ask("rel")
    for part in ("heads/rel", "tags/rel", upstream.sha("refs/keep/c4"), upstream.sha("refs/keep/c2")):
        assert part in str(caught.value)


@pytest.mark.parametrize("text", ["nosuch", "heads/nosuch", "tags/nosuch", "pull/99", "main2", "mai"])
def test_missing_name_is_said_with_the_repository(ask: Callable[[str], Resolved], upstream: Any, text: str) -> None:
    with pytest.raises(RefError, match="does not exist") as caught:
        ask(text)
    assert upstream.url in str(caught.value)


def test_short_sha_is_expanded(ask: Callable[[str], Resolved], upstream: Any) -> None:
    commit = upstream.sha("refs/keep/c2")
    assert ask(commit[:10]).commit == commit
    assert ask(commit[:10].upper()).commit == commit


def test_short_sha_of_another_branch_is_found_by_widening(ask: Callable[[str], Resolved], upstream: Any) -> None:
    upstream.git("checkout", "--quiet", "-b", "side", "refs/keep/c1")
    commit = upstream.commit("side", s="s")
    assert ask(commit[:12]).commit == commit


def test_short_sha_costs_no_more_processes_with_many_branches_and_candidates(
    ask: Callable[[str], Resolved], upstream: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = _commits_beginning_alike(upstream)
    upstream.git("update-ref", "refs/heads/side", first)
    tips = [upstream.sha(f"refs/keep/c{number}") for number in (1, 2, 3)]
    refs = "".join(f"create refs/heads/b{number} {tips[number % 3]}\n" for number in range(300))
    upstream.git("update-ref", "--stdin", stdin=refs)
    counted = Mock(wraps=process.run)
    monkeypatch.setattr(process, "run", counted)
    # Only the first of the two is part of a branch.
    assert ask(first[:4]).commit == first
    assert counted.call_count < 12


def test_short_sha_of_nothing_is_refused(ask: Callable[[str], Resolved]) -> None:
    with pytest.raises(RefError, match="does not exist"):
        ask("f00dfeed1234")


def test_short_sha_that_is_also_a_branch_lists_both(ask: Callable[[str], Resolved], upstream: Any) -> None:
    commit = upstream.sha("refs/keep/c5")
    upstream.git("update-ref", f"refs/heads/{commit[:8]}", "refs/keep/c1")
    with pytest.raises(RefError, match="ambiguous") as caught:
        ask(commit[:8])
    assert commit in str(caught.value)
    assert upstream.sha("refs/keep/c1") in str(caught.value)


def test_two_commits_with_one_beginning_are_listed_with_dates(ask: Callable[[str], Resolved], upstream: Any) -> None:
    first, second = _commits_beginning_alike(upstream)
    upstream.git("update-ref", "refs/heads/main", second)
    with pytest.raises(RefError, match="ambiguous") as caught:
        ask(first[:4])
    assert first in str(caught.value)
    assert second in str(caught.value)
    assert str(caught.value).count("2001-09-09") == 2


def _commits_beginning_alike(upstream: Any) -> tuple[str, str]:
    """A commit on main and a child of it whose shas begin with the same four digits."""
    tree = upstream.git("rev-parse", "main^{tree}")

    def body(parent: str, number: int) -> str:
        who = "T <t@example.org> 1000000000 +0000"
        return f"tree {tree}\nparent {parent}\nauthor {who}\ncommitter {who}\n\n{number}\n"

    def sha(text: str) -> str:
        return hashlib.sha1(f"commit {len(text)}\0{text}".encode(), usedforsecurity=False).hexdigest()

    first = body(upstream.sha("main"), 0)
    children = (body(sha(first), number) for number in itertools.count())
    second = next(child for child in children if sha(child)[:4] == sha(first)[:4])
    for text in (first, second):
        upstream.git("hash-object", "-t", "commit", "-w", "--stdin", stdin=text)
    return sha(first), sha(second)


def test_page_of_a_branch_with_slashes_takes_the_longest_name(ask: Callable[[str], Resolved], upstream: Any) -> None:
    repository_page = upstream.url.replace("file://", "https://host")
    wanted = parse_wanted(f"{repository_page}/tree/users/x/main/docs", repository_page)
    assert refs_asked(wanted, upstream.url)[0] == "refs/heads/users/x/main/docs"
    assert "refs/heads/users/x/main" in refs_asked(wanted, upstream.url)


def test_commit_on_the_page_of_a_pull_is_looked_for_there(upstream: Any, open_cache: Callable[..., Repository]) -> None:
    repository = open_cache(upstream.url)
    page = "https://host/o/r"
    for commit in (upstream.sha("refs/pull/8/head"), upstream.sha("refs/pull/7/head~1")):
        number = "8" if commit == upstream.sha("refs/pull/8/head") else "7"
        for text in (commit, commit[:10]):
            wanted = parse_wanted(f"{page}/pull/{number}/commits/{text}", page)
            asked = refs_asked(wanted, upstream.url)
            assert f"refs/pull/{number}/head" in asked
            fetch_refs(repository, [*MAIN, *asked])
            assert resolve(repository, wanted, MAIN).commit == commit


def test_commit_the_server_does_not_have_is_absent(ask: Callable[[str], Resolved]) -> None:
    with pytest.raises(RefError, match="does not exist at"):
        ask("1" * 40)


def test_tree_is_no_commit(ask: Callable[[str], Resolved], upstream: Any) -> None:
    with pytest.raises(RefError, match="not a commit"):
        ask(upstream.git("rev-parse", "main^{tree}"))


def test_fetched_commit_that_no_ref_contains_reaches_nothing(
    ask: Callable[[str], Resolved], upstream: Any, open_cache: Callable[..., Repository]
) -> None:
    impostor = upstream.sha("refs/old8")
    assert ask(impostor).commit == impostor
    assert reaching(open_cache(upstream.url), impostor, MAIN) is None


def test_ancestors_are_reached_from_the_branch(
    ask: Callable[[str], Resolved], upstream: Any, open_cache: Callable[..., Repository]
) -> None:
    commit = upstream.sha("refs/keep/c2")
    ask(commit)
    assert reaching(open_cache(upstream.url), commit, MAIN) == "refs/heads/main"


def test_server_that_refuses_bare_commits_is_asked_for_its_branches(
    ask: Callable[[str], Resolved], upstream: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "protocol.version")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "0")
    upstream.git("checkout", "--quiet", "-b", "side", "refs/keep/c1")
    inner = upstream.commit("inner", s="1")
    upstream.commit("outer", s="2")
    found = ask(inner)
    assert found.commit == inner
    assert "refused the bare commit" in found.notes[0]
    with pytest.raises(RefError, match="all branches and tags"):
        ask(upstream.sha("refs/old8"))


def test_deleted_ref_is_forgotten(ask: Callable[[str], Resolved], upstream: Any) -> None:
    ask("foo/main")
    upstream.git("update-ref", "-d", "refs/heads/foo/main")
    with pytest.raises(RefError, match="does not exist"):
        ask("foo/main")


def test_branch_that_became_a_folder_does_not_clash(ask: Callable[[str], Resolved], upstream: Any) -> None:
    upstream.git("update-ref", "refs/heads/topic", "refs/keep/c1")
    ask("topic")
    upstream.git("update-ref", "-d", "refs/heads/topic")
    upstream.git("update-ref", "refs/heads/topic/a", "refs/keep/c2")
    assert ask("topic/a").commit == upstream.sha("refs/keep/c2")
    with pytest.raises(RefError):
        ask("topic")


def test_missing_repository_is_no_answer(open_cache: Callable[..., Repository]) -> None:
    with pytest.raises(NetworkError, match="no git repository"):
        fetch_refs(open_cache("file:///nowhere/at/all"), MAIN)


def test_offline_uses_what_the_cache_knows(
    upstream: Any, open_cache: Callable[..., Repository], ask: Callable[[str], Resolved]
) -> None:
    ask("main")
    tip = upstream.sha("main")
    upstream.commit("newer", f="n")
    offline = open_cache(upstream.url, is_offline=True)
    fetch_refs(offline, MAIN)
    assert commits_of(offline, MAIN) == {"refs/heads/main": tip}


def test_pull_heads_are_asked_for_as_hosts_spell_them() -> None:
    assert pull_refs("7", "git@github.com:o/r.git") == ("refs/pull/7/head",)
    assert pull_refs("7", "https://gitlab.com/o/r") == ("refs/merge-requests/7/head",)
    assert pull_refs("7", "file:///o/r") == ("refs/pull/7/head", "refs/merge-requests/7/head")
