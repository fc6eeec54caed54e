import json
import os
import re
import stat
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from imagepins.bump.move import Options
from imagepins.bump.run import Request, bump
from imagepins.cli import run_command
from imagepins.cli.bump import bump_pin
from imagepins.errors import ImagePinsError, UsageError
from imagepins.evidence.request.commands import run_describe, run_from_dockerfile
from imagepins.evidence.request.sections import Part, fit
from imagepins.pins.load import load
from imagepins.process import run
from imagepins.render.dockerfile import render_all

EVIL = "fix: @octocat closes #12, fixes o/r#3 </details><script>x</script> `a` ``` [l](http://x) | **b** \x1b[31m"
PINS = """\
schema: 1
pins:
  rccl:
    git: {url}
    path: lib
    commit: "{commit}"
    track: {{pull: "9", then: main}}
    version: "2.30.7"
    version_from: lib/version.mk
    component: rccl
    note: fixes the hang of @someone in #4
    review_by: 2027-01-31
images:
  base:
    template: Dockerfile.j2
    pins: [rccl]
    env:
      MAXBLOCKS: {{value: "64", when: rccl < 2.32, reason: cap}}
    gates: [newer]
    variants: {{default: {{}}}}
gates:
  newer: rccl >= 2.32
"""
Project = tuple[Path, str, str]
Describe = Callable[..., str]


@pytest.fixture
def options(tmp_path: Path) -> Options:
    return Options(cache=tmp_path / "cache")


@pytest.fixture
def project(tmp_path: Path, new_upstream: Callable[..., Any]) -> Project:
    """A repository with pins.yaml at the first of an upstream's commits; the path of pins.yaml, and both commits."""
    upstream = new_upstream("rccl")
    version = "NCCL_MAJOR := 2\nNCCL_MINOR := {}\nNCCL_PATCH := {}\n"
    old = upstream.commit("start", lib__version_mk=version.format(30, 7))
    upstream.git("mv", "lib/version_mk", "lib/version.mk")
    old = upstream.commit("start")
    for number in range(4):
        upstream.commit(f"{EVIL} {number}", lib__a=str(number))
    upstream.commit("elsewhere", other="x")
    module = '[submodule "sub"]\n\tpath = lib/sub\n\turl = https://example.org/sub\n'
    files = {"lib/version.mk": version.format(32, 3), ".gitmodules": module}
    upstream.commit_files("last", files)
    upstream.git("update-index", "--add", "--cacheinfo", f"160000,{'ab' * 20},lib/sub")
    upstream.git("commit", "--quiet", "--amend", "--no-edit")
    new = upstream.sha("HEAD")
    upstream.git("update-ref", "refs/pull/9/head", "HEAD")
    upstream.git("update-ref", "refs/heads/main", old)
    home = new_upstream("project")
    home.commit_files(
        "start", {"pins.yaml": PINS.format(url=upstream.url, commit=old), "Dockerfile.j2": "FROM x\n[[[ pin_args ]]]\n"}
    )
    home.commit_files("rendered", render_all(load(home.path / "pins.yaml"), home.path))
    return home.path / "pins.yaml", old, new


@pytest.fixture
def described(project: Project, options: Options, capsys: pytest.CaptureFixture[str]) -> Describe:
    """The body for the bump to the new commit."""

    def one(ref: str | None = None, **attached: Any) -> str:
        capsys.readouterr()
        run_describe(project[0], Request({"rccl": ref or project[2]}), options, **attached)
        return capsys.readouterr().out

    return one


def test_the_body_tells_what_moves_why_and_what_that_touches(described: Describe, project: Project) -> None:
    body = described()
    _, old, new = project
    assert f"| rccl | `{old[:12]}` 2.30.7" in body
    assert f"`{new[:12]}` 2.32.3" in body
    assert "6 commits ahead, 5 under its path" in body
    assert "**rccl**: fixes the hang of" in body
    assert "- Images touched: `base/default`" in body
    assert "- ENV MAXBLOCKS: no longer set in base/default" in body
    assert "- gate newer (rccl &gt;= 2.32): on in base/default" in body
    assert "comes from pull request 9 until that is merged; then it follows main" in body
    assert "to be reviewed by 2027-01-31" in body
    assert "- rccl: lib/sub none → abababababab" in body
    assert "Not verified: `base/default`." in body


