"""Helpers of the recipes that work on installed Python packages, on packages made for this."""

import os
import sys
import zipfile
from pathlib import Path

import pytest

from imagepins.process import Completed, run


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A directory of installed packages: a torch that requires its own Triton, and a Triton."""
    site = tmp_path / "site"
    for name, version, extra in (
        ("torch", "2.9.1+rocm7.2", "Requires-Dist: triton==3.5.1; platform_system == 'Linux'\nRequires-Dist: sympy\n"),
        ("triton", "3.8.0+git669b31ac", ""),
    ):
        info = site / f"{name}-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{extra}")
        rows = f"{name}/__init__.py,sha256=a,1\n{info.name}/METADATA,sha256=b,2\n{info.name}/RECORD,,\n"
        (info / "RECORD").write_text(rows)
        (site / name).mkdir()
        (site / name / "__init__.py").write_text("\n")
    (site / "triton" / "include").mkdir()
    (site / "triton" / "include" / "a.h").write_text("#pragma once\n#  define TRITON_INTERNALS 7\n")
    return site


@pytest.fixture
def helper(repository: Path, site: Path) -> "Helper":
    """Runs one of the helpers with the packages of ``site`` installed."""
    return Helper(repository / "images" / "_recipes", site)


class Helper:
    """A helper's script, run as a build step does."""

    def __init__(self, directory: Path, site: Path) -> None:
        self.directory, self.site = directory, site

    def __call__(self, name: str, *arguments: str, check: bool = True) -> Completed:
        env = {**os.environ, "PYTHONPATH": str(self.site), "PYTHONDONTWRITEBYTECODE": "1"}
        return run([sys.executable, str(self.directory / f"{name}.py"), *arguments], env=env, check=check)


def test_relax_drops_the_requirement_and_the_checksum_of_what_it_changed(helper: Helper, site: Path) -> None:
    helper("relax", "--distribution", "torch", "--requirement", "triton", "--requirement", "triton-rocm")
    info = site / "torch-2.9.1+rocm7.2.dist-info"
    assert "triton" not in (info / "METADATA").read_text()
    assert "Requires-Dist: sympy\n" in (info / "METADATA").read_text()
    assert (info / "RECORD").read_text().splitlines() == [
        "torch/__init__.py,sha256=a,1",
        "torch-2.9.1+rocm7.2.dist-info/METADATA,,",
        "torch-2.9.1+rocm7.2.dist-info/RECORD,,",
    ]


def test_relax_ends_where_the_requirement_has_another_name(helper: Helper) -> None:
    done = helper("relax", "--distribution", "torch", "--requirement", "trito", check=False)
    assert (done.code, done.stderr) == (1, "imagepins: torch 2.9.1+rocm7.2 does not require trito\n")


def test_hold_keeps_what_is_installed_and_passes_over_the_rest(helper: Helper, tmp_path: Path) -> None:
    constraints = tmp_path / "etc" / "constraints.txt"
    constraints.parent.mkdir()
    constraints.write_text("Torch==1.0\nnumpy==2.2.6\n")
    helper("hold", "--constraints", str(constraints), "torch", "torchaudio", "triton")
    assert constraints.read_text() == "numpy==2.2.6\ntorch==2.9.1+rocm7.2\ntriton==3.8.0+git669b31ac\n"


def test_versions_txt_says_what_is_there(helper: Helper, site: Path, tmp_path: Path) -> None:
    provenance = tmp_path / "provenance.json"
    provenance.write_text('{"schema": 1, "pins": {"rccl": {"commit": "1c0ab425"}}}')
    file = tmp_path / "app" / "versions.txt"
    entries = ["BASE_IMAGE=ubuntu:22.04@sha256:0", "RCCL_COMMIT@rccl", "TRITON_VERSION%triton", "SHA#triton:.py,.so"]
    options = ("--file", str(file), "--provenance", str(provenance))
    helper("versions", *options, *entries, "INTERNALS?triton:TRITON_INTERNALS")
    sums = run(["sha256sum", str(site / "triton" / "__init__.py")]).stdout
    expected = run(["sha256sum"], stdin=sums).stdout.split()[0]
    assert file.read_text().splitlines() == [
        "BASE_IMAGE: ubuntu:22.04@sha256:0",
        "RCCL_COMMIT: 1c0ab425",
        "TRITON_VERSION: 3.8.0+git669b31ac",
        f"SHA: {expected}",
        "INTERNALS: 7",
    ]
    helper("versions", *options, "LATER=1")
    assert file.read_text().splitlines()[-1] == "LATER: 1"


def test_checkout_reads_both_kinds_of_version_file(helper: Helper, tmp_path: Path) -> None:
    hip = tmp_path / "VERSION"
    hip.write_text("#HIP_VERSION_MAJOR\n7\n#HIP_VERSION_MINOR\n16\n#HIP_VERSION_PATCH\n0\n")
    rccl = tmp_path / "version.mk"
    rccl.write_text("##### version\nNCCL_MAJOR   := 2\nNCCL_MINOR   := 32\nNCCL_PATCH   := 3\nNCCL_SUFFIX  :=\n")
    helper("checkout", "--pin", "hip", "--version", "7.16", "--file", str(hip))
    helper("checkout", "--pin", "rccl", "--version", "2.32.3", "--file", str(rccl))
    done = helper("checkout", "--pin", "rccl", "--version", "2.30.7", "--file", str(rccl), check=False)
    assert (done.code, done.stderr) == (
        1,
        f"imagepins: pin rccl: {rccl} says version 2.32.3, pins.yaml 2.30.7; tools/bump_pin rccl reads it anew\n",
    )


