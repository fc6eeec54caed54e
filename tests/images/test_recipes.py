"""The shipped recipes on the real engine: only the sources, behind a git server on loopback, are small."""

import sys
from pathlib import Path
from typing import Any

import pytest

from imagepins.process import run

pytestmark = pytest.mark.engine
FAMILIES = ("libhsa-runtime64.so.1", "libamdhip64.so.7", "librccl.so.1")
VERSION_2_32 = "NCCL_MAJOR := 2\nNCCL_MINOR := 32\nNCCL_PATCH := 3\n"
VERSION_2_33 = "NCCL_MAJOR := 2\nNCCL_MINOR := 33\nNCCL_PATCH := 1\n"
TREES = ("/sdk/devel/lib", "/sdk/core/lib")


def test_every_copy_of_a_library_is_the_rebuilt_one(built: Any, first: dict[str, str]) -> None:
    copies = built.report()["copies"]
    stamps = {"libhsa-runtime64.so.1": "rebuilt-hsa", "libamdhip64.so.7": first["rocm"][:10]}
    stamps["librccl.so.1"] = f"HEAD:{first['rocm'][:7]}"
    assert {place: copy["stamp"] for place, copy in copies.items()} == {
        f"{tree}/{soname}": stamp for tree in TREES for soname, stamp in stamps.items()
    }


def test_every_name_of_a_library_leads_to_the_rebuilt_file(built: Any) -> None:
    for copy in built.report()["copies"].values():
        assert set(copy["names"].values()) == {copy["real"]}


def test_the_loader_maps_one_file_under_its_own_name(built: Any, first: dict[str, str]) -> None:
    mapped = built.report()["mapped"]
    assert mapped["libhsa-runtime64.so.1"] == ["/sdk/devel/lib/libhsa-runtime64.so.1.21.0"]
    assert mapped["librccl.so.1"] == ["/sdk/devel/lib/librccl.so.1.0"]
    [hip] = mapped["libamdhip64.so.7"]
    assert hip.startswith("/sdk/devel/lib/libamdhip64.so.7.16.")
    assert hip.endswith(f"-{first['rocm'][:10]}")


def test_each_tree_keeps_its_own_runpath_or_rpath(built: Any) -> None:
    runpaths = {place: copy["runpath"] for place, copy in built.report()["copies"].items()}
    assert runpaths["/sdk/devel/lib/librccl.so.1"] == "RUNPATH $ORIGIN:$ORIGIN/rocm_sysdeps/lib"
    assert runpaths["/sdk/core/lib/librccl.so.1"] == "RPATH $ORIGIN/../lib"
    assert {runpaths[f"{tree}/libamdhip64.so.7"] for tree in TREES} == {"RUNPATH $ORIGIN"}
    assert {runpaths[f"{tree}/libhsa-runtime64.so.1"] for tree in TREES} == {""}


def test_equal_copies_are_one_file(built: Any) -> None:
    copies = built.report()["copies"]
    for soname in ("libhsa-runtime64.so.1", "libamdhip64.so.7"):
        assert len({copies[f"{tree}/{soname}"]["inode"] for tree in TREES}) == 1


def test_provenance_is_what_was_built_and_installed(built: Any, first: dict[str, str]) -> None:
    report = built.report()
    pins = report["provenance"]["pins"]
    assert {name: record["commit"] for name, record in pins.items()} == {
        "rocm-runtime": first["rocm"],
        "rccl": first["rocm"],
        "small": first["package"],
    }
    assert {record["dirty"] for record in pins.values()} == {False}
    assert pins["rccl"]["repository"] == "https://upstream.example/rocm-systems.git"
    assert pins["rccl"]["baked"] == [f"HEAD:{first['rocm'][:7]}"]
    assert pins["rccl"]["archs"] == ["gfx942", "gfx950"]
    found = {copy["real"]: copy["sha256"] for copy in report["copies"].values()}
    assert {**pins["rocm-runtime"]["installed"], **pins["rccl"]["installed"]} == found