def test_the_body_tells_when_a_pin_becomes_final(described: Describe, project: Project) -> None:
    upstream = project[0].parent.parent / "rccl"
    run(["git", "update-ref", "refs/heads/main", project[2]], cwd=upstream)
    body = described()
    assert "rccl follows main from now on (pull 9 was merged (merge) as" in body
    assert "until that is merged" not in body


def test_subjects_from_outside_inject_nothing(described: Describe) -> None:
    body = described()
    for live in ("@octocat", "@someone", "#12", "#4", "o/r#3", "<script>", "http://x", "\x1b"):
        outside = re.sub(r"(?s)```+text\n.*?\n```+\n", "", body) if live == "<script>" else body
        assert live not in outside, live
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(body)
    html = "".join(token.content for token in tokens if token.type == "html_block")
    assert sorted(re.findall(r"</?\w+", html)) == sorted(["<details", "<summary", "</summary", "</details"])


def test_describing_writes_nothing(described: Describe, project: Project) -> None:
    before = {path: path.read_bytes() for path in project[0].parent.glob("*") if path.is_file()}
    described()
    assert {path: path.read_bytes() for path in project[0].parent.glob("*") if path.is_file()} == before


@pytest.mark.parametrize("committed", [False, True])
def test_a_bump_that_is_made_is_described_as_it_was_before(
    committed: bool, described: Describe, project: Project, options: Options
) -> None:
    before = described()
    bump(project[0], Request({"rccl": project[2]}), options)
    if committed:
        run(["git", "commit", "--quiet", "--all", "--message", "bump"], cwd=project[0].parent)
    assert described() == before


def test_the_history_is_that_of_the_pin_file_where_it_leads_to_also_within_a_hook_of_another(
    described: Describe,
    project: Project,
    options: Options,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    astray: Callable[[], AbstractContextManager[None]],
) -> None:
    before = described()
    bump(project[0], Request({"rccl": project[2]}), options)
    run(["git", "commit", "--quiet", "--all", "--message", "bump"], cwd=project[0].parent)
    link = tmp_path / "link" / "mine.yaml"
    link.parent.mkdir()
    link.symlink_to(project[0])
    (link.parent / "Dockerfile.j2").symlink_to(project[0].parent / "Dockerfile.j2")
    with astray():
        run_describe(link, Request({"rccl": project[2]}), options)
    assert capsys.readouterr().out == before


def test_a_bump_of_a_young_commit_is_described_whatever_its_age(
    described: Describe, project: Project, options: Options
) -> None:
    pins = project[0]
    pins.write_text(pins.read_text().replace("    component: rccl\n", "    min_age_days: 7\n    component: rccl\n"))
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "--all", "--message=age"]
    run(git, cwd=pins.parent)
    bump(pins, Request({"rccl": project[2]}), options.permissive)
    assert f"`{project[2][:12]}`" in described()


def test_evidence_is_attached(described: Describe, story: Callable[[str], Path], tmp_path: Path) -> None:
    check = {"name": "rccl version", "expected": "2.32.3", "found": "2.32.3 @x", "status": "passed"}
    verified = tmp_path / "v.json"
    verified.write_text(json.dumps({"images": [{"target": "base/default", "message": "", "checks": [check]}]}))
    files = [str(story("rccl-2.30.7-cap256")), str(story("rccl-2.32.3-cap96"))]
    body = described(compare=files, verified=[verified])
    assert "### Comparison" in body
    assert "+6.7 %" in body
    assert "1 checks, 0 failed" in body
    assert "2.32.3 @\u200bx" in body
    assert "Not verified" not in body


@pytest.mark.parametrize("text", ["", "[]", '{"images": [{}]}', '{"images": 1}', '{"images": [{"checks": [1]}]}'])
def test_a_file_that_verify_did_not_print_is_refused(text: str, described: Describe, tmp_path: Path) -> None:
    (tmp_path / "v.json").write_text(text)
    with pytest.raises(UsageError, match=r"v\.json: not what 'image verify --json' prints"):
        described(verified=[tmp_path / "v.json"])


