"""What became of a pull request, told from git refs alone."""

from collections.abc import Callable
from typing import Any

import pytest

from imagepins.gitrepo import patches
from imagepins.gitrepo.cache import Repository, commits_of, fetch_commit, fetch_refs
from imagepins.gitrepo.patches import contained_as
from imagepins.gitrepo.pulls import PullState, pull_state
from imagepins.gitrepo.resolve import pull_refs


@pytest.fixture
def pull(new_upstream: Callable[..., Any]) -> Any:
    """An upstream with pull 7 open: two commits on the first commit of main, which went on."""
    up = new_upstream()
    up.commit_files("start", {"src/deep/file": "1\n2\n3\n", "other": "0"})
    up.git("checkout", "--quiet", "-b", "p7")
    up.commit_files("p1", {"src/deep/file": "1\n2a\n3\n"})
    up.commit_files("p2", {"src/deep/file": "1\n2a\n3b\n", "src/new": "n"})
    up.git("update-ref", "refs/pull/7/head", "HEAD")
    up.git("checkout", "--quiet", "main")
    up.commit_files("unrelated", {"other": "1"})
    return up


@pytest.fixture
def state_of(pull: Any, open_cache: Callable[..., Repository]) -> Callable[[str], PullState]:
    def ask(pinned: str) -> PullState:
        repository = open_cache(pull.url)
        fetch_refs(repository, [*pull_refs("7", pull.url), "refs/heads/main"])
        if not commits_of(repository, [pinned])[pinned]:
            fetch_commit(repository, pinned)
        return pull_state(repository, "7", pinned, "main")

    return ask


def test_open(pull: Any, state_of: Callable[[str], PullState]) -> None:
    state = state_of(pull.sha("refs/pull/7/head"))
    assert (state.state, state.needs_attention) == ("open", False)


def test_updated_with_newer_commits(pull: Any, state_of: Callable[[str], PullState]) -> None:
    state = state_of(pull.sha("refs/pull/7/head^"))
    assert (state.state, state.head) == ("updated", pull.sha("refs/pull/7/head"))


def test_force_pushed(pull: Any, state_of: Callable[[str], PullState]) -> None:
    old = pull.sha("refs/pull/7/head")
    pull.git("checkout", "--quiet", "p7")
    pull.git("commit", "--quiet", "--amend", "--message", "p2 again")
    pull.git("update-ref", "refs/pull/7/head", "HEAD")
    state = state_of(old)
    assert (state.state, state.needs_attention) == ("force-pushed", True)


def test_pinned_to_the_branch_instead(pull: Any, state_of: Callable[[str], PullState]) -> None:
    state = state_of(pull.sha("main"))
    assert (state.state, state.needs_attention) == ("elsewhere", True)
    assert state_of(pull.sha("main^")).state == "updated"


def test_older_form_of_a_merged_pull_differs(pull: Any, state_of: Callable[[str], PullState]) -> None:
    old = pull.sha("refs/pull/7/head")
    pull.git("checkout", "--quiet", "p7")
    pull.commit_files("p3", {"src/more": "m"})
    pull.git("update-ref", "refs/pull/7/head", "HEAD")
    pull.git("checkout", "--quiet", "main")
    pull.git("merge", "--quiet", "--squash", "p7")
    pull.git("commit", "--quiet", "--message", "squashed")
    state = state_of(old)
    assert (state.state, state.merged_as, state.is_exact) == ("merged", pull.sha("main"), False)


def test_merged_by_a_merge_commit(pull: Any, state_of: Callable[[str], PullState]) -> None:
    pull.git("merge", "--quiet", "--no-ff", "-m", "Merge pull request", "p7")
    merge = pull.sha("main")
    pull.commit_files("later", {"other": "2"})
    state = state_of(pull.sha("refs/pull/7/head"))
    assert (state.state, state.how, state.merged_as) == ("merged", "merge", merge)


def test_merged_by_rebase(pull: Any, state_of: Callable[[str], PullState]) -> None:
    head = pull.sha("refs/pull/7/head")
    pull.git("cherry-pick", f"{head}^", head)
    last = pull.sha("main")
    pull.commit_files("later", {"src/deep/file": "all new\n"})
    state = state_of(head)
    assert (state.state, state.how, state.merged_as) == ("merged", "rebase", last)


def test_merged_by_squash_of_several_commits(pull: Any, state_of: Callable[[str], PullState]) -> None:
    pull.git("merge", "--quiet", "--squash", "p7")
    pull.git("commit", "--quiet", "--message", "A title that does not tell the number")
    squash = pull.sha("main")
    pull.commit_files("later", {"src/deep/file": "all new\n"})
    state = state_of(pull.sha("refs/pull/7/head"))
    assert (state.state, state.how, state.merged_as) == ("merged", "squash", squash)
    assert not state.is_exact
    assert "differ" in state.words


def test_squash_onto_the_very_base_has_the_pinned_content(pull: Any, state_of: Callable[[str], PullState]) -> None:
    pull.git("reset", "--quiet", "--hard", "main^")
    pull.git("merge", "--quiet", "--squash", "p7")
    pull.git("commit", "--quiet", "--message", "squashed")
    state = state_of(pull.sha("refs/pull/7/head"))
    assert (state.state, state.is_exact) == ("merged", True)


def test_squash_whose_conflicts_were_solved_is_told_as_probable_and_is_no_target(
    pull: Any, state_of: Callable[[str], PullState]
) -> None:
    squash = pull.commit_files("feat: other content (#7)", {"src/deep/file": "merged by hand\n", "src/new": "x"})
    state = state_of(pull.sha("refs/pull/7/head"))
    assert (state.state, state.merged_as, state.needs_attention) == ("open", None, True)
    assert f"probably merged as {squash[:12]}" in state.words


