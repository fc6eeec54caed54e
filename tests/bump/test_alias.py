"""Pins that share one value by anchor and alias."""

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def shared(project: Any, upstream: Any) -> Callable[..., Any]:
    """Pin ``kernels`` has the value of pin ``triton``, which is at c1."""

    def make(track: str = "main") -> Any:
        pin = "  {name}:\n    git: {url}\n    commit: {commit}  # {name}'s\n    track: {{branch: {track}}}\n"
        values = [("triton", f'&tri "{upstream.sha("refs/keep/c1")}"', "main"), ("kernels", "*tri", track)]
        named = (pin.format(name=name, url=upstream.url, commit=commit, track=to) for name, commit, to in values)
        project.write("".join(named))
        return project

    return make


def test_break_alias_gives_the_pin_a_value_of_its_own(shared: Callable[..., Any], upstream: Any) -> None:
    project = shared()
    before = project.pins.read_text()
    ended = project.run("kernels", upstream.sha("refs/keep/c3"), "--break-alias")
    assert ended.code == 0, ended.err
    assert project.pins.read_text() == before.replace("*tri", f'"{upstream.sha("refs/keep/c3")}"')
    assert f"ARG TRITON_COMMIT={upstream.sha('refs/keep/c1')}\n" in project.dockerfile.read_text()
    assert f"ARG KERNELS_COMMIT={upstream.sha('refs/keep/c3')}\n" in project.dockerfile.read_text()


def test_all_moves_both_by_the_anchor(shared: Callable[..., Any], upstream: Any) -> None:
    project = shared()
    before = project.pins.read_text()
    ended = project.run("--all")
    assert ended.code == 0, ended.err
    assert project.pins.read_text() == before.replace(upstream.sha("refs/keep/c1"), upstream.sha("main"))
    assert project.dockerfile.read_text().count(upstream.sha("main")) == 2


def test_all_goes_on_where_an_alias_should_go_elsewhere(shared: Callable[..., Any], upstream: Any) -> None:
    project = shared(track="deadbeef")
    ended = project.run("--all")
    assert ended.code == 0, ended.err
    assert "kernels stays: has the value of pin 'triton'" in ended.out
    assert "moves along  kernels" in " ".join(ended.out.split(" "))
    assert f"KERNELS_COMMIT={upstream.sha('main')}\n" in project.dockerfile.read_text()


def test_all_with_break_alias_parts_them(shared: Callable[..., Any], upstream: Any) -> None:
    project = shared(track="deadbeef")
    assert project.run("--all", "--break-alias").code == 0
    assert f"KERNELS_COMMIT={upstream.sha('refs/keep/c3')}\n" in project.dockerfile.read_text()
    assert f"TRITON_COMMIT={upstream.sha('main')}\n" in project.dockerfile.read_text()


@pytest.mark.parametrize(
    ("second", "ref"),
    [("*first", "main"), ('{{git: "{url}", commit: "{commit}", track: *track}}', "v1")],
    ids=["the whole pin", "its track"],
)
def test_alias_of_more_than_a_value_is_to_be_written_out(project: Any, upstream: Any, second: str, ref: str) -> None:
    values = {"url": upstream.url, "commit": upstream.sha("refs/keep/c1")}
    first = '&first {{git: "{url}", commit: "{commit}", track: &track {{tag: light}}}}'
    project.write(f"  a: {first.format(**values)}\n  b: {second.format(**values)}\n")
    allowed = ("--allow-unreachable", "--allow-downgrade")
    assert "or say --break-alias" in project.assert_refuses("b", ref, *allowed, code=2).err
    ended = project.assert_refuses("b", ref, *allowed, "--break-alias", code=2)
    assert "is inside an alias of more than that value; write that out first" in ended.err
