"""Versions as their projects write them down."""

from collections.abc import Callable
from typing import Any

import pytest

from imagepins.gitrepo.cache import Repository, fetch_refs
from imagepins.gitrepo.versions import VersionNotFound, parse_version, version_at

RCCL = "##### version\nNCCL_MAJOR   := 2\nNCCL_MINOR   := 32\nNCCL_PATCH   := 3\nNCCL_SUFFIX  :=\nPKG_REVISION := 1\n"
HIP = "#HIP_VERSION_MAJOR\n7\n#HIP_VERSION_MINOR\n16\n#HIP_VERSION_PATCH\n{patch}\n#HIP_PACKAGING\n0\n"


@pytest.mark.parametrize(
    ("path", "text", "version"),
    [
        ("projects/rccl/makefiles/version.mk", RCCL, "2.32.3"),
        ("projects/hip/VERSION", HIP.format(patch=0), "7.16"),
        ("projects/hip/VERSION", HIP.format(patch=42), "7.16.42"),
        ("VERSION", "7.16\n0\n", "7.16"),
        ("VERSION", "v1.2.3-rc1\n", "1.2.3-rc1"),
        ("version.txt", "# comment\n2.12.0a0\n", "2.12.0a0"),
        ("CMakeLists.txt", "# project(old VERSION 0.1)\nproject(\n  x LANGUAGES CXX\n  VERSION 3.10.0)\n", "3.10.0"),
        ("CMakeLists.txt", 'project("a b" VERSION "1.19" DESCRIPTION "x")', "1.19"),
        ("triton/__init__.py", '"""Doc"""\n__version__ = "3.8.0"\n', "3.8.0"),
        (
            "aiter/_version.py",
            "__version__: str = version = '0.1.24.post1'\n__version_tuple__ = (0, 1)\n",
            "0.1.24.post1",
        ),
        ("setup.py", "setup(\n    name='x',\n    version='1.2.3',\n)\n", "1.2.3"),
        ("pyproject.toml", '[project]\nname = "x"\nversion = "4.5"\n', "4.5"),
        ("Cargo.toml", '[package]\nversion = "0.8.1"\n', "0.8.1"),
        ("package.json", '{"name": "x", "version": "1.0.0"}', "1.0.0"),
    ],
)
def test_version_is_read_as_its_project_writes_it(path: str, text: str, version: str) -> None:
    assert parse_version(path, text) == version


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("VERSION", ""),
        ("VERSION", "<html>not here</html>"),
        ("VERSION", "$(shell git describe)"),
        ("CMakeLists.txt", "project(x VERSION ${MAJOR}.${MINOR})"),
        ("CMakeLists.txt", "cmake_minimum_required(VERSION 3.16)\nproject(x)"),
        ("__init__.py", "from ._version import __version__"),
        ("pyproject.toml", "[project\n"),
        ("pyproject.toml", '[project]\ndynamic = ["version"]\n'),
        ("package.json", "[]"),
        ("README.md", "version 1.2.3"),
    ],
)
def test_text_without_a_plain_version_gives_none(path: str, text: str) -> None:
    assert parse_version(path, text) is None


def test_version_is_that_of_the_commit_not_of_the_tip(
    new_upstream: Callable[..., Any], open_cache: Callable[..., Repository]
) -> None:
    up = new_upstream()
    old = up.commit_files("old", {"projects/rccl/makefiles/version.mk": RCCL})
    up.commit_files("new", {"projects/rccl/makefiles/version.mk": RCCL.replace("32", "33")})
    found = open_cache(up.url)
    fetch_refs(found, ["refs/heads/main"])
    assert version_at(found, old, "projects/rccl/makefiles/version.mk") == "2.32.3"
    with pytest.raises(VersionNotFound, match="there is no file gone"):
        version_at(found, old, "gone")


def test_nearest_tag_is_the_one_with_fewest_commits_since(
    new_upstream: Callable[..., Any], open_cache: Callable[..., Repository]
) -> None:
    up = new_upstream()
    up.commit("a", a="1")
    up.git("tag", "v0.1.19")
    up.commit("b", a="2")
    up.git("tag", "-a", "v0.1.20.post1", "-m", "x")
    commit = up.commit("c", a="3")
    up.commit("d", a="4")
    up.git("tag", "v0.2.0")
    up.git("tag", "nightly")
    found = open_cache(up.url)
    fetch_refs(found, ["refs/heads/main"])
    assert version_at(found, commit, "tag") == "0.1.20.post1"


def test_no_tag_is_no_version(new_upstream: Callable[..., Any], open_cache: Callable[..., Repository]) -> None:
    up = new_upstream()
    commit = up.commit("a", a="1")
    found = open_cache(up.url)
    fetch_refs(found, ["refs/heads/main"])
    with pytest.raises(VersionNotFound, match="no tag"):
        version_at(found, commit, "tag")


def test_branch_that_looks_like_a_version_is_no_tag(
    new_upstream: Callable[..., Any], open_cache: Callable[..., Repository]
) -> None:
    up = new_upstream()
    up.commit("a", a="1")
    up.git("tag", "rocm-6.3.0")
    commit = up.commit("b", a="2")
    up.git("branch", "release/9.9")
    up.git("branch", "main-2")
    found = open_cache(up.url)
    fetch_refs(found, ["refs/heads/main", "refs/heads/"])
    assert version_at(found, commit, "tag") == "6.3.0"
