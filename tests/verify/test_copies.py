"""Which files the collector takes for one build, and whose functions a process really has."""

import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from imagepins.verify.observed import Library

HEADER = (("<Q", 40), ("<H", 58), ("<H", 60))
"""Where an object tells the place of its table of sections, and their size and number."""

OTHER = '-DREFERENCE="HEAD:7da4302"'


@pytest.fixture
def identities(collect: Callable[..., dict[str, Any]]) -> Callable[[], set[object]]:
    """The builds among all copies that lie there."""
    return lambda: {Library.read(each).identity for each in collect()["libraries"]}


def test_copies_that_only_lost_their_symbols_are_one_build(
    identities: Callable[[], set[object]], tmp_path: Path, library: Callable[..., Path]
) -> None:
    first = library(tmp_path / "a/librccl.so.1", "-g")
    (tmp_path / "b").mkdir()
    subprocess.run(["strip", "-o", f"{tmp_path}/b/librccl.so.1", str(first)], check=True)

    assert len(identities()) == 1


def test_copies_of_other_search_paths_are_one_build(
    identities: Callable[[], set[object]], tmp_path: Path, library: Callable[..., Path]
) -> None:
    for tree in ("a", "b"):
        library(tmp_path / f"{tree}/librccl.so.1", "-Wl,--build-id=0x12", f"-Wl,-rpath,/opt/{tree}")

    assert len(identities()) == 1


def test_copy_of_other_code_is_another_build_whatever_its_build_id_says(
    identities: Callable[[], set[object]], tmp_path: Path, library: Callable[..., Path]
) -> None:
    for tree, flags in {"a": (), "b": ("-DNOISE",)}.items():
        library(tmp_path / f"{tree}/librccl.so.1", "-Wl,--build-id=0x12", *flags)

    assert len(identities()) == 2


def test_any_number_of_copies_is_looked_at(
    collect: Callable[..., dict[str, Any]], tmp_path: Path, library: Callable[..., Path]
) -> None:
    first = library(tmp_path / "librccl.so.0")
    for number in range(1, 300):
        shutil.copy(first, tmp_path / f"librccl.so.{number}")

    assert len(collect()["libraries"]) == 300


SERVED = """\
import ctypes
ctypes.CDLL({0!r}, mode=0)
ctypes.CDLL({1!r}, mode=0)
"""


def test_copy_that_an_import_holds_for_itself_provides_its_functions(
    collect: Callable[..., dict[str, Any]], tmp_path: Path, library: Callable[..., Path]
) -> None:
    pinned, static = library(tmp_path / "librccl.so.1"), library(tmp_path / "_C.so", "-Wl,-soname,_C.so")
    (tmp_path / "served.py").write_text(SERVED.format(str(pinned), str(static)))

    (load,) = collect(loads=["import served"], env={"PYTHONPATH": str(tmp_path)})["loads"]

    assert {each["path"] for each in load["provided"]} == {str(pinned), str(static)}


def test_file_that_only_its_soname_gives_away_is_a_copy(
    collect: Callable[..., dict[str, Any]], tmp_path: Path, library: Callable[..., Path]
) -> None:
    pinned, other = library(tmp_path / "librccl.so.1"), library(tmp_path / "collectives.bin", OTHER)
    (tmp_path / "served.py").write_text(SERVED.format(str(other), str(other)))

    document = collect(loads=["import served"], env={"PYTHONPATH": str(tmp_path)})

    assert [each["path"] for each in document["loads"][0]["mapped"]] == [str(other)]
    refs = {each["path"]: each["literals"]["ref"] for each in document["libraries"]}
    assert refs == {str(pinned): ["HEAD:1c0ab42"], str(other): ["HEAD:7da4302"]}


def test_section_that_claims_to_be_endless_ends_with_its_file(
    identities: Callable[[], set[object]], tmp_path: Path, library: Callable[..., Path]
) -> None:
    for tree in ("a", "b"):
        path = library(tmp_path / f"{tree}/librccl.so.1", "-Wl,--build-id=0x12", f"-Wl,-rpath,/opt/{tree}")
        with path.open("r+b") as file:
            sections, size, count = (struct.unpack_from(form, path.read_bytes(), at) for form, at in HEADER)
            for index in range(1, count[0]):
                # Its size, in the table of sections.
                file.seek(sections[0] + index * size[0] + 32)
                file.write((1 << 60).to_bytes(8, "little"))

    assert len(identities()) <= 2
