"""GPU architectures that the collector reads out of code objects, compressed or not."""

import ctypes
import os
import struct
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def test_architectures_are_read_from_offload_bundles(
    collect: Callable[..., dict[str, Any]], tmp_path: Path, library: Callable[..., Path]
) -> None:
    bundle = offload_bundle(
        {"host-x86_64": b"", "hipv4-amdgcn-amd-amdhsa--gfx942": b"code", "hip-amdgcn-amd-amdhsa--gfx950": b""}
    )
    (tmp_path / "bundle").write_bytes(
        bundle + bytes(4096 - len(bundle)) + offload_bundle({"hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-": b"c"})
    )
    path = library(tmp_path / "plain.so")
    subprocess.run(
        ["objcopy", "--add-section", f".hip_fatbin={tmp_path}/bundle", str(path), f"{tmp_path}/librccl.so.1"],
        check=True,
    )

    document = collect(want_archs=True)

    assert [each["archs"] for each in document["libraries"]] == [["gfx90a:xnack-", "gfx942"]]


def test_other_objects_are_looked_at_whatever_version_their_name_ends_in(
    collect: Callable[..., dict[str, Any]], tmp_path: Path, library: Callable[..., Path]
) -> None:
    (tmp_path / "bundle").write_bytes(offload_bundle({"hipv4-amdgcn-amd-amdhsa--gfx906": b"code"}))
    (tmp_path / "blas").mkdir()
    command = ["objcopy", "--add-section", f".hip_fatbin={tmp_path}/bundle", str(library(tmp_path / "plain.so"))]
    subprocess.run([*command, f"{tmp_path}/blas/libhipblaslt.so.1.0"], check=True)
    (tmp_path / "blas/libhipblaslt.so").symlink_to("libhipblaslt.so.1.0")

    objects = collect(want_archs=True)["objects"]

    assert [(each["path"], each["archs"]) for each in objects] == [(f"{tmp_path}/blas/libhipblaslt.so.1.0", ["gfx906"])]


def test_more_bundles_than_are_unpacked_hide_the_rest(
    collect: Callable[..., dict[str, Any]], tmp_path: Path, library: Callable[..., Path]
) -> None:
    bundle = compressed_bundle(offload_bundle({"hipv4-amdgcn-amd-amdhsa--gfx942": b"code"}), "zlib", 2)
    (tmp_path / "bundle").write_bytes(bundle * 201)
    command = ["objcopy", "--add-section", f".hip_fatbin={tmp_path}/bundle"]
    subprocess.run([*command, str(library(tmp_path / "plain.so")), f"{tmp_path}/librccl.so.1"], check=True)

    (found,) = collect(want_archs=True)["libraries"]

    assert (found["archs"], found["hidden"]) == (["gfx942"], ["compressed"])


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("method", ["zlib", "zstd"])
def test_architectures_are_read_from_compressed_bundles(
    method: str, version: int, collect: Callable[..., dict[str, Any]], tmp_path: Path, library: Callable[..., Path]
) -> None:
    bundle = offload_bundle({"hipv4-amdgcn-amd-amdhsa--gfx942": os.urandom(500_000)})
    (tmp_path / "bundle").write_bytes(compressed_bundle(bundle, method, version))
    command = ["objcopy", "--add-section", f".hip_fatbin={tmp_path}/bundle"]
    subprocess.run([*command, str(library(tmp_path / "plain.so")), f"{tmp_path}/librccl.so.1"], check=True)

    (found,) = collect(want_archs=True)["libraries"]

    assert (found["archs"], found["hidden"]) == (["gfx942"], [])


def compressed_bundle(bundle: bytes, method: str, version: int) -> bytes:
    """A bundle as clang compresses it."""
    packed = zlib.compress(bundle) if method == "zlib" else zstd(bundle)
    sizes = {1: "", 2: "I", 3: "Q"}[version], "Q" if version == 3 else "I"
    numbers = [len(packed), len(bundle)][-1 if version == 1 else 0 :]
    head = struct.pack("<4sHH" + "".join(sizes) + "Q", b"CCOB", version, method == "zstd", *numbers, 0)
    return head + packed


