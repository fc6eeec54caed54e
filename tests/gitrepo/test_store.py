"""The cache: begun anew where it is damaged, kept in few packs, said where it cannot be."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from imagepins.errors import UsageError
from imagepins.gitrepo import store
from imagepins.gitrepo.cache import (
    Repository,
    Unreadable,
    cache_root,
    commits_of,
    default_branch,
    fetch_refs,
    open_repository,
)
from imagepins.gitrepo.history import is_ancestor
from imagepins.gitrepo.patches import range_patch_id

MAIN = ["refs/heads/main"]
Open = Callable[..., Repository]


def test_cache_folder_follows_the_xdg_rules() -> None:
    assert cache_root({"XDG_CACHE_HOME": "/cache"}) == Path("/cache/imagepins")
    assert cache_root({"XDG_CACHE_HOME": "relative"}) == Path.home() / ".cache/imagepins"


def test_user_without_a_home_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    assert cache_root({"XDG_CACHE_HOME": "/cache"}) == Path("/cache/imagepins")
    with pytest.raises(UsageError, match="XDG_CACHE_HOME"):
        cache_root({"PATH": "/bin"})


def test_one_repository_under_two_mirrors_has_two_caches(upstream: Any, tmp_path: Path) -> None:
    url = "https://github.com/o/r"
    one = open_repository(url, {url: "file:///a"}, tmp_path)
    other = open_repository(url, {url: "file:///b"}, tmp_path)
    assert one.path != other.path


def test_folder_that_cannot_be_made_is_said(upstream: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="XDG_CACHE_HOME"):
        open_repository(upstream.url, {}, tmp_path / "file")


@pytest.mark.parametrize("victim", ["objects/pack/*.pack", "objects/pack/*.idx", "HEAD"])
def test_damaged_cache_is_begun_anew(upstream: Any, open_cache: Open, victim: str) -> None:
    found = open_cache(upstream.url)
    fetch_refs(found, MAIN)
    for path in found.path.glob(victim):
        path.chmod(0o644)
        path.write_bytes(b"garbage")
    upstream.commit("new", f="new")
    fetch_refs(found, MAIN)
    assert commits_of(found, MAIN)["refs/heads/main"] == upstream.sha("main")
    assert is_ancestor(found, upstream.sha("refs/keep/c1"), upstream.sha("main"))


def test_cache_that_is_no_repository_never_leads_to_one_above_it(
    upstream: Any, new_upstream: Callable[..., Any]
) -> None:
    around = new_upstream("around")
    around.commit("kept")
    around.git("remote", "add", "origin", upstream.url)
    around.git("update-ref", "refs/ip/theirs", "HEAD")
    before = around.git("for-each-ref")
    found = open_repository(upstream.url, {}, around.path / "cache")
    fetch_refs(found, MAIN)
    (found.path / "HEAD").unlink()
    fetch_refs(found, MAIN)
    assert commits_of(found, MAIN)["refs/heads/main"] == upstream.sha("main")
    assert around.git("for-each-ref") == before


def test_user_who_allows_only_named_bare_repositories_is_served(
    upstream: Any, open_cache: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gitconfig").write_text("[safe]\n\tbareRepository = explicit\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    found = open_cache(upstream.url)
    fetch_refs(found, MAIN)
    assert is_ancestor(found, upstream.sha("refs/keep/c1"), upstream.sha("main"))
    assert range_patch_id(found, upstream.sha("refs/keep/c1"), upstream.sha("main"))
    assert default_branch(found)[0] == "main"


def test_lock_files_of_a_killed_git_do_not_stand_in_the_way(upstream: Any, open_cache: Open) -> None:
    found = open_cache(upstream.url)
    fetch_refs(found, MAIN)
    for ref in [path for path in (found.path / "refs").rglob("*") if path.is_file()]:
        ref.with_name(f"{ref.name}.lock").touch()
    upstream.commit("new", f="new")
    fetch_refs(found, MAIN)
    assert commits_of(found, MAIN)["refs/heads/main"] == upstream.sha("main")


@pytest.mark.parametrize("left", [None, "", "garbage"])
@pytest.mark.parametrize("name", ["imagepins", "config", "HEAD"])
def test_half_made_cache_is_made_whole(upstream: Any, open_cache: Open, name: str, left: str | None) -> None:
    found = open_cache(upstream.url)
    (found.path / name).unlink()
    if left is not None:
        (found.path / name).write_text(left)
    fetch_refs(open_cache(upstream.url), MAIN)
    assert commits_of(found, MAIN)["refs/heads/main"] == upstream.sha("main")


def test_damage_that_is_met_while_reading_is_told_with_the_cache_to_remove(upstream: Any, open_cache: Open) -> None:
    found = open_cache(upstream.url)
    fetch_refs(found, MAIN)
    for path in found.path.glob("objects/pack/*"):
        path.unlink()
    with pytest.raises(Unreadable, match="remove the cache of") as caught:
        is_ancestor(found, upstream.sha("refs/keep/c1"), upstream.sha("main"))
    assert str(found.path) in str(caught.value)
    assert " -c " not in str(caught.value)
    assert caught.value.exit_code == 4


def test_packs_are_joined_and_nothing_is_lost(upstream: Any, open_cache: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "PACK_LIMIT", 3)
    found = open_cache(upstream.url)
    commits = []
    for number in range(8):
        commits.append(upstream.commit(f"n{number}", f=f"n{number}"))
        fetch_refs(found, MAIN)
    upstream.git("reset", "--quiet", "--hard", "HEAD~6")
    fetch_refs(found, MAIN)
    assert len(list(found.path.glob("objects/pack/*.pack"))) <= 4
    assert all(commits_of(found, commits).values())


def test_server_that_was_shallow_is_read_again(upstream: Any, open_cache: Open, tmp_path: Path) -> None:
    mirror = tmp_path / "mirror"
    upstream.git("clone", "--quiet", "--bare", "--depth=1", upstream.url, str(mirror))
    url = f"file://{mirror}"
    fetch_refs(open_cache(url), MAIN)
    os.system(f"git -C {mirror} fetch --quiet --unshallow")  # noqa: S605 - a path of the test
    found = open_cache(url)
    fetch_refs(found, MAIN)
    assert is_ancestor(found, upstream.sha("refs/keep/c1"), upstream.sha("main"))