def test_provenance_of_a_pin_is_also_a_text_that_sha256sum_checks(built: Any, first: dict[str, str]) -> None:
    report = built.report()
    lines = report["records"]["rccl.txt"].splitlines()
    assert lines[:2] == [f"commit: {first['rocm']}", "dirty: no"]
    installed = report["provenance"]["pins"]["rccl"]["installed"]
    assert lines[2:] == [f"{digest}  {path}" for path, digest in sorted(installed.items())]


def test_a_wheel_has_the_version_of_its_tag_and_is_held(built: Any) -> None:
    report = built.report()
    assert "small-package" in report["packages"]
    assert report["constraints"] == "small-package==1.2.0\n"


def test_nothing_of_the_build_is_left_in_the_image(built: Any) -> None:
    report = built.report()
    assert report["left"] == []
    assert report["gitconfig"] == ""
    assert "APT_CONFIG=/dev/shm/apt.conf" in built.log()


def pin_rccl_to_changed_build(workspace: Any, old: str, new: str, *, end: str = "") -> str:
    """Pin RCCL to a commit whose CMakeLists.txt differs, and return it; the branch goes on as before."""
    path = "projects/rccl/CMakeLists.txt"
    cmake = (workspace.sources.root / "rocm-systems.work" / path).read_text()
    assert old in cmake
    pinned = str(workspace.sources.commit("rocm-systems", {path: cmake.replace(old, new, 1) + end}))
    workspace.sources.commit("rocm-systems", {path: cmake})
    before, _, after = workspace.pins.read_text().partition("  rccl:\n")
    commit = after.partition("commit: ")[2][:42]
    workspace.pins.write_text(f"{before}  rccl:\n{after.replace(commit, repr(pinned), 1)}")
    return pinned


def test_a_bumped_pin_gives_an_image_with_the_new_commit(workspace: Any, bump: Any) -> None:
    moved = workspace.sources.commit("rocm-systems", {"projects/rccl/makefiles/version.mk": VERSION_2_33})
    package = workspace.sources.commit("package", {"src/small/more.py": "MORE = True\n"})
    bump(workspace, "rccl", moved)
    bump(workspace, "small", package[:12])
    assert 'version: "2.33.1"' in workspace.pins.read_text()
    done = workspace.build()
    workspace.sources.commit("rocm-systems", {"projects/rccl/makefiles/version.mk": VERSION_2_32})
    assert done.code == 0, workspace.errors()
    report = workspace.report()
    assert {report["copies"][f"{tree}/librccl.so.1"]["stamp"] for tree in TREES} == {f"HEAD:{moved[:7]}"}
    assert report["provenance"]["pins"]["rccl"]["commit"] == moved
    assert report["provenance"]["pins"]["small"]["commit"] == package
    assert report["constraints"] == f"small-package==1.2.1.dev1+g{package[:10]}\n"


def test_a_compiler_cache_changes_no_byte_of_what_is_built(workspace: Any, built: Any) -> None:
    workspace.set("COMPILER_CACHE: none", "COMPILER_CACHE: ccache")
    assert workspace.build().code == 0, workspace.errors()
    assert "CMAKE_CXX_COMPILER_LAUNCHER=ccache" in workspace.log()
    assert "COMPILER_LAUNCHER=ccache" not in built.log()
    assert workspace.report()["provenance"]["pins"]["rccl"] == built.report()["provenance"]["pins"]["rccl"]