def test_number_in_a_subject_alone_merges_nothing(pull: Any, state_of: Callable[[str], PullState]) -> None:
    pull.commit_files("import x: fix typo (#7)", {"other": "typo"})
    state = state_of(pull.sha("refs/pull/7/head"))
    assert (state.state, state.merged_as, state.needs_attention) == ("open", None, False)
    assert "merged as" not in state.words


def test_pin_that_has_the_merged_change_from_the_branch_is_settled(
    pull: Any, state_of: Callable[[str], PullState]
) -> None:
    pull.git("merge", "--quiet", "--squash", "p7")
    pull.git("commit", "--quiet", "--message", "squashed")
    squash = pull.sha("main")
    later = pull.commit_files("later", {"other": "2"})
    assert state_of(pull.sha("refs/pull/7/head")).needs_attention
    for pinned in (squash, later):
        state = state_of(pinned)
        assert (state.state, state.is_settled, state.needs_attention) == ("merged", True, False)
    assert state_of(pull.sha("main~2")).needs_attention


def test_that_a_pull_may_have_been_closed_is_said(pull: Any, state_of: Callable[[str], PullState]) -> None:
    assert "or was closed" in state_of(pull.sha("refs/pull/7/head")).words
    assert "or was closed" in state_of(pull.sha("refs/pull/7/head^")).words


def test_many_commits_on_a_shallow_file_hide_no_merge(
    pull: Any, state_of: Callable[[str], PullState], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patches, "CANDIDATE_LIMIT", 2)
    pull.git("checkout", "--quiet", "p7")
    pull.commit_files("p3", {"README": "read"})
    pull.git("update-ref", "refs/pull/7/head", "HEAD")
    pull.git("checkout", "--quiet", "main")
    for number in range(4):
        pull.commit_files(f"readme {number}", {"README": f"{number}"})
    pull.commit_files("take back", {"README": ""})
    (pull.path / "README").unlink()
    pull.commit_files("gone", {})
    pull.git("merge", "--quiet", "--squash", "p7")
    pull.git("commit", "--quiet", "--message", "squashed")
    squash = pull.sha("main")
    for number in range(4):
        pull.commit_files(f"later {number}", {"README": f"{number}"})
    assert state_of(pull.sha("refs/pull/7/head")).merged_as == squash


def test_more_candidates_than_are_compared_is_not_taken_for_unmerged(
    pull: Any, state_of: Callable[[str], PullState], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patches, "CANDIDATE_LIMIT", 2)
    pull.git("merge", "--quiet", "--squash", "p7")
    pull.git("commit", "--quiet", "--message", "squashed")
    for number in range(3):
        pull.commit_files(f"later {number}", {"src/deep/file": f"{number}", "src/new": f"{number}"})
    state = state_of(pull.sha("refs/pull/7/head"))
    assert state.state == "open"
    assert "whether it was merged is not known" in state.words
    assert "4 commits touch the same files, 2 were compared" in state.words


def test_half_of_a_pull_is_not_merged(pull: Any, state_of: Callable[[str], PullState]) -> None:
    pull.git("cherry-pick", "refs/pull/7/head^")
    assert state_of(pull.sha("refs/pull/7/head")).state == "open"


def test_head_that_is_gone(pull: Any, state_of: Callable[[str], PullState]) -> None:
    old = pull.sha("refs/pull/7/head")
    pull.git("update-ref", "-d", "refs/pull/7/head")
    assert state_of(old).state == "gone"


def test_merge_request_of_gitlab(pull: Any, state_of: Callable[[str], PullState]) -> None:
    head = pull.sha("refs/pull/7/head")
    pull.git("update-ref", "refs/merge-requests/7/head", head)
    pull.git("update-ref", "-d", "refs/pull/7/head")
    assert state_of(head).state == "open"


def test_pick_is_found_as_itself_as_a_copy_or_not_at_all(pull: Any, open_cache: Callable[..., Repository]) -> None:
    pick = pull.sha("refs/pull/7/head^")
    repository = open_cache(pull.url)
    fetch_refs(repository, [*pull_refs("7", pull.url), "refs/heads/main"])
    assert contained_as(repository, pick, pull.sha("refs/pull/7/head")) == pick
    assert contained_as(repository, pick, pull.sha("main")) is None
    pull.git("cherry-pick", pick)
    fetch_refs(repository, ["refs/heads/main"])
    assert contained_as(repository, pick, pull.sha("main")) == pull.sha("main")


def test_merge_that_was_taken_back_is_told_until_it_comes_again(
    pull: Any, state_of: Callable[[str], PullState]
) -> None:
    pull.git("merge", "--quiet", "--squash", "p7")
    pull.git("commit", "--quiet", "--message", "feat (#7)")
    merged, head = pull.sha("main"), pull.sha("refs/pull/7/head")
    pull.git("revert", "--no-edit", "HEAD")
    state = state_of(head)
    assert (state.state, state.merged_as) == ("merged", merged)
    assert state.words.endswith(f"{pull.sha('main')[:12]} has taken it back since")
    pull.git("revert", "--no-edit", "HEAD")
    assert "taken" not in state_of(head).words


def test_change_that_was_taken_back_is_not_contained(pull: Any, open_cache: Callable[..., Repository]) -> None:
    repository = open_cache(pull.url)
    change = pull.commit_files("change", {"other": "2"})
    pull.git("revert", "--no-edit", "HEAD")
    taken_back = pull.sha("main")
    pull.git("revert", "--no-edit", "HEAD")
    fetch_refs(repository, ["refs/heads/main"])
    tips = (change, taken_back, pull.sha("main"))
    assert [contained_as(repository, change, tip) for tip in tips] == [change, None, change]
