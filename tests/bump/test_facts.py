"""What a reviewer is told about a bump, and what stops one."""

from collections.abc import Callable
from typing import Any

import pytest

VERSION = "NCCL_MAJOR := 2\nNCCL_MINOR := {minor}\nNCCL_PATCH := 3\n"


@pytest.fixture
def mono(new_upstream: Callable[..., Any]) -> Any:
    """A mono-repo: RCCL 2.30 at ``refs/keep/old``, an unrelated change at ``refs/keep/docs``, RCCL 2.32 on main."""
    up = new_upstream("mono")
    up.commit_files("start", {"projects/rccl/version.mk": VERSION.format(minor=30), "docs/a": "1"})
    up.git("update-ref", "refs/keep/old", "HEAD")
    up.commit_files("docs only", {"docs/a": "2"})
    up.git("update-ref", "refs/keep/docs", "HEAD")
    up.commit_files("rccl: new version", {"projects/rccl/version.mk": VERSION.format(minor=32)})
    return up


def pin_of(mono: Any, revision: str = "refs/keep/old", more: str = "", name: str = "rccl") -> str:
    return (
        f'  {name}:\n    git: {mono.url}\n    path: projects/rccl\n    commit: "{mono.sha(revision)}"\n'
        f'    track: {{branch: main}}\n    version: "2.30.3"\n    version_from: projects/rccl/version.mk\n{more}'
    )


def test_version_is_read_from_the_source_and_stored(project: Any, mono: Any) -> None:
    project.write(pin_of(mono))
    before = project.pins.read_text()
    ended = project.run("rccl")
    assert ended.code == 0, ended.err
    expected = before.replace(mono.sha("refs/keep/old"), mono.sha("main")).replace('"2.30.3"', '"2.32.3"')
    assert project.pins.read_text() == expected
    assert "2.30.3 -> 2.32.3" in ended.out
    assert "2 commits ahead, 1 of them under the pin's path" in ended.out
    assert "rccl: new version" in ended.out
    assert "docs only" not in ended.out


def test_version_that_is_not_there_yet_is_added(project: Any, mono: Any) -> None:
    project.write(pin_of(mono).replace('    version: "2.30.3"\n', ""))
    assert project.run("rccl").code == 0
    assert f'    commit: "{mono.sha("main")}"\n    version: "2.32.3"\n    track' in project.pins.read_text()


def test_unreadable_version_stops_the_bump(project: Any, mono: Any) -> None:
    project.write(pin_of(mono).replace("rccl/version.mk", "rccl/gone.mk"))
    ended = project.run("rccl")
    assert (ended.code, "correct version_from" in ended.err) == (3, True)


def test_nothing_under_the_path_asks_for_force(project: Any, mono: Any) -> None:
    project.write(pin_of(mono))
    before = project.snapshot()
    ended = project.run("rccl", mono.sha("refs/keep/docs"))
    assert (ended.code, project.snapshot()) == (3, before)
    assert "nothing under projects/rccl differs" in ended.err
    assert "--force" in ended.err
    assert project.run("rccl", mono.sha("refs/keep/docs"), "--force").code == 0
    assert mono.sha("refs/keep/docs") in project.pins.read_text()


def test_path_that_is_not_in_the_commit_stops_the_bump(project: Any, mono: Any) -> None:
    project.write(pin_of(mono).replace("path: projects/rccl", "path: projects/rcll"))
    ended = project.run("rccl")
    assert (ended.code, "projects/rcll is not there" in ended.err) == (3, True)


def test_conditions_that_turn_are_told(project: Any, mono: Any) -> None:
    env = '    env:\n      MAXBLOCKS: {value: "64", when: rccl < 2.32}\n      ALWAYS: x\n    gates: [fast]\n'
    project.write(pin_of(mono), env=env, rest="gates:\n  fast: rccl >= 2.32\n")
    ended = project.run("rccl")
    assert "ENV MAXBLOCKS: no longer set in all/one" in ended.out
    assert "gate fast (rccl >= 2.32): on in all/one" in ended.out
    assert "ALWAYS" not in ended.out
    assert "MAXBLOCKS" not in project.dockerfile.read_text()


