"""Findings at the line that gives them, and what linters could not look at."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from imagepins.errors import CheckFailed
from imagepins.lint.run import Report, lint
from imagepins.pins.load import load
from imagepins.process import Completed, run
from imagepins.render.dockerfile import render_all
from imagepins.render.places import places

PINS = """\
schema: 1
pins:
  debian:
    image: debian
    tag: trixie-slim
    arg: BASE_IMAGE
    allow_tag: for this test
  torch:
    pypi: torch
    version: "2.12.0"
images:
  app:
    template: images/app/Dockerfile.j2
    pins: [debian, torch]
    args: {LEVEL: high}
    variants: {a: {}, b: {}}
"""
TEMPLATE = """\
# check=error=true
[[# a comment
    over two lines #]]
[[% import 'images/_recipes/steps.j2' as steps %]]
[[[ pin_args ]]]
[[[ plain_args ]]]
FROM ${BASE_IMAGE}
ARG TORCH_VERSION LEVEL

[[% for word in ['one', 'two'] %]]
RUN echo [[[ word ]]] "${TORCH_VERSION}" "${LEVEL}"
[[% endfor %]]
[[[ steps.pipe('x') ]]]
[[% call steps.around() %]]
RUN <<EOR
set -e
echo in the call
EOR
[[% endcall %]]

RUN echo last
"""
STEPS = """\
[[% macro pipe(word) -%]]
RUN true
RUN false | cat
[[%- endmacro %]]
[[% macro around() -%]]
RUN before
[[[ caller() | trim ]]]
RUN after
[[%- endmacro %]]
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A pin file, a template and a recipe, rendered."""
    for path, text in {
        "pins.yaml": PINS,
        "images/app/Dockerfile.j2": TEMPLATE,
        "images/_recipes/steps.j2": STEPS,
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    write(tmp_path)
    return tmp_path


def write(project: Path) -> None:
    """Render the project."""
    for path, text in render_all(load(project / "pins.yaml"), project).items():
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(text)


def lint_of(project: Path, *tools: str) -> Report:
    """What linters say of the project."""
    pinset = load(project / "pins.yaml")
    return lint(pinset, project, pinset.targets.values(), tools)


def test_every_line_is_traced_to_what_gives_it(project: Path) -> None:
    pinset = load(project / "pins.yaml")
    target = pinset.targets["app/a"]
    text = (project / target.dockerfile).read_text()
    origins = dict(zip(text.splitlines(), places(pinset, project, target, text), strict=True))
    app, steps = "images/app/Dockerfile.j2", "images/_recipes/steps.j2"
    assert origins["# check=error=true"] == f"{app}:1"
    assert origins["ARG BASE_IMAGE=debian:trixie-slim"] == "pins.yaml:3"
    assert origins["ARG TORCH_VERSION=2.12.0"] == "pins.yaml:8"
    assert origins['ARG LEVEL="high"'] == "pins.yaml:15"
    assert origins["FROM ${BASE_IMAGE}"] == f"{app}:7"
    assert origins['RUN echo one "${TORCH_VERSION}" "${LEVEL}"'] == f"{app}:11"
    assert origins['RUN echo two "${TORCH_VERSION}" "${LEVEL}"'] == f"{app}:11"
    assert origins["RUN true"] == f"{steps}:2"
    assert origins["RUN false | cat"] == f"{steps}:3"
    assert origins["RUN before"] == f"{steps}:6"
    assert origins["echo in the call"] == f"{app}:17"
    assert origins["RUN after"] == f"{steps}:8"
    assert origins["RUN echo last"] == f"{app}:21"


def test_the_projects_own_dockerfiles_are_traced_whole(repository: Path) -> None:
    pinset = load(repository / "pins.yaml")
    for target in pinset.targets.values():
        text = (repository / target.dockerfile).read_text()
        found = places(pinset, repository, target, text)
        assert len(found) == len(text.splitlines())
        for line, place in zip(text.splitlines(), found, strict=True):
            path, _, number = place.rpartition(":")
            source = (repository / path).read_text().splitlines()[int(number) - 1]
            if line.strip() and "[[" not in source and path != "pins.yaml":
                assert source.strip() in line or line.startswith(("#", "ARG", "ENV")), (line, place)


def test_a_finding_is_told_once_for_all_dockerfiles_that_show_it(project: Path) -> None:
    [finding] = lint_of(project, "own").findings
    assert (finding.place, finding.rule) == ("images/_recipes/steps.j2:3", "pipe-pipefail")
    assert finding.targets == ("app/a", "app/b")


def test_stale_files_are_not_blamed_on_the_templates(project: Path) -> None:
    (project / "images/app/a/Dockerfile").write_text("FROM a\n")
    with pytest.raises(CheckFailed, match=r"images/app/a/Dockerfile: not what .*; run tools/image render"):
        lint_of(project, "own")


def test_hadolint_finds_at_the_templates_line(project: Path) -> None:
    report = lint_of(project, "hadolint")
    assert ("images/_recipes/steps.j2:3", "DL4006") in {(each.place, each.rule) for each in report.findings}
    assert report.not_linted == ()


def test_what_hadolint_cannot_read_is_not_linted(project: Path) -> None:
    template = project / "images/app/Dockerfile.j2"
    template.write_text(template.read_text() + "RUNN it\n")
    write(project)
    report = lint_of(project, "hadolint")
    assert report.findings == ()
    assert report.not_linted[0].startswith(
        "images/app/a/Dockerfile: not linted by hadolint: hadolint cannot read line "
    )


def test_what_only_a_base_image_can_tell_is_not_linted_and_hides_no_other_file(project: Path) -> None:
    template = project / "images/app/Dockerfile.j2"
    template.write_text(template.read_text() + "[[% if variant == 'a' %]]\nCOPY $OF_BASE /x\n[[% endif %]]\n")
    write(project)
    report = lint_of(project, "own")
    assert [each.targets for each in report.findings] == [("app/b",)]
    [reason] = report.not_linted
    assert "images/app/a/Dockerfile: not linted by own: " in reason
    assert "can tell what OF_BASE is" in reason


def test_a_linter_that_crashes_has_not_linted(project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "bin" / "hadolint"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\necho 'segmentation fault' >&2\nexit 139\n")
    broken.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(broken.with_name("python")))
    report = lint_of(project, "hadolint")
    assert report.findings == ()
    assert report.not_linted[0] == "images/app/a/Dockerfile: not linted by hadolint: hadolint: segmentation fault"


def test_a_missing_linter_has_not_linted(project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    report = lint_of(project, "hadolint", "buildkit")
    assert "hadolint is not installed" in report.not_linted[0]
    assert "docker" in report.not_linted[1]
    assert report.findings == ()


@pytest.mark.engine
def test_buildkit_finds_at_the_templates_line_and_needs_no_base(project: Path) -> None:
    template = project / "images/app/Dockerfile.j2"
    pins = (project / "pins.yaml").read_text().replace("    allow_tag: for this test\n", "")
    (project / "pins.yaml").write_text(pins)
    text = template.read_text().replace("FROM ${BASE_IMAGE}", "FROM ${BASE_IMAGE:?run-tools/bump_pin-debian} AS Upper")
    template.write_text(text)
    write(project)
    report = lint_of(project, "buildkit")
    assert report.not_linted == ()
    assert [(each.place, each.rule) for each in report.findings] == [("images/app/Dockerfile.j2:7", "StageNameCasing")]


@pytest.mark.engine
def test_an_instruction_that_buildkit_does_not_know_is_a_finding(project: Path) -> None:
    template = project / "images/app/Dockerfile.j2"
    template.write_text(template.read_text() + "RUNN it\n")
    write(project)
    report = lint_of(project, "buildkit")
    assert {(each.place, each.rule) for each in report.findings} == {("images/app/Dockerfile.j2:22", "Dockerfile")}


def command(repository: Path, project: Path, *arguments: str, env: dict[str, str] | None = None) -> Completed:
    """Run ``tools/image lint``."""
    argv = [str(repository / "tools" / "image"), "lint", "--pins", str(project / "pins.yaml"), *arguments]
    return run(argv, env=env, check=False)


def test_the_command_tells_findings_on_stdout_and_counts_on_stderr(repository: Path, project: Path) -> None:
    done = command(repository, project, "--tool", "own")
    assert done.code == 1
    assert done.stdout == (
        "images/_recipes/steps.j2:3: pipe-pipefail: a pipe without `set -o pipefail` hides failures (in 2 images)\n"
    )
    assert done.stderr == "1 findings, 0 not linted\n"
    assert command(repository, project, "app/a", "--tool", "own").stdout.endswith("(in app/a)\n")


def test_the_command_prints_json(repository: Path, project: Path) -> None:
    document: dict[str, Any] = json.loads(command(repository, project, "--tool", "own", "--json").stdout)
    assert document["findings"][0]["targets"] == ["app/a", "app/b"]
    assert document["not_linted"] == []


def test_the_command_fails_where_a_linter_could_not_look(repository: Path, project: Path) -> None:
    (project / "images/_recipes/steps.j2").write_text(STEPS.replace("false | cat", "false"))
    write(project)
    env = {**os.environ, "DOCKER_HOST": "unix:///nowhere/docker.sock"}
    done = command(repository, project, "--tool", "buildkit", env=env)
    assert done.code == 1
    assert done.stdout == ""
    assert "not linted by buildkit" in done.stderr
    assert done.stderr.endswith("0 findings, 2 not linted\n")


@pytest.mark.engine
def test_the_projects_own_dockerfiles_pass_all_linters(repository: Path) -> None:
    pinset = load(repository / "pins.yaml")
    assert lint(pinset, repository, pinset.targets.values()) == Report((), ())
