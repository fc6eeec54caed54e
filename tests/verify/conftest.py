"""Images that lie, and honest ones with oddities: built in one go from small libraries, on the real engine."""

import json
import os
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from imagepins.pins.load import load
from imagepins.pins.model import PinSet
from imagepins.process import run
from imagepins.verify.collector.walk import family_pattern
from imagepins.verify.findings import Report
from imagepins.verify.keeper import Keeper
from imagepins.verify.run import Options, verify_target
from imagepins.verify.source import collector_source
from naming import own_name

HERE = Path(__file__).parent / "sabotage"
REPOSITORY = own_name("verify")
HIP = ["-DHIP=71626361", '-DHASH="25e14349f2"', '-DARCHS="amdgcn-amd-amdhsa--gfx942\\0amdgcn-amd-amdhsa--gfx950"']
RCCL = ["-DRCCL=23203", '-DVERSION="2.32.3"', '-DREFERENCE="HEAD:1c0ab42"', HIP[2]]
OLD = ["-DRCCL=22707", '-DVERSION="2.27.7"', '-DREFERENCE="HEAD:0d2c4fd"', HIP[2]]
WAVE = 25
"""Targets of one bake. Of many more the engine loses some while it is busy: "no such job"."""

LIBRARIES: dict[str, list[str]] = {
    "hip": HIP,
    "hip-stock": ["-DHIP=71526333", '-DHASH="0000000"', HIP[2]],
    "hip-zeros": ["-DHIP=71626361", '-DHASH="0000000000"', HIP[2]],
    "hip-old-gate": ["-DHIP=71526333", '-DHASH="25e14349f2"', HIP[2]],
    "hip-hangs": [*HIP, "-DHANG"],
    "rccl": RCCL,
    "rccl-again": [*RCCL, "-DNEEDLESS=1", "-O3", "-Wl,--build-id=0x1234"],
    "rccl-one-tree": [*RCCL, "-Wl,--build-id=0xabcd1234", "-Wl,-rpath,/opt/rocm/lib"],
    "rccl-other-tree": [*RCCL, "-Wl,--build-id=0xabcd1234", "-Wl,-rpath,/opt/core/lib"],
    "rccl-old": OLD,
    "rccl-dirty": [*RCCL[:2], '-DREFERENCE="HEAD:1c0ab42+"', HIP[2]],
    "rccl-unknown": [*RCCL[:2], '-DREFERENCE="Unknown "', HIP[2]],
    "rccl-other-commit": [*RCCL[:2], '-DREFERENCE="HEAD:7da4302"', HIP[2]],
    "rccl-lying-literal": [*OLD[:1], *RCCL[1:]],
    "rccl-wrong-arch": [*RCCL[:3], '-DARCHS="amdgcn-amd-amdhsa--gfx906"'],
    "rccl-extra-arch": [*RCCL[:3], HIP[2][:-1] + '\\0amdgcn-amd-amdhsa--gfx1100"'],
    "rccl-crashes": [*RCCL, "-DCRASH"],
    "rccl-noisy": [*RCCL, "-DNOISE"],
    "rccl-undefined": [*RCCL, "-DUNDEFINED"],
}


@dataclass(frozen=True)
class Lab:
    """Where images are built from; ``built`` are their names."""

    context: Path
    built: list[str] = field(default_factory=list)

    def ref(self, name: str) -> str:
        """The reference of an image built here."""
        return f"{REPOSITORY}:{name}"

    def build(self, stages: dict[str, str]) -> None:
        """Build every stage, on top of the honest image unless it names another base."""
        head = (HERE / "Dockerfile").read_text()
        (self.context / "Dockerfile").write_text(head + "".join(f"\n{_stage(*item)}\n" for item in stages.items()))
        targets = {name: {"context": ".", "target": name, "tags": [self.ref(name)]} for name in stages}
        bake = self.context / "bake.json"
        bake.write_text(json.dumps({"target": targets}))
        self.built.extend(targets)
        command = ["docker", "buildx", "bake", "--load", "--provenance=false", "--file", bake.name]
        env = {**os.environ, "BUILDX_NO_DEFAULT_ATTESTATIONS": "1"}
        for at in range(0, len(targets), WAVE):
            run([*command, *list(targets)[at : at + WAVE]], cwd=self.context, env=env, timeout=800)