def test_submodules_that_move_are_told(project: Any, new_upstream: Callable[..., Any]) -> None:
    up = new_upstream("withsub")
    modules = '[submodule "fmt"]\n\tpath = ext/fmt\n\turl = https://example.org/fmt\n'

    def at(sha: str) -> str:
        up.commit_files("files", {".gitmodules": modules, "src": sha})
        up.git("update-index", "--add", "--cacheinfo", f"160000,{sha},ext/fmt")
        up.git("commit", "--quiet", "--message", "module")
        return str(up.sha("HEAD"))

    old, new = at("1" * 40), at("2" * 40)
    project.write(f'  x:\n    git: {up.url}\n    commit: "{old}"\n    track: {{branch: main}}\n')
    ended = project.run("x", new)
    assert ended.code == 0, ended.err
    assert f"ext/fmt {'1' * 12} -> {'2' * 12}" in ended.out


def test_pick_that_is_contained_is_to_be_dropped(project: Any, mono: Any) -> None:
    mono.git("checkout", "--quiet", "-b", "fix", "refs/keep/old")
    pick = mono.commit_files("fix", {"projects/rccl/fix.cc": "fixed\n"})
    mono.git("checkout", "--quiet", "main")
    more = f'    picks:\n      - {{commit: "{pick}", reason: hang on gfx942}}\n'
    project.write(pin_of(mono, more=more))
    assert "drop it" not in project.run("rccl", "--dry-run").out
    mono.git("cherry-pick", pick)
    ended = project.run("rccl")
    assert f"pick {pick[:12]} is contained in the new commit as {mono.sha('main')[:12]}, drop it" in ended.out


def test_pick_that_does_not_exist_stops_the_bump(project: Any, mono: Any) -> None:
    project.write(pin_of(mono, more=f'    picks: [{{commit: "{"d" * 40}", reason: hang}}]\n'))
    ended = project.run("rccl")
    assert (ended.code, "pick dddddddddddd (hang) does not exist" in ended.err) == (3, True)


def test_revert_of_something_that_is_not_in_is_to_be_dropped(project: Any, mono: Any) -> None:
    mono.git("checkout", "--quiet", "-b", "other", "refs/keep/old")
    outside = mono.commit_files("outside", {"projects/rccl/x": "x"})
    mono.git("checkout", "--quiet", "main")
    project.write(pin_of(mono, more=f'    reverts: [{{commit: "{outside}", reason: slow}}]\n'))
    assert "does not contain it, drop it (slow)" in project.run("rccl").out


def test_broken_constraint_is_refused_and_a_group_moves_both(project: Any, mono: Any) -> None:
    pins = pin_of(mono) + pin_of(mono, name="hip")
    old = mono.sha("refs/keep/old")
    project.write(
        pins,
        rest=(
            "groups:\n  both: [rccl, hip]\nconstraints:\n"
            '  - {require: "hip >= 2.32", when: "rccl >= 2.32", reason: RCCL 2.32 calls into HIP 2.32}\n'
        ),
    )
    before = project.snapshot()
    ended = project.run("rccl")
    assert (ended.code, project.snapshot()) == (3, before)
    assert "RCCL 2.32 calls into HIP 2.32" in ended.err
    assert "--group" in ended.err
    ended = project.run("--group", "both")
    assert ended.code == 0, ended.err
    assert old not in project.pins.read_text()


def test_group_moves_all_members_or_none(project: Any, mono: Any, upstream: Any) -> None:
    bad = f'  gone:\n    git: {upstream.url}\n    commit: "{upstream.sha("main")}"\n    track: {{branch: nosuch}}\n'
    project.write(pin_of(mono) + bad, rest="groups:\n  both: [rccl, gone]\n")
    before = project.snapshot()
    ended = project.run("--group", "both")
    assert (ended.code, project.snapshot()) == (3, before)
    assert "branch nosuch" in ended.err


def test_mates_of_the_group_that_stay_are_told(project: Any, mono: Any) -> None:
    project.write(pin_of(mono) + pin_of(mono, name="hip"), rest="groups:\n  both: [rccl, hip]\n")
    assert "hip of group both stays where it is" in project.run("rccl").out


def test_unknown_group_is_refused_with_the_nearest(project: Any, mono: Any) -> None:
    project.write(pin_of(mono), rest="groups:\n  torch: [rccl]\n")
    ended = project.run("--group", "trch")
    assert (ended.code, "no group 'trch'; did you mean 'torch'" in ended.err) == (2, True)


