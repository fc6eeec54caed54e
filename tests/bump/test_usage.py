"""The command line: what contradicts itself is refused, and an error is JSON too where JSON was asked for."""

from collections.abc import Callable
from typing import Any

import pytest

Pinned = Callable[..., Any]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["rccl", "main", "--outdated"], "--outdated does not go with a ref"),
        (["rccl", "main", "--check"], "--check does not go with a pin"),
        (["--check", "--commit", "rccl"], "--check does not go with a pin, --commit"),
        (["--check", "--outdated"], "--check does not go with --outdated"),
        (["--check", "--min-age", "0"], "--check does not go with --min-age"),
        (["--outdated", "--branch", "b"], "--outdated does not go with --branch"),
        (["--outdated", "--force"], "--outdated does not go with --force"),
        (["--outdated", "rccl", "--group", "g"], "a pin or a group, not both"),
        (["--all", "rccl"], "--all does not go with a pin"),
        (["rccl", "main", "--reason", "because"], "--reason belongs to --allow-unreachable"),
        ([], "name a pin"),
    ],
)
def test_arguments_that_would_be_ignored_are_refused(pinned: Pinned, arguments: list[str], words: str) -> None:
    project = pinned()
    before = project.snapshot()
    ended = project.run(*arguments)
    assert (ended.code, words in ended.err, ended.out) == (2, True, "")
    assert project.snapshot() == before


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["rccl", "nosuch"], 3), (["rcll"], 2), (["--check", "--commit"], 2), (["--outdated", "x"], 2)],
)
def test_error_is_json_where_json_was_asked_for(pinned: Pinned, arguments: list[str], code: int) -> None:
    ended = pinned().run(*arguments, "--json")
    assert (ended.code, ended.json["exit_code"]) == (code, code)
    assert ended.json["error"] in ended.err


def test_all_of_nothing_says_so(project: Any) -> None:
    project.write_bytes(b"schema: 1\npins: {}\nimages: {}\n")
    ended = project.run("--all")
    assert (ended.code, ended.out) == (0, "there is no pin to move\n")


def test_help_says_that_a_dry_run_fills_the_cache(project: Any) -> None:
    assert "write nothing but the user's cache" in " ".join(project.run("--help").out.split())