def zstd(data: bytes) -> bytes:
    """Compress with the library that dpkg needs."""
    library = ctypes.CDLL("libzstd.so.1")
    library.ZSTD_compress.restype = ctypes.c_size_t
    target = ctypes.create_string_buffer(len(data) + 10_000)
    size = library.ZSTD_compress(target, ctypes.c_size_t(len(target)), data, ctypes.c_size_t(len(data)), 3)
    return target.raw[:size]


def offload_bundle(entries: dict[str, bytes]) -> bytes:
    """A bundle of code objects as clang writes it, without compression."""
    head = b"__CLANG_OFFLOAD_BUNDLE__" + len(entries).to_bytes(8, "little")
    offset = len(head) + sum(24 + len(name) for name in entries)
    table, code = b"", b""
    for name, content in entries.items():
        for number in (offset + len(code), len(content), len(name)):
            table += number.to_bytes(8, "little")
        table += name.encode()
        code += content
    return head + table + code


def packed(text: str) -> bytes:
    """A text as MessagePack has it."""
    data = text.encode()
    return (bytes([0xA0 | len(data)]) if len(data) < 32 else bytes([0xD9, len(data)])) + data


def archive(path: Path, *archs: str) -> None:
    """A .kpack file with code for these architectures."""
    table = b"\x82" + packed("group_name") + packed("rccl_lib") + packed("gfx_arches")
    table += bytes([0x90 | len(archs)]) + b"".join(map(packed, archs))
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(struct.pack("<4sIQ", b"KPAK", 1, 64) + bytes(48) + table)


@pytest.fixture
def split(collect: Callable[..., dict[str, Any]], tmp_path: Path, library: Callable[..., Path]) -> Callable[..., Any]:
    """What is told of a library whose code lies where these search paths lead."""

    def find(*paths: str) -> tuple[list[str], list[str]]:
        reference = b"\x82" + packed("kernel_name") + packed("lib/librccl.so.1") + packed("kpack_search_paths")
        reference += bytes([0x90 | len(paths)]) + b"".join(map(packed, paths))
        (tmp_path / "reference").write_bytes(reference if paths else b"\x80")
        (tmp_path / "lib").mkdir()
        command = ["objcopy", "--add-section", f".rocm_kpack_ref={tmp_path}/reference"]
        subprocess.run([*command, str(library(tmp_path / "plain.so")), f"{tmp_path}/lib/librccl.so.1"], check=True)
        (found,) = collect(want_archs=True)["libraries"]
        return found["archs"], found["hidden"]

    return find


def test_architectures_of_a_split_library_are_those_of_its_archives(split: Callable[..., Any], tmp_path: Path) -> None:
    archive(tmp_path / ".kpack/rccl_lib_gfx942.kpack", "gfx942")
    archive(tmp_path / ".kpack/rccl_lib_gfx90a:xnack-.kpack", "gfx90a:xnack-")
    archive(tmp_path / ".kpack/rccl_lib_gfx950.kpack")
    archive(tmp_path / ".kpack/blas_lib_gfx1100.kpack", "gfx1100")

    assert split("../.kpack/rccl_lib_@GFXARCH@.kpack") == (["gfx90a:xnack-", "gfx942"], ["split"])


def test_an_archive_of_a_family_tells_what_it_holds(split: Callable[..., Any], tmp_path: Path) -> None:
    archive(tmp_path / ".kpack/rocm-gfx94X.kpack", "gfx942", "gfx940")

    assert split("../.kpack/rocm-gfx94X.kpack", "../.kpack/gone.kpack") == (["gfx940", "gfx942"], ["split"])


@pytest.mark.parametrize("content", [b"", b"KPAK", b"KPAK" + bytes([255] * 12), b"\0" * 100])
def test_damaged_archive_holds_nothing(content: bytes, split: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / ".kpack").mkdir()
    (tmp_path / ".kpack/rccl_lib_gfx942.kpack").write_bytes(content)

    assert split("../.kpack/rccl_lib_@GFXARCH@.kpack") == ([], ["split"])


def test_reference_that_names_no_archive_hides_the_code(split: Callable[..., Any]) -> None:
    assert split() == ([], ["kpack"])
