"""--check: offline, writes nothing, finds what a bump would not see."""

import datetime
import socket
from collections.abc import Callable
from typing import Any

import pytest

from imagepins.lint.hidden import hidden_literals
from imagepins.plan.arguments import Arg, read_args

SHA = "1c0ab425abda9d1fd80fa977c253556b14eb140b"
OTHER = "25e14349f2606a6b95c4ccd45eb92a1835646cf2"
PIN = f'  rccl:\n    git: https://github.com/ROCm/rccl.git\n    commit: "{SHA}"\n    track: {{branch: develop}}\n'


@pytest.fixture
def checked(project: Any) -> Callable[..., Any]:
    """Checks the project, whose files must be the same afterwards."""

    def check(*arguments: str) -> Any:
        before = project.snapshot()
        ended = project.run("--check", *arguments)
        assert project.snapshot() == before
        return ended

    return check


def test_good_project_passes_without_network(
    project: Any, checked: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write(PIN)
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("asked the network"))
    ended = checked()
    assert (ended.code, ended.out) == (0, "")


def test_wrong_pin_file_is_told_with_its_place(project: Any, checked: Callable[..., Any]) -> None:
    project.write(PIN.replace(SHA, "develop"))
    ended = checked()
    assert ended.code == 2
    assert "pins.yaml:5:13: pins.rccl.commit" in ended.err
    assert "a branch or tag name; 'tools/bump_pin rccl develop' stores its commit" in ended.err


def test_stale_file_is_told_with_its_diff(project: Any, checked: Callable[..., Any]) -> None:
    project.write(PIN)
    project.dockerfile.write_text(project.dockerfile.read_text() + "RUN true\n")
    ended = checked()
    assert ended.code == 1
    assert ended.out.startswith("images/all/one/Dockerfile: is not what pins.yaml and the template give now")
    assert "-RUN true\n" in ended.out


def test_file_that_is_no_dockerfile_any_more_is_told(project: Any, checked: Callable[..., Any]) -> None:
    project.write(PIN)
    project.dockerfile.write_text("RUN <<EOF\ntrue\n")
    assert "the here-document <<EOF has no end; run tools/image render" in checked().out


def test_copy_edited_by_hand_is_named_with_its_pin(project: Any, checked: Callable[..., Any]) -> None:
    project.write(PIN)
    project.dockerfile.write_text(project.dockerfile.read_text().replace(SHA, f'"{OTHER}" '))
    assert f"sets RCCL_COMMIT to '{OTHER}', pin 'rccl' is '{SHA}'" in checked().out


def test_missing_and_superfluous_files_are_told(project: Any, checked: Callable[..., Any]) -> None:
    project.write(PIN)
    project.dockerfile.unlink()
    stray = project.root / "images/old/one/Dockerfile"
    stray.parent.mkdir(parents=True)
    stray.write_text("FROM scratch\n")
    out = checked().out
    assert "images/all/one/Dockerfile: is missing; run tools/image render" in out
    assert "images/old/one/Dockerfile: no image renders to it" in out


def test_literal_of_a_template_is_told_at_its_line(project: Any, checked: Callable[..., Any]) -> None:
    project.write(PIN)
    template = project.root / "images/all/Dockerfile.j2"
    template.write_text(f"RUN git cherry-pick 555d04f && git checkout {SHA}\n{project.template}")
    ended = checked()
    assert ended.code == 1
    assert "images/all/Dockerfile.j2:1: a commit, 555d04f, stands here and not in pins.yaml" in ended.out
    assert f"a commit, {SHA}, stands here" in ended.out


def test_incomplete_pin_is_listed_and_no_failure(project: Any, checked: Callable[..., Any]) -> None:
    project.write(PIN.replace(f'    commit: "{SHA}"\n', ""))
    ended = checked()
    said = "pins.yaml:3: warning: pin 'rccl' has no commit yet; run tools/bump_pin rccl\n"
    assert (ended.code, ended.out) == (0, said)


@pytest.mark.parametrize(("days", "code"), [(-1, 0), (1, 0), (15, 1)])
def test_review_warns_and_then_fails(project: Any, checked: Callable[..., Any], days: int, code: int) -> None:
    date = datetime.date.today() - datetime.timedelta(days=days)
    project.write(f"{PIN}    review_by: {date}\n")
    ended = checked()
    assert ended.code == code
    assert ("was to be reviewed" in ended.out) is (days > 0)


def test_broken_constraint_is_told_with_its_reason(project: Any, checked: Callable[..., Any]) -> None:
    rest = 'constraints:\n  - {require: "rccl @ 9999999", reason: only that one works}\n'
    project.write(PIN, rest=rest)
    project.run("--check")
    ended = project.run("--check")
    assert ended.code == 1
    assert "only that one works" in ended.out


