from typing import Any

import pytest

from imagepins.errors import PinsError
from imagepins.evidence.request.hidden import read_hidden
from imagepins.evidence.request.upstream import compare_dockerfile, upstream_json, upstream_markdown
from imagepins.pins.load import loads
from imagepins.plan.arguments import read_args

OURS = f"""\
schema: 1
pins:
  rccl: {{git: "https://github.com/ROCm/rocm-systems.git", path: projects/rccl, commit: "{"a" * 40}"}}
  triton: {{git: "https://github.com/ROCm/triton.git", commit: "669b31ac{"0" * 32}", arg: TRITON_BRANCH}}
  aiter: {{git: "https://github.com/ROCm/aiter.git", track: {{tag: v0.1.24.post1}}, arg: AITER_BRANCH}}
  mori: {{git: "https://github.com/ROCm/mori.git", commit: "{"b" * 40}", track: {{tag: v1.2.3.post1}}}}
  runtime: {{git: "https://github.com/ROCm/rocm-systems.git", commit: "{"c" * 40}", arg: ROCM_RUNTIME_COMMIT}}
  torch: {{pypi: torch, version: "2.12.0+rocm10.0.0"}}
  ubuntu: {{image: ubuntu, tag: "22.04", digest: "sha256:{"d" * 64}", arg: BASE_IMAGE}}
  debian: {{image: debian, tag: trixie-slim, allow_tag: no registry, arg: BASE_IMAGE}}
images: {{}}
"""

THEIRS = f"""\
# syntax=docker/dockerfile:1.7
ARG BASE_IMAGE=ubuntu:22.04@sha256:{"d" * 64}
ARG TRITON_BRANCH="669b31ac" # release/internal/3.8.x as of 09/29/2026
ARG TRITON_REPO="https://github.com/ROCm/triton.git"
ARG AITER_BRANCH="v0.1.24.post1"
ARG MORI_BRANCH='v1.2.3.post1'  
ARG ROCM_RUNTIME_COMMIT="{"e" * 40}"
ARG ROCM_RUNTIME_REPO="mawong-amd/rocm-systems"
ARG TORCH_VERSION=2.13.0+rocm10.0.0
ARG RCCL_BRANCH=648a58d
ARG MAX_JOBS=16 EMPTY=
FROM ${{BASE_IMAGE}} AS base
ARG TORCH_VERSION
ARG RCCL_BRANCH
RUN git clone https://github.com/x/kineto && cd kineto && git checkout 2d73be3 \\
    # a comment between the lines
    && git cherry-pick 555d04f
"""  # noqa: W291 - the blanks behind a quote are one of the cases

Args = list[tuple[str, str, int]]


def args_of(text: str) -> Args:
    return [(arg.name, arg.value, arg.line) for arg in read_args(text, "Dockerfile")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('ARG A="8514f051" # release/2.10 as of 3/17', [("A", "8514f051", 1)], id="quotes-and-comment"),
        pytest.param("ARG A=8514f051 # from # 3/17", [("A", "8514f051", 1)], id="comment-behind-bare-value"),
        pytest.param("ARG A=x#y", [("A", "x#y", 1)], id="hash-inside-a-value"),
        pytest.param("ARG A='a b'  ", [("A", "a b", 1)], id="single-quotes-and-trailing-blanks"),
        pytest.param("ARG M=''\narg R='aaaa'", [("M", "", 1), ("R", "aaaa", 2)], id="empty-and-lower-case"),
        pytest.param("ARG A=1 R=aaaa C=2", [("A", "1", 1), ("R", "aaaa", 1), ("C", "2", 1)], id="several-on-a-line"),
        pytest.param("# ARG R=old\nARG R=new", [("R", "new", 2)], id="commented-out"),
        pytest.param('ARG R="aaaa"\nFROM x AS a\nARG R', [("R", "aaaa", 1)], id="bare-re-declaration"),
        pytest.param(
            "ARG A=1 \\\n# note\n  B=2\nARG C=3", [("A", "1", 1), ("B", "2", 1), ("C", "3", 4)], id="continued"
        ),
        pytest.param("# escape=`\nARG A=1 `\n B=c:\\d", [("A", "1", 2), ("B", "c:\\d", 2)], id="escape-directive"),
        pytest.param("RUN <<EOF\nARG X=1\nEOF\nARG Y=2", [("Y", "2", 4)], id="heredoc-holds-no-arg"),
        pytest.param("RUN cat <<'A' <<-B\nARG X=1\nA\n\tARG Z=1\n\tB\nARG Y=2", [("Y", "2", 6)], id="two-heredocs"),
        pytest.param(
            "ARG V=3.12\nARG P=/usr/python${V}/d", [("V", "3.12", 1), ("P", "/usr/python3.12/d", 2)], id="made-of"
        ),
        pytest.param("ARG P=${V:-3.12}/x${W}", [("P", "3.12/x${W}", 1)], id="default-and-unknown"),
        pytest.param('ARG A="x\\"y"', [("A", 'x"y', 1)], id="escaped-quote"),
        pytest.param('ARG A="gfx942;gfx950"\r\nARG B=2\r\n', [("A", "gfx942;gfx950", 1), ("B", "2", 2)], id="windows"),
        pytest.param("\tARG\tA=1", [("A", "1", 1)], id="tabs"),
        pytest.param("ARG A==x", [("A", "=x", 1)], id="equals-in-value"),
    ],
)
def test_arg_defaults_are_read_as_docker_and_upstream_mean_them(text: str, expected: Args) -> None:
    assert args_of(text) == expected