def _stage(name: str, lines: str) -> str:
    return lines.replace("AS SELF", f"AS {name}") if "AS SELF" in lines else f"FROM honest AS {name}\n{lines}"


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """The build context, with all libraries compiled; the images are removed in the end."""
    context = tmp_path_factory.mktemp("sabotage")
    for name, flags in LIBRARIES.items():
        soname = "libamdhip64.so.7" if name.startswith("hip") else "librccl.so.1"
        compile_library(context / f"{name}.so", *flags, f"-Wl,-soname,{soname}")
    for name, tags in {"rpath": "-Wl,--disable-new-dtags", "runpath": "-Wl,--enable-new-dtags"}.items():
        needs = ["-Wl,--no-as-needed", str(context / "rccl.so"), str(context / "hip.so")]
        compile_library(context / f"torch-{name}.so", *needs, tags, "-Wl,-rpath,$ORIGIN")
    compile_library(context / "hook.so", *OLD, "-Wl,-soname,libhook.so")
    compile_library(context / "torch-static.so", *OLD, "-Wl,-soname,libtorch_hip.so")
    compile_library(context / "torch-none.so")
    compile_library(context / "librccl_stock.so.1", *OLD, "-Wl,-soname,librccl_stock.so.1")
    needs = ["-Wl,--no-as-needed", str(context / "librccl_stock.so.1"), str(context / "hip.so")]
    compile_library(context / "torch-other.so", *needs, "-Wl,-rpath,$ORIGIN")
    (context / "rccl-malformed.so").write_bytes(with_soname_beyond_the_file((context / "rccl.so").read_bytes()))
    made = Lab(context)
    yield made
    run(["docker", "rmi", "--force", *map(made.ref, made.built)], check=False, timeout=120)


def compile_library(path: Path, *flags: str) -> None:
    """Compile the stand-in library with these flags."""
    command = ["gcc", "-shared", "-fPIC", "-w", "-o", str(path), str(HERE / "library.c"), *flags]
    run(command)


def with_soname_beyond_the_file(data: bytes) -> bytes:
    """An object whose dynamic section places its soname where no file reaches."""
    soname, changed = 14, bytearray(data)
    (table,), (count,) = struct.unpack_from("<Q", data, 32), struct.unpack_from("<H", data, 56)
    for index in range(count):
        kind, _, offset, _, _, size = struct.unpack_from("<IIQQQQ", data, table + 56 * index)
        for place in range(offset, offset + size, 16) if kind == 2 else ():
            if struct.unpack_from("<Q", data, place) == (soname,):
                struct.pack_into("<Q", changed, place + 8, 2**63 + 5)
    return bytes(changed)


@pytest.fixture(scope="session")
def pins() -> PinSet:
    """The pins that all these images claim to be built from."""
    return load(HERE / "pins.yaml")


@pytest.fixture(scope="session")
def verify_image(pins: PinSet, lab: Lab) -> Callable[..., Report]:
    """Verify an image of the lab as one of the pins."""

    def verify(name: str, *, image: str = "serving", **options: object) -> Report:
        settings = replace(Options(ref=lab.ref(name)), **options)  # type: ignore[arg-type]
        with Keeper() as keeper:
            return verify_target(pins, pins.targets[f"{image}/plain"], settings, keeper)

    return verify


def family(stem: str, **calls: str) -> dict[str, Any]:
    """A library family as a request has it."""
    literals = {"version": r"\x00(\d+\.\d+\.\d+)[\x00\n]", "ref": r"\x00([\w./-]+:[0-9a-f]{7}\+?)[\x00\n]"}
    return {"stems": [stem], "pattern": family_pattern([stem]), "calls": calls, "literals": literals}


@pytest.fixture
def collect(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Run the collector over ``tmp_path`` and return its document; one that is whole has no errors."""

    def run(
        *, python: str = sys.executable, env: dict[str, str] | None = None, is_whole: bool = True, **wanted: object
    ) -> dict[str, Any]:
        request = {
            "root": str(tmp_path),
            "seconds": 300,
            "load_seconds": 120,
            "python": python,
            "families": {"librccl.so": family("librccl.so", ncclGetVersion="int*")},
            "loads": [],
            "modules": [],
            "texts": [],
            "packages": [],
            "distributions": [],
            "programs": [],
            "records": f"{tmp_path}/records",
            "want_archs": False,
            "want_checkouts": False,
            "want_devices": False,
            "questions": [],
            **wanted,
        }
        argv = [python, "-X", "utf8", "-I", "-S", "-c", collector_source(), "collect", "MARK", json.dumps(request)]
        done = subprocess.run(argv, capture_output=True, env={**os.environ, **(env or {})}, check=False, timeout=400)
        assert done.stderr == b""
        document: dict[str, Any] = json.loads(done.stdout.split(b"MARK")[1])
        assert not is_whole or document["errors"] == []
        return document

    return run


@pytest.fixture
def library() -> Callable[..., Path]:
    """Compiles a stand-in for librccl at a path."""

    def make(path: Path, *flags: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        compile_library(path, *RCCL[:3], "-Wl,-soname,librccl.so.1", *flags)
        return path

    return make