def test_json_lists_problems(project: Any, checked: Callable[..., Any]) -> None:
    project.write(PIN)
    project.dockerfile.write_text("FROM scratch\n")
    document = checked("--json").json
    assert document["failures"] == 1
    assert [problem["kind"] for problem in document["problems"]] == ["stale"]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("RUN git checkout 2d73be3", ["2d73be3"]),
        ("RUN cd x && git cherry-pick -n 555d04f dd998b6", ["555d04f", "dd998b6"]),
        ("RUN git clone -b v0.10.0 $URL", ["v0.10.0"]),
        ("RUN git clone --branch=release/2.10 --depth 1 $URL x", ["release/2.10"]),
        ("RUN git -C /src checkout core_r0.15.0_rocm", ["core_r0.15.0_rocm"]),
        ("RUN git reset --hard v1.2", ["v1.2"]),
        ("RUN git revert --no-edit abcdef1", ["abcdef1"]),
        ("RUN git fetch origin pull/7/head", ["pull/7/head"]),
        ("RUN git clone https://github.com/x/y.git", ["https://github.com/x/y.git"]),
        ("RUN curl -L https://e.org/sccache-v0.8.1.tar.gz | tar xz", ["https://e.org/sccache-v0.8.1.tar.gz"]),
        ("ADD https://e.org/a.whl /tmp/", ["https://e.org/a.whl"]),
        ("RUN pip install git+https://github.com/x/y@v1", ["git+https://github.com/x/y@v1"]),
        (f"ARG X={OTHER}", [OTHER]),
        ("FROM ubuntu@sha256:" + "5e" * 32, ["sha256:" + "5e" * 32]),
        ("RUN echo " + "0a" * 32 + "  file | sha256sum -c", ["0a" * 32]),
        ("RUN git checkout $COMMIT && git checkout --detach FETCH_HEAD && git reset --hard HEAD", []),
        ('RUN git fetch origin "${COMMIT}"', []),
        ("RUN git clone -b ${BRANCH} $URL", []),
        ("RUN git checkout [[[ pins.rccl.commit ]]]", []),
        ("RUN git checkout -- .", []),
        ("# RUN git checkout 2d73be3", []),
        ("RUN echo deadbeef feedface 1791494299 1234567", []),
        ("RUN curl $URL && wget ${BASE}/x && curl https://e.org/${VERSION}/x", []),
        ("ENV GPU_ARCHS=gfx90a;gfx942", []),
        ("RUN apt-get install libfoo-1a2b3c4d", []),
    ],
)
def test_literals_in_instructions(line: str, found: list[str]) -> None:
    assert [hidden.literal for hidden in hidden_literals(f"{line}\n", frozenset())] == found


def test_what_is_pinned_is_not_hidden() -> None:
    text = f"ARG RCCL_COMMIT={SHA}\nLABEL short={SHA[:12]}\n"
    assert list(hidden_literals(text, frozenset({SHA}))) == []


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('ARG PYTORCH_BRANCH="8514f051" # release/2.10 as of 3/17\n', [("PYTORCH_BRANCH", "8514f051", 1)]),
        ('ARG RCCL_COMMIT="aaaa"\nFROM x AS a\nARG RCCL_COMMIT\n', [("RCCL_COMMIT", "aaaa", 1)]),
        (
            "ARG MIRROR=''\narg RCCL_COMMIT='aaaa'  \nARG A=1 RCCL_COMMIT=aaaa C=2\n# ARG RCCL_COMMIT=old\n",
            [
                ("MIRROR", "", 1),
                ("RCCL_COMMIT", "aaaa", 2),
                ("A", "1", 3),
                ("RCCL_COMMIT", "aaaa", 3),
                ("C", "2", 3),
            ],
        ),
        (
            "ARG BASE=rocm/dev-ubuntu-22.04:7.2.1-complete\nFROM --platform=$BUILDPLATFORM ${BASE} AS base\n",
            [("BASE", "rocm/dev-ubuntu-22.04:7.2.1-complete", 1)],
        ),
        ('ARG A="x \\" y" B=c\\ d\n', [("A", 'x " y', 1), ("B", "c d", 1)]),
    ],
    ids=["comment", "bare", "quotes", "base", "escapes"],
)
def test_arg_lines_are_read_whatever_their_quotes(text: str, values: list[tuple[str, str, int]]) -> None:
    assert read_args(text, "Dockerfile") == [Arg(*value) for value in values]
