"""What the rendered images say: architectures, conditions, tags, and shapes that upstream's tools read."""

import ensurepip
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from imagepins.lint.stages import stages
from imagepins.pins import archs
from imagepins.pins.load import loads
from imagepins.pins.model import PinSet
from imagepins.plan.dockerfile import parse
from imagepins.process import run
from imagepins.render.dockerfile import render_all

ROOT = Path(__file__).parents[2]
BUILD_TOOLS = {
    "cmake": (r"^(?:if ! )?cmake ", r"pip install .*\bcmake[=<]"),
    "ninja": (r"\bcmake -G Ninja|GENERATOR=Ninja", r"pip install .* ninja\b"),
}
SOURCE = (ROOT / "pins.yaml").read_text()
DOCKERFILES = {
    path.relative_to(ROOT).as_posix(): path.read_text() for path in sorted(ROOT.glob("images/*/*/Dockerfile"))
}


@pytest.fixture(scope="module")
def pinset() -> PinSet:
    """The project's own pins."""
    return loads(SOURCE)


def rendered(source: str, target: str) -> str:
    """Dockerfile of one target of a changed pins.yaml, with the project's templates."""
    pinset = loads(source)
    return render_all(pinset, ROOT, (pinset.targets[target],))[f"images/{target}/Dockerfile"]


@pytest.mark.parametrize(
    ("consumer", "variable", "expected"),
    [
        ("aiter", "GPU_ARCHS", "gfx942;gfx950"),
        ("deepep", "PYTORCH_ROCM_ARCH", "gfx942;gfx950"),
        ("fast-hadamard", "PYTORCH_ROCM_ARCH", "gfx90a;gfx942;gfx950"),
        ("flash-attention", "GPU_ARCHS", "gfx90a;gfx942;gfx950"),
        ("lmcache", "PYTORCH_ROCM_ARCH", "gfx942;gfx950"),
        ("mori", "MORI_GPU_ARCHS", "gfx942;gfx950"),
        ("pytorch", "PYTORCH_ROCM_ARCH", "gfx90a;gfx942;gfx950"),
        ("rccl", "GPU_TARGETS", "gfx90a;gfx942;gfx950"),
        ("sglang", "AMDGPU_TARGET", "gfx90a gfx942 gfx950"),
        ("shell", "ROCM_DEVICE_ARCH_LIST", "gfx90a gfx942 gfx950"),
        ("tensorflow", "TF_ROCM_AMDGPU_TARGETS", "gfx90a,gfx942,gfx950"),
    ],
)
def test_a_consumer_gets_the_architectures_it_has_kernels_for(consumer: str, variable: str, expected: str) -> None:
    assert archs.CONSUMERS[consumer].variable == variable
    assert archs.joined(consumer, ["gfx90a", "gfx942", "gfx950"]) == expected


def test_every_consumer_has_a_test() -> None:
    marks = test_a_consumer_gets_the_architectures_it_has_kernels_for.pytestmark  # type: ignore[attr-defined]
    assert {row[0] for row in marks[0].args[1]} == set(archs.CONSUMERS)


def test_a_list_of_architectures_is_one_word_for_the_shell() -> None:
    text = DOCKERFILES["images/rocm_base/rocm10/Dockerfile"]
    assert "-DGPU_TARGETS='gfx90a;gfx942;gfx950'" in text
    assert 'ARG PYTORCH_ROCM_ARCH="gfx90a;gfx942;gfx950"\n' in text


@pytest.mark.parametrize("target", ["rocm_base/rocm10", "sglang/rocm10-mi45x", "sglang/rocm720-mi30x"])
@pytest.mark.parametrize(
    ("version", "is_set"), [("2.30.7", True), ("2.31.2", True), ("2.32.0", False), ("2.32.3", False)]
)
def test_the_cap_on_fabric_blocks_is_set_only_below_rccl_2_32(target: str, version: str, *, is_set: bool) -> None:
    text = rendered(SOURCE.replace('version: "2.32.3"', f'version: "{version}"'), target)
    assert ('\nENV RCCL_DDA_FABRIC_MAXBLOCKS="64"\n' in text) is is_set


@pytest.mark.parametrize(
    ("hip", "copy_flag", "num_attrs"),
    [
        (None, "0", "0"),
        ("7.2.53211", "0", "0"),
        ("7.12.0", "0", "0"),
        ("7.13.0", "0", "1"),
        ("7.13.26193", "0", "1"),
        ("7.15.26333", "0", "1"),
        ("7.16.26361", "0x100", "1"),
        ("8.0.0", "0x100", "1"),
    ],
)
def test_a_gate_has_the_value_that_vllm_gives_it(
    hip: str | None, copy_flag: str, num_attrs: str, pinset: PinSet
) -> None:
    on = {name: gate.when.holds_for({"hip": hip}) for name, gate in pinset.gates.items()}
    values = {name: gate.value if on[name] else gate.otherwise for name, gate in pinset.gates.items()}
    assert values == {"prefer_ce_batch_copy": copy_flag, "num_attrs": num_attrs}


def test_every_env_has_its_reason_in_the_line_above() -> None:
    for name, text in DOCKERFILES.items():
        lines = text.splitlines()
        for number, line in enumerate(lines):
            if re.match(r'ENV [A-Z_0-9]+="', line):
                assert lines[number - 1].startswith("# "), f"{name}:{number + 1}: {line}"


