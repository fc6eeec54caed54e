"""The project's own lint: each rule with what it finds and what it must let pass."""

import pytest

from imagepins.lint.rules import check
from imagepins.pins.load import loads
from imagepins.plan.dockerfile import parse

SHA = "25e14349f2606a6b95c4ccd45eb92a1835646cf2"
PINS = f"""\
schema: 1
pins:
  rccl:
    git: https://github.com/ROCm/rocm-systems.git
    commit: "{SHA}"
  debian:
    image: debian
    tag: trixie-slim
    allow_tag: for this test
  a: {{image: a, tag: latest, allow_tag: for this test}}
  a1: {{image: a, tag: "1", allow_tag: for this test}}
  b: {{image: b, tag: latest, allow_tag: for this test}}
images:
  app:
    template: Dockerfile.j2
    pins: [debian, rccl]
    variants: {{a: {{}}}}
"""


def found(text: str, platform: str = "linux/amd64") -> list[tuple[int, str]]:
    """Line and rule of everything that is found in a Dockerfile."""
    return [(problem.line, problem.rule) for problem in check(parse(text, "Dockerfile"), text, loads(PINS), platform)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ARG A=1\nFROM a\nRUN echo $A\n", [(1, "arg-unused"), (3, "arg-scope")]),
        ("ARG A=1\nFROM a\nARG A\nRUN echo ${A}\n", []),
        ("ARG A=1\nFROM a\nRUN echo ${A}\nARG A\nRUN echo $A\n", [(3, "arg-scope")]),
        ("ARG A=1\nFROM a AS one\nARG A\nRUN echo $A\nFROM a\nRUN echo $A\n", [(6, "arg-scope")]),
        ("ARG A=1\nFROM a AS one\nARG A\nFROM one\nRUN echo $A\n", []),
        ("ARG A=1\nFROM a AS one\nARG A\nENV B=$A\nFROM one\nRUN echo $B\n", []),
        ("ARG A=1\nFROM a\nENV B=$A\n", [(1, "arg-unused"), (3, "arg-scope")]),
        ("ARG A=1\nFROM a:$A\n", []),
        ("ARG A=1\nFROM a AS One\nARG A\nFROM oNE\nRUN echo $A\n", []),
        ("ARG A=1\nFROM a\nARG A\nRUN A=2; echo $A\n", []),
        ("ARG A=1\nFROM b AS two\nARG A\nRUN echo $A\nFROM a\nRUN for A in 1 2; do echo $A; done\n", []),
    ],
)
def test_an_arg_counts_only_where_it_is_declared(text: str, expected: list[tuple[int, str]]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ARG A=1\nFROM a\n", [(1, "arg-unused")]),
        ("ARG A=1\nFROM a\nARG A\n", [(3, "arg-unused")]),
        ("FROM a\nARG B\nRUN echo $B\n", [(2, "arg-undeclared")]),
        ("FROM a\nARG B=1\nRUN echo $B\n", []),
        ("FROM a\nARG TARGETARCH SOURCE_DATE_EPOCH\nRUN uname\n", []),
        (
            "ARG RCCL_COMIT=1\nFROM a\nARG RCCL_COMMIT\nRUN echo $RCCL_COMMIT\n",
            [(1, "arg-unused"), (3, "arg-undeclared")],
        ),
        ("ARG A=1\nFROM a AS b\nARG A\nFROM b\nENV X=$A\n", []),
    ],
)
def test_every_build_argument_has_a_value_and_a_reader(text: str, expected: list[tuple[int, str]]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    ("run", "is_found"),
    [
        ("RUN <<EOF\nfalse\necho later\nEOF\n", True),
        ("RUN <<EOF\nset -e\nfalse\nEOF\n", False),
        ("RUN <<EOF\nset -eux\nfalse\nEOF\n", False),
        ("RUN <<EOF\nset -ux\nfalse\nEOF\n", True),
        ("RUN <<EOF\nset -o errexit\nfalse\nEOF\n", False),
        ("RUN <<EOF\n\n# why\nset -e\nfalse\nEOF\n", False),
        ("RUN <<EOF\necho first\nset -e\nfalse\nEOF\n", True),
        ("RUN <<EOF\n#!/bin/bash -e\nfalse\nEOF\n", False),
        ("RUN <<EOF\n#!/bin/bash\nfalse\nEOF\n", True),
        ("RUN <<EOF\n#!/usr/bin/env python3\nprint(1)\nEOF\n", False),
        ("RUN --mount=type=cache,target=/c <<EOF\nfalse\nEOF\n", True),
        ("RUN bash <<EOF\nfalse\nEOF\n", True),
        ("RUN cat <<EOF >/file\nfalse\nEOF\n", False),
        ("RUN python3 <<EOF\nprint(1)\nEOF\n", False),
        ("COPY <<EOF /file\nfalse\nEOF\n", False),
        ('SHELL ["/bin/sh", "-ec"]\nRUN <<EOF\nfalse\nEOF\n', False),
        ('SHELL ["/bin/bash", "-e", "-c"]\nRUN <<EOF\nfalse\nEOF\n', False),
        ('SHELL ["/bin/bash", "-c"]\nRUN <<EOF\nfalse\nEOF\n', True),
    ],
)
def test_a_heredoc_stops_at_its_first_failure(run: str, *, is_found: bool) -> None:
    assert ("heredoc-errexit" in {rule for _, rule in found(f"FROM a\n{run}")}) is is_found