def test_a_pin_that_never_moved_cannot_be_described(described: Describe, project: Project) -> None:
    with pytest.raises(UsageError, match="nothing moves"):
        described(project[1])


def test_a_body_that_is_too_long_loses_logs_first_and_says_so() -> None:
    parts = [Part("table", 0), Part("log " * 500, 5), Part("log " * 400, 5), Part("why", 1)]
    text = fit(parts, 1800)
    assert text == "table\n\nwhy\n\n2 parts left out: longer than a pull request may be.\n"
    assert "left out" not in fit(parts, 100_000)


def test_open_hands_title_and_body_to_gh(
    described: Describe, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "gh"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > "$0.args"\ncat "$6" > "$0.body"\necho https://pr/1\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    out = described(open_request=True)
    assert out.endswith("https://pr/1\n")
    assert f"Update rccl to {project[2][:12]}" in (tmp_path / "bin" / "gh.args").read_text()
    assert (tmp_path / "bin" / "gh.body").read_text() == out.removesuffix("https://pr/1\n")


def test_open_without_gh_says_what_to_do(described: Describe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UsageError, match="--open needs the program gh"):
        described(open_request=True)


Sync = Callable[..., tuple[int, str]]


@pytest.fixture
def sync(project: Project, options: Options, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Sync:
    """``bump_pin --from-dockerfile`` with a text."""

    def one(text: str, *names: str, **flags: Any) -> tuple[int, str]:
        (tmp_path / "Dockerfile.up").write_text(text)
        code = run_from_dockerfile(project[0], tmp_path / "Dockerfile.up", names, options, **flags)
        return code, capsys.readouterr().out

    return one


def test_values_of_an_upstream_dockerfile_are_shown_and_taken_over_on_request(sync: Sync, project: Project) -> None:
    pins_path, old, new = project
    text = f'ARG RCCL_BRANCH="{new[:10]}" # develop as of 3/17\nARG OTHER=1\nRUN git checkout 2d73be3\n'
    code, out = sync(text)
    assert (code, old in pins_path.read_text()) == (0, True)
    assert "| rccl |" in out
    assert "`OTHER=1`" in out
    assert "`2d73be3`" in out
    code, out = sync(text, "rccl", apply=True)
    assert (code, f'commit: "{new}"' in pins_path.read_text()) == (0, True)
    assert 'version: "2.32.3"' in pins_path.read_text()
    assert new in (pins_path.parent / "images/base/default/Dockerfile").read_text()
    assert sync(text, "rccl", apply=True)[0] == 0


def test_a_dry_run_of_taking_over_shows_the_diff_and_writes_nothing(sync: Sync, project: Project) -> None:
    before = project[0].read_bytes()
    _, out = sync(f"ARG RCCL_COMMIT={project[2]}\n", apply=True, dry_run=True)
    assert f'+    commit: "{project[2]}"' in out
    assert project[0].read_bytes() == before


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("ARG RCCL_COMMIT=1234567890\n", ["rccl"]),
        ("ARG RCCL_COMMIT=nosuch-branch\n", ["rccl"]),
        ("ARG RCCL_COMMIT=--upload-pack=x\n", ["rccl"]),
        ("ARG RCCL_COMMIT=\n", ["rccl"]),
        ("ARG OTHER=1\n", ["rccl"]),
        ("ARG RCCL_COMMIT=1234567\n", ["rcll"]),
    ],
)
def test_what_a_bump_would_refuse_is_refused(text: str, names: list[str], sync: Sync, project: Project) -> None:
    before = project[0].read_bytes()
    with pytest.raises(ImagePinsError) as caught:
        sync(text, *names, apply=True)
    assert caught.value.exit_code in {2, 3}
    assert project[0].read_bytes() == before


