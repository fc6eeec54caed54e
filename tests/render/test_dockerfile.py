"""From pins and a template to the text of a Dockerfile."""

from pathlib import Path

import pytest

from imagepins.errors import CheckFailed, PinsError
from imagepins.pins.load import load, loads
from imagepins.render.dockerfile import render_all

SHA = "1c0ab425abda9d1fd80fa977c253556b14eb140b"
SOURCE = f"""\
schema: 1
pins:
  base: {{image: ubuntu, tag: "22.04", digest: "sha256:{"5e" * 32}", arg: BASE_IMAGE}}
  rccl: {{git: 'https://h/x.git', commit: "{SHA}", note: fixes the random hang, version: "2.30.7"}}
  later: {{git: 'https://h/y.git', track: {{branch: main}}}}
  pip: {{url: 'https://h/get-pip.py', sha256: {"ab" * 32}}}
  torch: {{pypi: torch, version: "2.12.0+rocm10.0.0"}}
images:
  app:
    template: Dockerfile.j2
    pins: [base, rccl, later, pip, torch]
    args: {{NIC_BACKEND: all, ARCHS: "gfx942;gfx950"}}
    env: {{LIMIT: {{value: "64", when: rccl < 2.32, reason: fewer blocks}}, PLAIN: 'a "b" $c'}}
    variants: {{v: {{}}}}
"""


def rendered(tmp_path: Path, template: str, source: str = SOURCE) -> str:
    (tmp_path / "Dockerfile.j2").write_text(template)
    return render_all(loads(source), tmp_path)["images/app/v/Dockerfile"]


def test_every_pin_has_one_unindented_arg_line_with_its_note_above(tmp_path: Path) -> None:
    lines = rendered(tmp_path, "[[[ pin_args ]]]\n").splitlines()[2:]
    assert lines == [
        f"ARG BASE_IMAGE=ubuntu:22.04@sha256:{'5e' * 32}",
        "# rccl: fixes the random hang",
        f"ARG RCCL_COMMIT={SHA}",
        "# later is not known yet: tools/bump_pin later",
        "ARG LATER_COMMIT=",
        "ARG PIP_URL=https://h/get-pip.py",
        f"ARG PIP_SHA256={'ab' * 32}",
        "ARG TORCH_VERSION=2.12.0+rocm10.0.0",
    ]


def test_plain_args_and_env_are_quoted_and_explained(tmp_path: Path) -> None:
    lines = rendered(tmp_path, "[[[ plain_args ]]]\n[[[ env_lines ]]]\n").splitlines()[2:]
    assert lines == [
        'ARG NIC_BACKEND="all"',
        'ARG ARCHS="gfx942;gfx950"',
        "# fewer blocks",
        'ENV LIMIT="64"',
        'ENV PLAIN="a \\"b\\" $c"',
    ]


def test_parser_directives_stay_on_top_and_the_header_follows(tmp_path: Path) -> None:
    template = "[[# a note #]]\n# syntax=docker/dockerfile:1.7\n# check=error=true\nFROM x\n"
    assert rendered(tmp_path, template).splitlines() == [
        "# syntax=docker/dockerfile:1.7",
        "# check=error=true",
        "# Generated from pins.yaml and Dockerfile.j2 by 'tools/image render'. Do not edit:",
        "# change those and render again.",
        "FROM x",
    ]


@pytest.mark.parametrize("directive", ["#syntax=a/b:1", "# syntax = a/b:1", "# check = error=true", "#\tescape=`"])
def test_every_spelling_of_a_directive_stays_on_top(tmp_path: Path, directive: str) -> None:
    assert rendered(tmp_path, f" \n{directive}\nFROM x\n").splitlines()[0] == directive


def test_byte_order_mark_in_a_template_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PinsError, match=r"Dockerfile\.j2: it or a part of it begins with a byte order mark"):
        rendered(tmp_path, "\ufeff# check=error=true\nFROM x\n")


@pytest.mark.parametrize("end", ["", "\n", "\n\n\n"])
def test_text_ends_in_exactly_one_newline(tmp_path: Path, end: str) -> None:
    assert rendered(tmp_path, "FROM x\nRUN <<EOF\ntrue\nEOF" + end).endswith("\nEOF\n")


def test_an_empty_line_follows_each_heredoc(tmp_path: Path) -> None:
    template = "RUN <<A cat <<-'B'\na\nA\nb\n\tB\nCOPY a b\nRUN <<C\nC\n\nCOPY <<D x\n# <<E\nD\nUSER x\n"
    assert rendered(tmp_path, template).split("again.\n")[1] == (
        "RUN <<A cat <<-'B'\na\nA\nb\n\tB\n\nCOPY a b\nRUN <<C\nC\n\nCOPY <<D x\n# <<E\nD\n\nUSER x\n"
    )


def test_the_body_of_a_heredoc_stays_as_it_is(tmp_path: Path) -> None:
    template = 'RUN <<EOF\ncat <<X\n  EOF\nX\nEOF\n\nRUN echo "a <<W b"\nRUN cat <<<W\nCOPY <<B x\nB\n\nUSER x\n'
    assert rendered(tmp_path, template).split("again.\n")[1] == template


@pytest.mark.parametrize("torch", ["2.12.0+rocm7.2", "2.12.0"])
def test_broken_constraint_is_refused_with_its_reason_and_place(tmp_path: Path, torch: str) -> None:
    source = SOURCE.replace("2.12.0+rocm10.0.0", torch).replace(
        "  torch:", "  sdk: {pypi: rocm, version: 10.0.0}\n  torch:"
    )
    source = source.replace("pip, torch]", "pip, torch, sdk]")
    source += "constraints:\n  - {require: torch carries sdk, reason: torch is built for one SDK}\n"
    with pytest.raises(
        CheckFailed, match=r"pins\.yaml:\d+: 'torch carries sdk' does not hold: torch is built for one SDK"
    ):
        rendered(tmp_path, "FROM x\n", source)


def test_constraint_binds_only_where_its_pins_meet_and_its_condition_holds(tmp_path: Path) -> None:
    apart = "constraints:\n  - {require: torch carries later, reason: r, when: rccl >= 2.32}\n"
    assert rendered(tmp_path, "FROM x\n", SOURCE + apart)


def test_shipped_dockerfiles_are_what_pins_and_templates_give(repository: Path) -> None:
    texts = render_all(load(repository / "pins.yaml"), repository)
    assert texts
    assert {path: (repository / path).read_text() for path in texts} == texts