@pytest.mark.parametrize(
    ("run", "is_found"),
    [
        ("RUN false | cat\n", True),
        ("RUN false || true\n", False),
        ("RUN echo 'a | b'\n", False),
        ('RUN echo "a | b"\n', False),
        ("RUN echo a # b | c\n", False),
        ("RUN <<EOF\nset -e\nfalse | cat\nEOF\n", True),
        ("RUN <<EOF\nset -e\necho a |\n    cat\nEOF\n", True),
        ("RUN <<EOF\nset -euo pipefail\nfalse | cat\nEOF\n", False),
        ('SHELL ["/bin/bash", "-o", "pipefail", "-c"]\nRUN false | cat\n', False),
        ("RUN false |& cat\n", True),
        ("RUN <<EOF\nset -e\ncase $x in\na | b | c) true ;;\nd|e) true ;;\nesac\nEOF\n", False),
        ("RUN <<EOF\nset -e\ncat >f <<END\na | b\nEND\nEOF\n", False),
        ("RUN (true) | cat\n", True),
    ],
)
def test_a_pipe_needs_pipefail(run: str, *, is_found: bool) -> None:
    assert ("pipe-pipefail" in {rule for _, rule in found(f"FROM a\n{run}")}) is is_found


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("RUN export GPU_TARGETS=gfx942;gfx950; cmake .\n", True),
        ("RUN cmake -DGPU_TARGETS=gfx942;gfx950 .\n", True),
        ("RUN cmake -DGPU_TARGETS='gfx942;gfx950' .\n", False),
        ('RUN cmake "-DGPU_TARGETS=gfx942;gfx950" .\n', False),
        ("RUN <<EOF\nset -e\ncmake -DGPU_TARGETS=gfx942;gfx950 .\nEOF\n", True),
        ("RUN cmake -DGPU_TARGETS=gfx942\\;gfx950 .\n", False),
        ("ENV X=gfx942;gfx950\n", False),
        ("RUN echo a; gfxinfo\n", False),
    ],
)
def test_a_list_of_architectures_is_quoted(text: str, *, is_found: bool) -> None:
    assert ("arch-quotes" in {rule for _, rule in found(f"FROM a\n{text}")}) is is_found


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("ENV LD_LIBRARY_PATH=/a:${LD_LIBRARY_PATH}\n", True),
        ("ENV LD_LIBRARY_PATH=/a\nENV LD_LIBRARY_PATH=/b:${LD_LIBRARY_PATH}\n", False),
        ("ENV LD_LIBRARY_PATH=/a${LD_LIBRARY_PATH:+:${LD_LIBRARY_PATH}}\n", False),
        ("ENV LD_LIBRARY_PATH=/a::/b\n", True),
        ("ENV LD_LIBRARY_PATH=:/a\n", True),
        ('ENV LD_LIBRARY_PATH="/a:"\n', True),
        ("RUN LD_LIBRARY_PATH=/a:$LD_LIBRARY_PATH true\n", True),
        ("ENV LD_LIBRARY_PATH=/a:/b\n", False),
    ],
)
def test_a_search_path_has_no_empty_element(text: str, *, is_found: bool) -> None:
    assert ("empty-path" in {rule for _, rule in found(f"FROM a\n{text}")}) is is_found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# syntax=docker/dockerfile:1.7\n# check=error=true\nFROM a\n", []),
        ("# a banner\n# syntax=docker/dockerfile:1.7\nFROM a\n", [(2, "late-directive")]),
        ("\n# check=error=true\nFROM a\n", [(2, "late-directive")]),
        ("FROM a\n# escape=`\n", [(2, "late-directive")]),
        ("FROM a\nCOPY <<EOF /f\n# syntax=x\nEOF\n", []),
    ],
)
def test_directives_stand_at_the_top(text: str, expected: list[tuple[int, str]]) -> None:
    assert found(text) == expected