def test_json_of_an_upstream_dockerfile_carries_table_and_bump(sync: Sync, project: Project) -> None:
    _, out = sync(f"ARG RCCL_COMMIT={project[2]}\n", apply=True, as_json=True)
    document = json.loads(out)
    assert document["pins"][0]["state"] == "differs"
    assert document["bump"]["moves"][0]["new"]["id"] == project[2]


@pytest.fixture
def bump_command(project: Project, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """``tools/bump_pin ARGS...``."""

    def one(*argv: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run_command(bump_pin, [*argv, "--pins", str(project[0])], name="bump_pin")
        out, err = capsys.readouterr()
        return code, out, err

    return one


Command = Callable[..., tuple[int, str, str]]


def test_the_command_describes_with_evidence(bump_command: Command, project: Project, story: Any) -> None:
    files = [str(story("rccl-2.30.7-cap256")), str(story("rccl-2.32.3-cap96"))]
    code, out, _ = bump_command("rccl", project[2], "--describe", "--compare", *files)
    assert code == 0
    assert "+6.7 %" in out
    assert project[1] in project[0].read_text()


@pytest.mark.parametrize("at_end", [True, False])
def test_any_number_of_files_is_compared_up_to_the_next_option(
    bump_command: Command, project: Project, story: Any, *, at_end: bool
) -> None:
    files = [str(story(f"rccl-{name}")) for name in ("2.30.7-cap256", "2.30.7-cap64", "2.32.3-cap96")]
    compared = ["--compare", *files]
    argv = ["--describe", *compared] if at_end else [*compared, "--describe"]
    code, out, err = bump_command("rccl", project[2], *argv)
    assert code == 0, err
    assert all(Path(file).stem in out for file in files)


def test_interference_is_described_as_compare_tells_it(
    bump_command: Command, project: Project, write: Callable[..., Path]
) -> None:
    row = {"M": 1024, "direction": "h2d", "blocks": 256}
    rows = [{**row, "slowdown_percent": {"median": 3.7, "mean": mean, "p99": 455}} for mean in (46.2, 9.0)]
    files = [str(write(f"side{at}.jsonl", each)) for at, each in enumerate(rows)]
    code, out, err = bump_command("rccl", project[2], "--describe", "--compare", *files)
    assert code == 0, err
    assert "| 1024" in out
    assert "455" in out


def test_compare_without_a_file_is_a_usage_error(bump_command: Command) -> None:
    assert bump_command("rccl", "--describe", "--compare")[0] == 2


def test_the_command_takes_values_over_and_commits(bump_command: Command, project: Project, tmp_path: Path) -> None:
    source = tmp_path / "Dockerfile.up"
    source.write_text(f"ARG RCCL_COMMIT={project[2]}\n")
    code, out, _ = bump_command("--from-dockerfile", str(source), "rccl", "--apply", "--branch", "sync")
    assert (code, "committed as " in out) == (0, True)
    log = run(["git", "log", "-1", "--format=%s", "sync"], cwd=project[0].parent).stdout
    assert log.startswith(f"Update rccl to {project[2][:12]}")


def test_a_commit_of_a_bump_mentions_and_closes_nothing(bump_command: Command, project: Project) -> None:
    assert bump_command("rccl", project[2], "--commit")[0] == 0
    message = run(["git", "log", "-1", "--format=%B"], cwd=project[0].parent).stdout
    assert "octocat" in message
    assert not re.search(r"@octocat|#12|o/r#3|\x1b", message)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["rccl", "--describe", "--commit"], "--describe does not go with --commit"),
        (["--describe"], "name the pin"),
        (["rccl", "--compare", "a", "b"], "belong to --describe"),
        (["rccl", "--apply"], "belongs to --from-dockerfile"),
        (["rccl", "v1", "extra"], "one pin and one ref at a time"),
        (["--from-dockerfile", "/nowhere/Dockerfile"], "No such file"),
        (["--from-dockerfile", "/nowhere/Dockerfile", "--outdated"], "does not go with --outdated"),
    ],
)
def test_options_that_do_not_go_together_are_refused(argv: list[str], words: str, bump_command: Command) -> None:
    code, out, err = bump_command(*argv)
    assert (code, out) == (2, "")
    assert words in err