def test_picks_and_reverts_are_applied_and_recorded(workspace: Any) -> None:
    sources = workspace.sources
    base = sources.commit("package", {"src/small/kept.py": "KEPT = 1\n", "src/small/unwanted.py": "NO = 1\n"})
    unwanted = sources.commit("package", {"src/small/unwanted.py": "NO = 2\n"})
    pinned = sources.commit("package", {"src/small/kept.py": "KEPT = 2\n"})
    picked = sources.commit("package", {"src/small/wanted.py": "WANTED = 1\n"})
    old = workspace.pins.read_text().partition("package.git\n    commit: ")[2][:42]
    patches = f'picks: [{{commit: "{picked}", reason: needed}}]\n    reverts: [{{commit: "{unwanted}", reason: not}}]'
    workspace.set(f"commit: {old}", f'commit: "{pinned}"\n    {patches}')
    assert workspace.build().code == 0, workspace.errors()
    record = workspace.report()["provenance"]["pins"]["small"]
    assert (record["commit"], record["picks"], record["reverts"]) == (pinned, [picked], [unwanted])
    assert record["modified"] == ["M  src/small/unwanted.py", "A  src/small/wanted.py"]
    assert base not in str(record)


def refused(workspace: Any) -> str:
    """What the build says that must not succeed."""
    assert workspace.build().code != 0
    return str(workspace.errors())


def test_a_build_that_moves_to_another_commit_ends_with_both(workspace: Any) -> None:
    commits = """set(ENV{GIT_AUTHOR_NAME} t)
set(ENV{GIT_COMMITTER_NAME} t)
set(ENV{EMAIL} t@example.org)
execute_process(COMMAND git commit --quiet --allow-empty --message moved WORKING_DIRECTORY /src)
"""
    pinned = pin_rccl_to_changed_build(workspace, "", "", end=commits)
    said = refused(workspace)
    assert "imagepins: pin rccl: built from " in said
    assert f", pinned is {pinned}" in said


def test_a_build_that_changes_its_own_source_is_refused(workspace: Any) -> None:
    changes = 'file(APPEND "/src/projects/rccl/makefiles/version.mk" "# touched\\n")\nexecute_process'
    pinned = pin_rccl_to_changed_build(workspace, "execute_process", changes)
    told = f"imagepins: pin rccl: ['HEAD:{pinned[:7]}+'] says that the build changed its own source"
    assert told in refused(workspace)


def test_a_version_that_the_source_does_not_have_is_refused_before_the_build(workspace: Any) -> None:
    workspace.set('version: "7.16"', 'version: "7.17"')
    said = refused(workspace)
    assert "imagepins: pin rocm-runtime: projects/hip/VERSION says version 7.16, pins.yaml 7.17" in said
    assert "Building CXX object" not in said


def test_an_architecture_that_the_library_was_not_built_for_is_refused(workspace: Any) -> None:
    pin_rccl_to_changed_build(workspace, "IN LISTS GPU_TARGETS", "IN ITEMS gfx942", end='set(READ "${GPU_TARGETS}")\n')
    assert "imagepins: pin rccl: no code for gfx950, only for gfx942" in refused(workspace)


def test_architectures_that_no_variable_takes_are_refused(workspace: Any) -> None:
    pin_rccl_to_changed_build(workspace, "IN LISTS GPU_TARGETS", "IN LISTS AMDGPU_TARGETS")
    said = refused(workspace)
    assert "Manually-specified variables were not used by the project" in said
    assert "Building CXX object" not in said


def test_a_pin_without_commit_stops_the_build_with_what_to_run(workspace: Any, first: dict[str, str]) -> None:
    workspace.set(f'    commit: "{first["package"]}"\n', "")
    said = refused(workspace)
    assert "imagepins: pin small: not known yet, run tools/bump_pin small" in said


