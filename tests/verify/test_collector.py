"""The collector: what it finds in hostile file systems, with every Python that may be in an image."""

import ast
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from imagepins.verify.source import MODULES, collector_source

PYENV = Path.home() / ".pyenv/versions"
INTERPRETERS = sorted(
    {
        sys.executable,
        *(str(path) for pattern in ("3.[89].*", "3.1?.*") for path in PYENV.glob(f"{pattern}/bin/python3")),
        *(path for path in ("/usr/bin/python3",) if Path(path).exists()),
    }
)
BIG = 1 << 30


def test_source_is_one_text_of_the_standard_library_of_python_3_8() -> None:
    source = collector_source()

    tree = ast.parse(source, feature_version=(3, 8))
    imported = {
        alias.name.partition(".")[0] if isinstance(node, ast.Import) else str(node.module).partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert imported <= sys.stdlib_module_names
    assert len(source.encode()) < 128 * 1024


def test_modules_share_one_namespace_without_a_clash() -> None:
    folder = Path(sys.modules["imagepins.verify.source"].__file__ or "").parent / "collector"
    names: list[str] = []
    for module in MODULES:
        body = ast.parse((folder / f"{module}.py").read_text()).body
        names += [node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
        names += [
            target.id
            for node in body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name) and target.id != "TYPE_CHECKING"
        ]

    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("python", INTERPRETERS)
def test_every_python_of_this_machine_runs_it(
    python: str, collect: Callable[..., dict[str, Any]], tmp_path: Path, library: Callable[..., Path]
) -> None:
    library(tmp_path / "librccl.so.1")

    document = collect(python=python, loads=[f"{tmp_path}/librccl.so.1"], modules=["json"])

    assert [each["literals"]["version"] for each in document["libraries"]] == [["2.32.3"]]
    loads = {load["what"]: load for load in document["loads"]}
    assert loads[f"{tmp_path}/librccl.so.1"]["mapped"][0]["calls"]["ncclGetVersion"] == {"code": 0, "value": 23203}
    assert loads["modules"]["modules"]["json"]["taken"].endswith("json/__init__.py")


def test_links_and_hard_links_are_names_of_one_file(
    collect: Callable[..., dict[str, Any]], tmp_path: Path, library: Callable[..., Path]
) -> None:
    real = library(tmp_path / "a/librccl.so.1.0")
    (tmp_path / "a/librccl.so.1").symlink_to("librccl.so.1.0")
    (tmp_path / "b").symlink_to("a")
    (tmp_path / "librccl.so.1.0.70101").hardlink_to(real)

    (found,) = collect()["libraries"]

    assert found["names"] == [str(real), f"{tmp_path}/librccl.so.1.0.70101"]
    assert found["links"] == [f"{tmp_path}/a/librccl.so.1"]
    assert found["soname"] == "librccl.so.1"
    assert len(found["build_id"]) == 40


def test_what_only_bears_a_librarys_name_is_no_copy(collect: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    (tmp_path / "librccl.so").write_text("GROUP ( librccl.so.1 )")
    (tmp_path / "librccl.so.2").mkdir()
    os.mkfifo(tmp_path / "librccl.so.3")
    (tmp_path / "librccl.so.4").write_bytes(b"")
    (tmp_path / "librccl.so.py").write_text("import librccl")

    assert [each["path"] for each in collect()["libraries"] if not each["error"]] == []


def test_damaged_library_is_told_and_never_ends_the_collector(
    collect: Callable[..., dict[str, Any]], tmp_path: Path, library: Callable[..., Path]
) -> None:
    whole = library(tmp_path / "whole/librccl.so.1").read_bytes()
    for size in (16, 63, 64, 500, len(whole) // 2):
        (tmp_path / f"librccl.so.{size}").write_bytes(whole[:size])
    for place in range(32, 64):
        data = bytearray(whole)
        data[place] ^= 0xFF
        (tmp_path / f"librccl.so.1{place}").write_bytes(data)

    found = collect()["libraries"]

    assert f"{tmp_path}/whole/librccl.so.1" in [each["path"] for each in found]


def test_loop_of_links_and_deep_folders_end(collect: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    (tmp_path / "librccl.so.1").symlink_to("librccl.so.2")
    (tmp_path / "librccl.so.2").symlink_to("librccl.so.1")
    (tmp_path / "up").symlink_to("..")
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("deep", dir_fd=here)
        below = os.open("deep", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    try:
        document = collect()
    finally:
        subprocess.run(["rm", "-rf", f"{tmp_path}/deep"], check=True)

    assert [each["error"].partition(":")[0] for each in document["libraries"]] == ["dangling link"] * 2
    assert document["entries"] > 800


@pytest.mark.parametrize("has_sections", [True, False])
def test_library_of_a_gigabyte_is_mapped_not_read(
    has_sections: bool, collect: Callable[..., dict[str, Any]], tmp_path: Path, library: Callable[..., Path]
) -> None:
    path = library(tmp_path / "librccl.so.1")
    with path.open("r+b") as file:
        file.truncate(BIG)
        if not has_sections:
            file.seek(40)
            file.write(bytes(8))

    ballast = b"x" * (200 << 20)  # what this process holds is none of the collector's
    document = collect()
    del ballast

    assert [(each["size"], each["literals"]["ref"]) for each in document["libraries"]] == [(BIG, ["HEAD:1c0ab42"])]
    assert 1024 < document["peak_kib"] < 150 * 1024


def test_load_that_hangs_is_ended_with_everything_it_started(
    collect: Callable[..., dict[str, Any]], tmp_path: Path, library: Callable[..., Path]
) -> None:
    path = library(tmp_path / "librccl.so.1", "-DHANG")

    document = collect(loads=[str(path)], load_seconds=0.5)

    (load,) = [each for each in document["loads"] if each["what"] == str(path)]
    assert (load["is_late"], load["error"]) == (True, "no end after 0.5 s")


def test_wanted_texts_are_read_however_many_version_files_there_are(
    collect: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    for number in range(500):
        (tmp_path / f"a{number}").mkdir()
        (tmp_path / f"a{number}/VERSION").write_text("1.0\n")
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/version.py").write_text("git_version = ''\n")

    texts = collect(texts=["/torch/version.py"])["texts"]

    assert f"{tmp_path}/torch/version.py" in texts
    assert len(texts) == 201


def test_environment_that_is_no_utf_8_is_told_with_escapes(collect: Callable[..., dict[str, Any]]) -> None:
    document = collect(env={"ODD": os.fsdecode(b"a\xffb")})

    assert document["env"]["ODD"] == "a\\xffb"


def test_checkout_tells_head_and_changed_files_whoever_owns_it(
    collect: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    git = ["git", "-C", str(tmp_path / "repo")]
    subprocess.run(["git", "init", "--quiet", str(tmp_path / "repo")], check=True)
    (tmp_path / "repo/f").write_text("1\n")
    subprocess.run([*git, "add", "f"], check=True)
    subprocess.run([*git, "commit", "--quiet", "-m", "one"], check=True)
    subprocess.run([*git, "remote", "add", "origin", "https://upstream.example/x.git"], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    (tmp_path / "repo/f").write_text("2\n")

    document = collect(want_checkouts=True)

    assert document["checkouts"] == [
        {"path": f"{tmp_path}/repo", "head": head, "remotes": ["https://upstream.example/x.git"]}
    ]
    assert document["statuses"] == [{"path": f"{tmp_path}/repo", "dirty": ["f"]}]