@pytest.mark.parametrize(
    ("target", "tag"),
    [
        ("rocm_base/rocm10", "rocm/vllm-dev:base"),
        ("sglang/rocm700-mi30x", "lmsysorg/sglang:v0.5.21-rocm700-mi30x"),
        ("sglang/rocm724-mi35x", "lmsysorg/sglang:v0.5.21-rocm724-mi35x"),
        ("sglang/rocm10-mi35x", "lmsysorg/sglang:v0.5.21-rocm10-mi35x"),
        ("sglang/rocm10-mi45x", "rocm/sgl-dev:v0.5.21-rocm10-mi45x"),
    ],
)
def test_tags_follow_upstreams_schemes(pinset: PinSet, target: str, tag: str) -> None:
    assert pinset.targets[target].tags == (tag,)


@pytest.mark.parametrize("name", [name for name in DOCKERFILES if "debian_rocm" not in name])
def test_nothing_moves_under_a_pin(name: str) -> None:
    text = DOCKERFILES[name]
    assert ":latest" not in text
    assert not re.search(r"(?:curl|wget)[^\n]*\|", text)
    assert not re.search(r"\bgit clone\b", text)
    for line in text.splitlines():
        assert not re.match(r"\s+ARG ", line)
    fetches = text.count("git init --quiet")
    assert fetches == text.count('test "$(git rev-parse HEAD)" = ') > 0


@pytest.mark.parametrize("name", [name for name in DOCKERFILES if "debian_rocm" not in name])
def test_the_last_stage_checks_what_pip_has_done_to_the_pins(name: str) -> None:
    last = DOCKERFILES[name].rpartition("\nFROM ")[2]
    assert ("python3 -m pip check" in last) is not ("python3 /imagepins/check.py " in last)
    assert "torch.version.hip" in last


@pytest.mark.parametrize("name", [name for name in DOCKERFILES if "debian_rocm" not in name])
def test_a_stage_that_runs_a_build_tool_has_it(name: str) -> None:
    seen: dict[str, str] = {}
    for stage in stages(parse(DOCKERFILES[name], name)):
        own = "\n".join(each.text for each in stage.instructions)
        seen[stage.name] = seen.get(stage.base, "") + own
        for tool, (use, gift) in BUILD_TOOLS.items():
            if re.search(use, own, re.MULTILINE):
                assert re.search(gift, seen[stage.name], re.MULTILINE), f"{stage.name} has no {tool}"


@pytest.mark.parametrize(
    ("line", "has_names", "replaces"),
    [("rocm700", True, True), ("rocm720", False, True), ("rocm724", True, True), ("rocm10", False, False)],
)
def test_a_base_with_rocm_gets_what_upstream_adds_to_it(line: str, *, has_names: bool, replaces: bool) -> None:
    text = DOCKERFILES[f"images/sglang/{line}-mi35x/Dockerfile"]
    assert ("cp /opt/amdgpu/share/libdrm/amdgpu.ids /usr/share/libdrm/amdgpu.ids" in text) is has_names
    assert ("pip show amdsmi || python3 -m pip install /opt/rocm/share/amd_smi" in text) is replaces
    assert ("pip uninstall --yes aiter amd-aiter" in text) is replaces


def test_vllms_nixl_is_called_by_rocms_name_as_upstreams_is() -> None:
    text = DOCKERFILES["images/rocm_base/rocm10/Dockerfile"]
    renamed = "python3 contrib/tomlutil.py --wheel-name nixl-rocm pyproject.toml\n"
    assert text.index(renamed) < text.index("setup-args=-Dwheel_variant=rocm")
    assert re.search(r"pip install .*\btomlkit\b", text)


@pytest.mark.parametrize("target", ["vllm/rocm10", "sglang/rocm720-mi30x"])
def test_a_served_image_has_a_benchmark_recipe_that_is_consistent(pinset: PinSet, target: str) -> None:
    bench = pinset.targets[target].bench
    assert bench is not None
    options = dict(word.partition("=")[::2] for word in bench.client)
    where = options.get("--output-file") or f"{options['--result-dir']}/{options['--result-filename']}"
    assert where == bench.result
    assert options["--port"] in bench.server
    assert any(f":{options['--port']}/" in word for word in bench.ready)
    assert options["--model"] in bench.server


@pytest.mark.parametrize("name", [name for name in DOCKERFILES if "debian_rocm" not in name])
def test_artifacts_reach_the_image_through_helpers_which_record_them(name: str) -> None:
    assert "COPY --from=" not in DOCKERFILES[name].rpartition("\nFROM ")[2]


def test_the_pinned_pip_installs_itself_out_of_its_wheel(tmp_path: Path) -> None:
    wheel = next((Path(ensurepip.__file__).parent / "_bundled").glob("pip-*.whl"))
    shutil.copy(wheel, tmp_path)
    text = DOCKERFILES["images/rocm_base/rocm10/Dockerfile"]
    start = text.index("set -- /wheels/")
    script = (
        text[start : text.index("\nEOR", start)].replace("/wheels", str(tmp_path)).replace("python3", sys.executable)
    )
    env = {**os.environ, "PIP_TARGET": str(tmp_path / "target")}
    done = run(["sh", "-euxc", script], env=env, check=False)
    assert done.code == 0, done.stderr
    assert (tmp_path / "target" / "pip" / "__init__.py").is_file()


def test_variants_of_gfx1250_have_pins_of_their_own(pinset: PinSet) -> None:
    mine, other = (pinset.targets[f"sglang/rocm10-{each}"].pins for each in ("mi45x", "mi35x"))
    differing = {role for role in mine if mine[role] is not other[role]}
    assert differing == {"aiter-sglang", "triton"}


def test_images_on_the_rebuilt_runtime_need_its_copy_flag(pinset: PinSet) -> None:
    for target in pinset.targets.values():
        if "rocm-runtime" in target.all_pins:
            assert "prefer_ce_batch_copy" in {str(gate.name) for gate in target.gates}
