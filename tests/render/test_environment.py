"""Templates: what they may say, and how a mistake in one is told."""

from pathlib import Path

import pytest

from imagepins.errors import PinsError
from imagepins.render.environment import environment, render


def rendered(tmp_path: Path, template: str, **context: object) -> str:
    (tmp_path / "t.j2").write_text(template)
    return render(environment(tmp_path), "t.j2", context)


def test_shell_and_go_template_syntax_passes_through_unchanged(tmp_path: Path) -> None:
    template = 'RUN a=(x y); n=${#a[@]}; test "$n" = 2\nRUN docker inspect -f "{{.Id}}" x; [[ -n "$n" ]] && echo "#}"\n'
    assert rendered(tmp_path, template) == template


def test_last_newline_is_kept(tmp_path: Path) -> None:
    assert rendered(tmp_path, "FROM [[[ base ]]]\nRUN <<EOF\ntrue\nEOF\n", base="x") == "FROM x\nRUN <<EOF\ntrue\nEOF\n"


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("FROM x\n[[[ pins.rcll.commit ]]]\n", "t.j2:2: nothing is called 'rcll'; did you mean 'rccl'?"),
        ("FROM x\n\n[[[ pnis.rccl ]]]\n", "t.j2:3: nothing is called 'pnis'; did you mean 'pins'?"),
        ("[[% if pins.rcll %]]x[[% endif %]]", "t.j2:1: nothing is called 'rcll'; did you mean 'rccl'?"),
        ("[[[ pins.rccl.comit ]]]", "t.j2:1: nothing is called 'comit'; did you mean 'commit'?"),
        ("a\n[[[ empty ]]]", "t.j2:2: a value that pins.yaml does not give would render as nothing"),
        ("a\n[[% if %]]", "t.j2:2: Expected an expression"),
        ("a\n[[# no end", "t.j2:2: Missing end of comment tag"),
        ("[[% include 'gone.j2' %]]", "no template 'gone.j2'"),
        ("a\n[[[ arch_list('torchh', []) ]]]", "t.j2:2: no row for 'torchh'"),
        ("a\n[[[ fail('no recipe for x') ]]]", "t.j2:2: no recipe for x"),
    ],
)
def test_mistake_in_a_template_is_told_with_its_line(tmp_path: Path, template: str, message: str) -> None:
    with pytest.raises(PinsError) as caught:
        rendered(tmp_path, template, pins={"rccl": {"commit": "abc"}}, empty=None)
    assert message in str(caught.value)


def test_mistake_in_an_included_template_is_told_with_that_templates_line(tmp_path: Path) -> None:
    (tmp_path / "part.j2").write_text("a\nb [[[ nope ]]]\n")
    with pytest.raises(PinsError, match=r"^part\.j2:2: nothing is called 'nope'"):
        rendered(tmp_path, "[[% include 'part.j2' %]]")


def test_template_that_is_not_utf8_or_not_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "t.j2").write_bytes(b"\xff")
    with pytest.raises(PinsError, match=r"t\.j2: or a part of it is not UTF-8"):
        render(environment(tmp_path), "t.j2", {})


def test_shquote_keeps_an_arch_list_in_one_word(tmp_path: Path) -> None:
    out = rendered(tmp_path, "RUN export T=[[[ arch_list('pytorch', archs) | shquote ]]]", archs=["gfx942", "gfx950"])
    assert out == "RUN export T='gfx942;gfx950'"


def test_each_consumer_gets_its_own_variable_and_separator(tmp_path: Path) -> None:
    template = "[[[ arch_variable(c) ]]]=[[[ arch_list(c, ['gfx942', 'gfx950']) ]]]"
    assert rendered(tmp_path, template, c="rccl") == "GPU_TARGETS=gfx942;gfx950"
    assert rendered(tmp_path, template, c="tensorflow") == "TF_ROCM_AMDGPU_TARGETS=gfx942,gfx950"