def test_all_moves_what_can_move_and_tells_the_rest(project: Any, mono: Any, upstream: Any) -> None:
    bad = f'  gone:\n    git: {upstream.url}\n    commit: "{upstream.sha("main")}"\n    track: {{branch: nosuch}}\n'
    project.write(pin_of(mono) + bad + pin_of(mono, name="kept", more="    hold: wait\n"))
    ended = project.run("--all")
    assert ended.code == 3
    assert 0 <= ended.out.find("rccl moved to") < ended.out.find("kept is held: wait")
    assert "not moved: pins.yaml:10: pin 'gone': branch nosuch" in ended.out
    assert mono.sha("main") in project.pins.read_text()
    assert mono.sha("refs/keep/old") in project.pins.read_text()


def test_anchor_moves_all_its_aliases_and_an_alias_is_refused(project: Any, mono: Any) -> None:
    text = pin_of(mono, name="triton").replace('commit: "', 'commit: &tri "')
    alias = pin_of(mono, name="kernels").replace(f'"{mono.sha("refs/keep/old")}"', "*tri")
    project.write((text + alias).replace("    version_from: projects/rccl/version.mk\n", ""))
    ended = project.run("kernels")
    assert (ended.code, "pin 'kernels' has the value of pin 'triton'" in ended.err) == (2, True)
    assert "say --break-alias" in ended.err
    ended = project.run("triton")
    assert ended.code == 0, ended.err
    assert "kernels (same anchor)" in ended.out
    assert project.dockerfile.read_text().count(mono.sha("main")) == 2


@pytest.mark.parametrize("bad", ["12345678", "1234567e8", "develop", '"0e123456"', "deadbeef"])
def test_id_that_is_no_commit_is_mended_by_a_bump(project: Any, mono: Any, bad: str) -> None:
    good = f'"{mono.sha("refs/keep/old")}"'
    project.write(pin_of(mono).replace(good, bad))
    assert project.run("--check").code == 2
    ended = project.run("rccl", mono.sha("main"))
    assert ended.code == 0, ended.err
    assert f'commit: "{mono.sha("main")}"\n' in project.pins.read_text()
    assert project.run("--check").code == 0


def test_pin_without_commit_gets_one(project: Any, mono: Any) -> None:
    line = f'    commit: "{mono.sha("refs/keep/old")}"\n'
    project.write(pin_of(mono).replace(line, ""))
    ended = project.run("rccl")
    assert ended.code == 0, ended.err
    assert f'    git: {mono.url}\n    commit: "{mono.sha("main")}"\n' in project.pins.read_text()


def test_json_carries_all_of_it(project: Any, mono: Any) -> None:
    project.write(pin_of(mono))
    document = project.run("rccl", "--json", "--dry-run").json
    move = document["moves"][0]
    assert document["dry_run"] is True
    assert move["state"] == "moved"
    assert move["old"]["id"] == mono.sha("refs/keep/old")
    assert move["new"] == {
        "id": mono.sha("main"),
        "tag": None,
        "date": mono.git("log", "-1", "--format=%cI", "main"),
        "author": "test@example.org",
        "subject": "rccl: new version",
        "version": "2.32.3",
    }
    assert (move["relation"]["ahead"], move["relation"]["behind"], move["under_path"]) == (2, 0, 1)
    assert [commit["subject"] for commit in move["log"]] == ["rccl: new version"]
    assert document["images"] == ["all/one"]
    assert document["files"] == ["pins.yaml", "images/all/one/Dockerfile"]


def test_crlf_file_keeps_every_line_end(project: Any, mono: Any) -> None:
    project.write(pin_of(mono))
    project.write_bytes(project.pins.read_bytes().replace(b"\n", b"\r\n"))
    before = project.pins.read_bytes()
    assert project.run("rccl").code == 0
    old, new = mono.sha("refs/keep/old").encode(), mono.sha("main").encode()
    assert project.pins.read_bytes() == before.replace(old, new).replace(b"2.30.3", b"2.32.3")


def test_duplicate_key_is_refused_with_both_lines(project: Any, mono: Any) -> None:
    project.write(pin_of(mono) + pin_of(mono))
    before = project.snapshot()
    ended = project.run("rccl", mono.sha("main"))
    assert (ended.code, project.snapshot()) == (2, before)
    assert "is given twice, first on line 3" in ended.err
