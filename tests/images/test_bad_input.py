"""Slips in pins.yaml and in templates: each a clear error at its line, before anything is built."""

import shutil
from pathlib import Path

import pytest

from imagepins.errors import PinsError
from imagepins.pins.load import load
from imagepins.process import Completed, run
from imagepins.render.dockerfile import render_all


@pytest.fixture
def project(tmp_path: Path, repository: Path) -> Path:
    """A copy of the project's pins and templates."""
    for name in ("pins.yaml", "Dockerfile.rocm_base.j2"):
        shutil.copy(repository / name, tmp_path / name)
    shutil.copytree(repository / "images", tmp_path / "images", ignore=shutil.ignore_patterns("Dockerfile"))
    shutil.copytree(repository / ".github", tmp_path / ".github")
    return tmp_path


def change(project: Path, old: str, new: str, *, file: str = "pins.yaml") -> int:
    """Replace a text that is there once, and return the line it began on."""
    text = (project / file).read_text()
    assert text.count(old) == 1, f"{text.count(old)} times"
    (project / file).write_text(text.replace(old, new))
    return text[: text.index(old)].count("\n") + 1


def message(project: Path) -> str:
    """What rendering says that must not succeed."""
    with pytest.raises(PinsError) as caught:
        render_all(load(project / "pins.yaml"), project)
    return str(caught.value)


def test_the_copy_renders(project: Path) -> None:
    assert len(render_all(load(project / "pins.yaml"), project)) >= 12


def test_a_pin_that_no_recipe_reads_is_told_with_its_line(project: Path) -> None:
    line = change(project, "  uv:\n    pypi: uv", "  extra:\n    pypi: extra\n    version: '1'\n  uv:\n    pypi: uv")
    change(project, "      - uv\n", "      - uv\n      - extra\n")
    assert message(project) == (
        f"pins.yaml:{line}: Dockerfile.rocm_base.j2 has no recipe that reads pin 'extra' (EXTRA_VERSION),"
        " which rocm_base lists"
    )


def test_a_recipe_that_is_not_there_is_told_with_the_image(project: Path) -> None:
    (project / "images/_recipes/mori.j2").unlink()
    said = message(project)
    assert said.startswith(
        "Dockerfile.rocm_base.j2: no template 'images/_recipes/mori.j2' below the directory of pins.yaml"
    )
    line = (project / "pins.yaml").read_text().splitlines().index("    template: Dockerfile.rocm_base.j2") + 1
    assert said.endswith(f"the template of rocm_base/rocm10, pins.yaml:{line}")


def test_a_variant_without_a_pin_that_its_recipe_needs_is_told_with_the_nearest(project: Path) -> None:
    text = (project / "pins.yaml").read_text()
    at = text.index("rocm724-mi30x")
    (project / "pins.yaml").write_text(
        text[:at] + text[at:].replace("torchaudio: torchaudio", "torchaudo: torchaudio", 1)
    )
    said = message(project)
    assert "nothing is called 'torchaudio'; did you mean 'torchaudo'?" in said
    assert "the template of sglang/rocm724-mi30x, pins.yaml:" in said


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("archs: [gfx1250]", "archs: [gfx1205]", "unknown GPU architecture 'gfx1205'"),
        ("when: rccl < 2.32", "when: rcll < 2.32", "no pin or component 'rcll'; did you mean 'rccl'?"),
        ("when: hip >= 7.16", "when: hipp >= 7.16", "no pin or component 'hipp'; did you mean 'hip'?"),
        (
            "require: triton @ 89002410",
            "require: tritn @ 89002410",
            "no pin or component 'tritn'; did you mean 'triton'?",
        ),
        ("    parent: rocm_base\n", "    parent: rocm_bse\n", "no image 'rocm_bse'; did you mean 'rocm_base'?"),
        (
            "          base: ubuntu-24.04\n          rocm-sdk: rocm-sdk\n",
            "          base: ubuntu-24\n",
            "no pin 'ubuntu-24'",
        ),
    ],
    ids=["architecture", "environment", "gate", "constraint", "parent", "pin of a variant"],
)
def test_a_name_that_is_unknown_is_told_with_its_line(project: Path, old: str, new: str, expected: str) -> None:
    text = (project / "pins.yaml").read_text()
    line = text[: text.index(old)].count("\n") + 1
    (project / "pins.yaml").write_text(text.replace(old, new, 1))
    with pytest.raises(PinsError) as caught:
        load(project / "pins.yaml")
    assert f"pins.yaml:{line}:" in str(caught.value)
    assert expected in str(caught.value)


def test_an_architecture_that_a_component_has_no_kernels_for_is_told(project: Path) -> None:
    text = (project / "pins.yaml").read_text()
    (project / "pins.yaml").write_text(text.replace("archs: [gfx90a, gfx942, gfx950]", "archs: [gfx1100]", 1))
    said = message(project)
    assert "aiter has kernels for gfx942, gfx950, gfx1250, and for none of gfx1100" in said
    assert "the template of rocm_base/rocm10, pins.yaml:" in said


def test_an_image_with_unknown_pins_is_not_built_and_says_what_finds_them(repository: Path) -> None:
    done: Completed = run([str(repository / "tools/image"), "build", "vllm"], check=False)
    assert done.code == 2
    place = (repository / "pins.yaml").read_text().splitlines().index("  vllm:") + 1
    assert f"pins.yaml:{place}: vllm has no commit yet; run tools/bump_pin vllm" in done.stderr