def test_a_commit_that_the_server_refuses_is_found_by_its_branch(workspace: Any, first: dict[str, str]) -> None:
    pinned = workspace.sources.commit("package", {"src/small/now.py": "NOW = 1\n"})
    workspace.sources.commit("package", {"src/small/later.py": "LATER = 1\n"})
    workspace.set(first["package"], pinned)
    strict = workspace.root / "strict"
    # Protocol 0 is the one whose servers say no to commits that no ref leads to.
    strict.write_text(workspace.sources.gitconfig.read_text() + "[protocol]\n\tversion = 0\n")
    bare = workspace.sources.root / "package.git"
    run(["git", "-C", str(bare), "config", "uploadpack.allowAnySHA1InWant", "false"])
    try:
        done = workspace.build(f"--secret=id=gitconfig,src={strict}", "--no-cache-filter=build_small")
    finally:
        run(["git", "-C", str(bare), "config", "uploadpack.allowAnySHA1InWant", "true"])
    assert done.code == 0, workspace.errors()
    assert "Server does not allow request for unadvertised object" in workspace.log()
    assert workspace.report()["provenance"]["pins"]["small"]["commit"] == pinned


def test_a_missing_stock_copy_is_refused(workspace: Any) -> None:
    template = workspace.root / "images/fixture/Dockerfile.j2"
    text = template.read_text().replace(
        "FROM base AS image\n", "FROM base AS image\nRUN rm -r /sdk/core/lib/librccl*\n"
    )
    template.write_text(text)
    assert "imagepins: pin rccl: expected librccl.so in 2 places, found it in: /sdk/devel/lib" in refused(workspace)


def test_a_rebuilt_library_without_the_kernel_packs_it_needs_is_refused(workspace: Any) -> None:
    recipe = workspace.root / "images/_recipes/rocm-runtime.j2"
    recipe.write_text(recipe.read_text().replace("-DROCM_KPACK_ENABLED=ON", "-DROCM_KPACK_ENABLED=OFF"))
    said = refused(workspace)
    assert "imagepins: pin rocm-runtime: the stock" in said
    assert "needs librocm_kpack.so.0, the rebuilt one does not" in said


def test_a_package_that_is_installed_again_does_not_bring_the_stock_library_back(workspace: Any) -> None:
    template = workspace.root / "images/fixture/Dockerfile.j2"
    again = "RUN dpkg --install /stock.deb && ldconfig\n\nFROM image AS probe\n"
    template.write_text(template.read_text().replace("FROM image AS probe\n", again))
    assert workspace.build().code == 0, workspace.errors()
    copy = workspace.report()["copies"]["/sdk/devel/lib/librccl.so.1"]
    assert copy["stamp"].startswith("HEAD:")
    assert set(copy["names"].values()) == {copy["real"]}


SPLIT_KERNELS = """
add_custom_command(TARGET rccl POST_BUILD
  COMMAND objcopy --add-section .rocm_kpack_ref=/etc/passwd "$<TARGET_FILE:rccl>")
"""


def test_a_library_without_the_kernels_that_were_split_off_is_refused(workspace: Any) -> None:
    pin_rccl_to_changed_build(workspace, "", "", end=SPLIT_KERNELS)
    assert "imagepins: pin rccl: librccl.so.1.0 refers to .kpack files, and the artifact has none" in refused(workspace)


def test_kernels_that_were_split_off_are_put_into_every_tree(workspace: Any) -> None:
    packs = 'file(WRITE "${CMAKE_BINARY_DIR}/rccl.kpack" "kernels")\n'
    packs += 'install(FILES "${CMAKE_BINARY_DIR}/rccl.kpack" DESTINATION .kpack)\n'
    pin_rccl_to_changed_build(workspace, "", "", end=SPLIT_KERNELS + packs)
    assert workspace.build().code == 0, workspace.errors()
    assert workspace.report()["packs"] == ["/sdk/core/.kpack/rccl.kpack", "/sdk/devel/.kpack/rccl.kpack"]


def test_the_helpers_run_on_the_oldest_python_of_the_bases() -> None:
    """rocm/pytorch for ROCm 7.2.0 has Python 3.10."""
    import ast

    recipes = Path(__file__).parents[2] / "images" / "_recipes"
    for path in sorted(recipes.glob("*.py")):
        ast.parse(path.read_text(), feature_version=(3, 10))
    assert sys.version_info >= (3, 10)
