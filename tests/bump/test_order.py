"""Versions that have an order: going back needs leave, whatever the kind of pin."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imagepins.bump.order import debian_key

ROW = "echo ' librccl1 | {version} | http://mirror.example/debian trixie/main amd64 Packages'\n"


@pytest.fixture
def pypi(project: Any, tmp_path: Path) -> Callable[[str], Any]:
    """The project with one pypi pin, whose index holds 1.0 and a 1.1 that was yanked."""
    (tmp_path / "simple/ply").mkdir(parents=True)
    links = '<a href="ply-1.0.tar.gz">x</a><a href="ply-1.1.tar.gz" data-yanked="broken">x</a>'
    (tmp_path / "simple/ply/index.html").write_text(links)

    def make(version: str) -> Any:
        project.write(f'  x:\n    pypi: ply\n    version: "{version}"\n    index: file://{tmp_path}/simple/\n')
        return project

    return make


@pytest.fixture
def apt(project: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """The project with one apt pin, and a machine that knows 5.4.3 of its package."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/apt-cache").write_text("#!/bin/sh\n" + ROW.format(version="5.4.3-3"))
    (tmp_path / "bin/apt-cache").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)

    def make(version: str) -> Any:
        project.write(f'  x:\n    apt: librccl1\n    version: "{version}"\n    suite: trixie\n')
        return project

    return make


@pytest.mark.parametrize(
    "arguments", [["x"], ["x", "1.0"], ["x", "1.0", "--offline"]], ids=["newest", "named", "offline"]
)
def test_older_release_needs_leave(pypi: Callable[[str], Any], arguments: list[str]) -> None:
    project = pypi("1.1")
    before = project.snapshot()
    ended = project.run(*arguments)
    assert (ended.code, project.snapshot()) == (3, before)
    assert "1.0 is OLDER than 1.1, which x is at" in ended.err
    ended = project.run(*arguments, "--allow-downgrade")
    assert (ended.code, "1.0 is OLDER than 1.1" in ended.out) == (0, True)
    assert 'version: "1.0"' in project.pins.read_text()


def test_reason_why_only_an_older_release_is_left_is_told(pypi: Callable[[str], Any]) -> None:
    assert "the pinned version 1.1 was yanked: broken" in pypi("1.1").run("x").err


def test_outdated_says_that_what_is_there_is_older(pypi: Callable[[str], Any]) -> None:
    ended = pypi("1.1").run("--outdated")
    assert (ended.code, "older there" in ended.out) == (1, True)


@pytest.mark.parametrize("arguments", [["x"], ["x", "5.4.3"]], ids=["newest", "named"])
def test_older_package_needs_leave(apt: Callable[[str], Any], arguments: list[str]) -> None:
    project = apt("5.10.0")
    before = project.snapshot()
    ended = project.run(*arguments)
    assert (ended.code, project.snapshot()) == (3, before)
    assert "5.4.3 is OLDER than 5.10.0" in ended.err
    assert project.run(*arguments, "--allow-downgrade").code == 0


def test_newer_package_needs_none(apt: Callable[[str], Any]) -> None:
    assert apt("5.4.3~rc1").run("x").code == 0


def dpkg_order(one: str, other: str) -> int:
    """-1, 0 or 1, as dpkg itself compares."""
    ask = ["dpkg", "--compare-versions", one]
    if subprocess.run([*ask, "eq", other], check=False).returncode == 0:
        return 0
    return -1 if subprocess.run([*ask, "lt", other], check=False).returncode == 0 else 1


def order(one: str, other: str) -> int:
    first, second = debian_key(one), debian_key(other)
    return (first > second) - (first < second)


VERSIONS = [
    *("1.0~rc1", "1.0~rc1-1", "1.0", "1.0-0", "1.0-1~bpo12+1", "1.0-1", "1.0-1+b1", "1.0-1.1", "1.00", "01.0-01"),
    *("1.0a-1", "1.0+dfsg-1", "1.0-2-1", "1.0.1-1", "1.0.1", "1.2-3ubuntu1", "1.10", "1~~", "1~~a", "1.a", "1.~"),
    *("5.7.1-6", "5.7.1+really5.6-1", "0:1.0-1", "1:0.1", "1:1.0-1", "2024.01", "1.-1"),
]


@pytest.mark.parametrize("one", VERSIONS)
def test_versions_sort_as_dpkg_sorts_them(one: str) -> None:
    assert {other: order(one, other) for other in VERSIONS} == {other: dpkg_order(one, other) for other in VERSIONS}


UPSTREAM = st.from_regex(r"[0-9]([0-9]|[a-zA-Z.+~-]){0,6}", fullmatch=True)
REVISION = st.from_regex(r"[0-9a-zA-Z.+~]{1,4}", fullmatch=True)
ANY_VERSION = st.builds(
    "{}{}{}".format, st.sampled_from(["", "0:", "1:"]), UPSTREAM, REVISION.map("-{}".format) | st.just("")
)


@settings(max_examples=150, deadline=None)
@given(ANY_VERSION, ANY_VERSION)
def test_any_two_versions_sort_as_dpkg_sorts_them(one: str, other: str) -> None:
    hypothesis.assume(not one.endswith("-") and not other.endswith("-"))
    assert order(one, other) == dpkg_order(one, other)