@pytest.mark.parametrize(
    ("run", "refs"),
    [
        ("git clone U && cd x && git checkout 2d73be3", ["2d73be3"]),
        ("git cherry-pick 555d04f dd998b6", ["555d04f", "dd998b6"]),
        (
            "git -C /src reset --hard 42270451990532c67e69d753fbd026f28fcc4840",
            ["42270451990532c67e69d753fbd026f28fcc4840"],
        ),
        ("git clone -b v0.8.1 https://x/y", ["v0.8.1"]),
        ("git clone --depth 1 --branch=v3.10.0 https://x/y", ["v3.10.0"]),
        ("git clone \\\n   -b v0.8.1 U", ["v0.8.1"]),
        (
            "pip install git+https://github.com/x/y@37d0485b2058885bf4e7a486f7d7b2174a8ac1ce",
            ["37d0485b2058885bf4e7a486f7d7b2174a8ac1ce"],
        ),
        ("curl -L https://github.com/mozilla/sccache/releases/download/v0.8.1/sccache.tar.gz", ["v0.8.1"]),
        (f"echo {'0a' * 32} f | sha256sum -c", ["0a" * 32]),
        ("git checkout --detach FETCH_HEAD", []),
        ('git fetch --depth=1 origin "${RDMA_COMMIT}"', []),
        ("# git checkout 2d73be3\nRUN true", []),
        ("make default && echo facade1", []),
    ],
)
def test_pins_that_hide_in_run_lines_are_found(run: str, refs: list[str]) -> None:
    text = run if run.startswith("#") else f"RUN {run}\n"
    assert [hidden.ref for hidden in read_hidden(text, "Dockerfile")] == refs


def test_pins_that_hide_in_heredocs_and_from_lines_have_their_line() -> None:
    text = f"FROM x@sha256:{'1f' * 32}\nRUN <<EOF\nset -e\n# git checkout abc1234\ngit revert 46efb7d\nEOF\n"
    assert [(hidden.ref, hidden.line) for hidden in read_hidden(text, "D")] == [("1f" * 32, 1), ("46efb7d", 5)]


def test_each_pin_is_compared_with_what_upstream_means() -> None:
    rows = {row.pin.name: str(row.state) for row in compare_dockerfile(loads(OURS), THEIRS).rows}
    assert rows == {
        "ubuntu": "same",
        "triton": "same",
        "aiter": "ours is not known yet",
        "mori": "same",
        "runtime": "differs",
        "torch": "differs",
        "rccl": "differs",
    }


def test_a_fork_upstream_takes_a_commit_from_is_said() -> None:
    rows = {str(row.pin.name): row for row in compare_dockerfile(loads(OURS), THEIRS).rows}
    assert rows["runtime"].note == "upstream takes it from mawong-amd/rocm-systems"
    assert rows["triton"].note == ""


def test_args_no_pin_knows_and_hidden_commits_are_listed() -> None:
    found = compare_dockerfile(loads(OURS), THEIRS, file="Dockerfile.rocm_base")
    assert [arg.name for arg in found.unknown_args] == ["MAX_JOBS"]
    assert [(hidden.ref, hidden.line) for hidden in found.hidden] == [("2d73be3", 15), ("555d04f", 17)]
    text = upstream_markdown(found)
    assert "- Dockerfile.rocm_base:17: `555d04f` in " in text
    assert "| runtime |" in text


def test_an_arg_with_two_defaults_is_no_value_to_take_over() -> None:
    text = "ARG RCCL_COMMIT=1111111\nFROM x\nARG RCCL_COMMIT=2222222\n"
    (row,) = compare_dockerfile(loads(OURS), text).rows
    assert str(row.state) == "upstream has several values"
    assert not row.can_apply


@pytest.mark.parametrize("value", ["", "''", "${ELSEWHERE}"])
def test_an_empty_or_open_value_is_nothing_to_take_over(value: str) -> None:
    (row,) = compare_dockerfile(loads(OURS), f"ARG RCCL_COMMIT={value}\n").rows
    assert not row.can_apply


def test_json_carries_rows_unknown_args_and_hidden_commits() -> None:
    found: dict[str, Any] = upstream_json(compare_dockerfile(loads(OURS), THEIRS))
    assert found["pins"][0]["pin"] == "ubuntu"
    assert found["unknown_args"] == [{"name": "MAX_JOBS", "value": "16", "line": 11}]
    assert len(found["hidden"]) == 2


def test_values_from_upstream_cannot_inject_markup() -> None:
    text = "ARG RCCL_COMMIT='x|y`<img>` @octocat fixes #1'\nARG Z='</details>@octocat'\n"
    out = upstream_markdown(compare_dockerfile(loads(OURS), text))
    assert "@octocat" not in out
    assert "#1" not in out


def test_an_open_heredoc_is_refused_with_its_place() -> None:
    with pytest.raises(PinsError, match="Dockerfile:1"):
        read_args("RUN <<EOF\ntrue\n", "Dockerfile")