def test_what_is_built_is_from_pins_yaml() -> None:
    other = SHA[::-1]
    assert found(f"FROM a\nRUN git fetch origin {SHA}\nRUN git fetch origin {other}\n") == [(3, "foreign-literal")]
    assert found(f"FROM a\n# as in {other}\nRUN echo {'0a' * 32}\n") == [(3, "foreign-literal")]
    assert found("FROM a\nRUN git clone --branch release/7.3 $URL\n") == [(2, "foreign-literal")]
    assert found(f"FROM a\nRUN echo {'0' * 41}\n") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("FROM debian:trixie-slim\n", []),
        ("FROM docker.io/library/debian:trixie-slim AS x\nFROM x\nCOPY --from=0 /a /a\n", []),
        ("FROM app:a\n", []),
        ("FROM scratch\n", []),
        ("ARG A\nFROM ${A:?run-bump_pin}\n", []),
        ("FROM debian:trixie\n", [(1, "foreign-image")]),
        ("FROM scratch\nCOPY --from=busybox /bin /bin\n", [(2, "foreign-image")]),
        ("FROM scratch\nRUN --mount=from=tool:1,target=/t true\n", [(2, "foreign-image")]),
    ],
)
def test_an_image_is_a_pin_or_one_of_our_own(text: str, expected: list[tuple[int, str]]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    ("line", "is_found"),
    [
        ("ADD https://example.org/f /f", True),
        ('ADD ["https://example.org/f", "/f"]', True),
        ("ADD https://example.org/r.git#main /r", True),
        ("ADD git@example.org:r.git /r", True),
        ("ENV U=https://example.org/f\nADD $U /f", True),
        (f"ADD https://example.org/r.git#{SHA} /r", False),
        ("ADD --checksum=sha256:$SUM https://example.org/f /f", False),
        ("ADD f.tar /f", False),
        ("COPY f /f", False),
    ],
)
def test_add_says_what_it_fetches(line: str, *, is_found: bool) -> None:
    last = 1 + len(line.splitlines())
    assert ((last, "unchecked-add") in found(f"FROM a\n{line}\n")) is is_found


@pytest.mark.parametrize(("platform", "is_found"), [("linux/amd64", True), ("linux/arm64", False)])
def test_images_are_those_of_the_targets_platform(platform: str, *, is_found: bool) -> None:
    text = "FROM a AS base-arm64\nFROM base-${TARGETARCH}\n"
    assert ((2, "foreign-image") in found(text, platform)) is is_found