def test_a_tree_replaces_what_is_there_and_writes_through_no_link(helper: Helper, tmp_path: Path) -> None:
    artifact, root = tmp_path / "artifact", tmp_path / "root"
    (artifact / "usr" / "lib").mkdir(parents=True)
    (artifact / "usr" / "lib" / "libibverbs.so.1.15").write_text("new")
    (artifact / "usr" / "lib" / "libibverbs.so.1").symlink_to("libibverbs.so.1.15")
    (artifact / "usr" / "lib" / "plain").write_text("new plain")
    (artifact / ".provenance").mkdir()
    (artifact / ".provenance" / "rdma-core.json").write_text(
        '{"pin": "rdma-core", "commit": "62", "dirty": false, "files": {"usr/lib/plain": "aa"}}'
    )
    (root / "usr" / "lib").mkdir(parents=True)
    (root / "usr" / "lib" / "libibverbs.so.1.14").write_text("old")
    (root / "usr" / "lib" / "libibverbs.so.1").symlink_to("libibverbs.so.1.14")
    (root / "usr" / "lib" / "plain").symlink_to("libibverbs.so.1.14")
    provenance = tmp_path / "provenance.json"
    helper("tree", "--artifact", str(artifact), "--root", str(root), "--provenance", str(provenance))
    files = {path.name: path.read_text() for path in (root / "usr" / "lib").iterdir()}
    assert files == {
        "libibverbs.so.1.14": "old",
        "libibverbs.so.1.15": "new",
        "libibverbs.so.1": "new",
        "plain": "new plain",
    }
    assert not (root / ".provenance").exists()
    text = (tmp_path / "provenance" / "rdma-core.txt").read_text()
    assert text == f"commit: 62\ndirty: no\naa  {root}/usr/lib/plain\n"


@pytest.mark.parametrize(("built", "code"), [(["gfx942", "gfx950"], 0), (["gfx942"], 1)])
def test_a_wheel_without_code_for_an_architecture_ends_the_build(
    built: list[str], code: int, helper: Helper, tmp_path: Path
) -> None:
    source, artifact = tmp_path / "source", tmp_path / "artifact"
    artifact.mkdir()
    git = ["git", "-C", str(source), "-c", "user.name=Test", "-c", "user.email=test@example.org"]
    run(["git", "init", "--quiet", str(source)])
    run([*git, "remote", "add", "origin", "https://upstream.example/small.git"])
    run([*git, "commit", "--quiet", "--allow-empty", "--message", "one"])
    commit = run([*git, "rev-parse", "HEAD"]).stdout.strip()
    with zipfile.ZipFile(artifact / "small-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("small/c_ops.so", "".join(f"hipv4-amdgcn-amd-amdhsa--{arch}\0" for arch in built))
    options = ["--pin", "small", "--commit", commit, "--source", str(source), "--artifact", str(artifact)]
    done = helper("record", *options, "--archs", "gfx942 gfx950", check=False)
    assert done.code == code
    assert ("imagepins: pin small: no code for gfx950, only for gfx942" in done.stderr) is bool(code)


@pytest.mark.parametrize(
    ("name", "requirement", "ends"),
    [("torch", "sympy", False), ("triton", "sympy", True), ("torch", "triton<3", False), ("triton", "torch>=3", True)],
)
def test_what_a_base_brought_may_complain_and_nothing_else(
    name: str, requirement: str, *, ends: bool, helper: Helper, tmp_path: Path
) -> None:
    brought, constraints = tmp_path / "brought.txt", tmp_path / "constraints.txt"
    helper("check", "--write", str(brought))
    assert "torch==2.9.1+rocm7.2" in brought.read_text().splitlines()
    constraints.write_text("triton==3.8.0+git669b31ac\n")
    for info in helper.site.glob("*.dist-info"):
        metadata = [line for line in (info / "METADATA").read_text().splitlines() if "Requires-Dist" not in line]
        added = [f"Requires-Dist: {requirement}"] if info.name.startswith(f"{name}-") else []
        (info / "METADATA").write_text("\n".join([*metadata, *added]) + "\n")
    done = helper("check", "--constraints", str(constraints), str(brought), check=False)
    assert bool(done.code) is ends, done.stderr
    assert f"{name} " in done.stderr


def test_a_wheel_of_data_alone_is_recorded_by_its_data(repository: Path, tmp_path: Path) -> None:
    metadata = tmp_path / "kernels-1.0.dist-info"
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels/gfx942.co").write_text("code")
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: kernels\nVersion: 1.0\n")
    (metadata / "RECORD").write_text("kernels/gfx942.co,,\nkernels-1.0.dist-info/METADATA,,\n")
    code = "import importlib.metadata, wheels\n"
    code += "print(*wheels.installed_files(importlib.metadata.distribution('kernels')))"
    path = f"{repository}/images/_recipes:{tmp_path}"

    done = run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path})

    assert done.stdout == f"{tmp_path}/kernels/gfx942.co\n"
