"""The table of components: what to look for in an image, and the probe that turns what is there into claims.

To add a component: write one small function in ``probes`` (or take one that is there) and add one row here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from imagepins.verify import probes

if TYPE_CHECKING:
    from imagepins.pins.model import Pin, PypiPin
    from imagepins.verify.findings import Claim
    from imagepins.verify.observed import Observed


@dataclass(frozen=True)
class Component:
    """One kind of thing that a pin makes an image hold.

    ``libraries`` are the families whose mapped file is the component; ``companions`` come out of the same build.
    ``calls`` maps a version function to how it answers (``int*``, ``char*``); ``literals`` maps a name to a pattern
    that is searched in the library's data. ``distributions`` and ``modules`` are Python names, ``texts`` ends of paths
    of small files to read, and ``stated`` names that environments and labels use for the component's version.
    ``has_kernels``: its libraries hold GPU code, for each architecture that is promised.
    """

    name: str
    probe: Callable[[Observed, Component], Iterator[Claim]]
    libraries: tuple[str, ...] = ()
    companions: tuple[str, ...] = ()
    calls: Mapping[str, str] = field(default_factory=dict)
    literals: Mapping[str, str] = field(default_factory=dict)
    distributions: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    stated: tuple[str, ...] = ()
    has_kernels: bool = False

    @property
    def families(self) -> tuple[str, ...]:
        """All library families of the component."""
        return self.libraries + self.companions


HASH = r"\x00([0-9a-f]{7,12})[\x00\n]"

COMPONENTS: Mapping[str, Component] = {
    each.name: each
    for each in (
        Component(
            "hip",
            probes.hip,
            libraries=("libamdhip64.so",),
            companions=("libhsa-runtime64.so",),
            calls={"hipRuntimeGetVersion": "int*", "amd_dbgapi_get_git_hash": "char*"},
            literals={"hash": HASH},
            texts=("/share/hip/version",),
            stated=("HIP_VERSION",),
        ),
        Component("rocr", probes.rocr, libraries=("libhsa-runtime64.so",)),
        Component(
            "rccl",
            probes.rccl,
            libraries=("librccl.so",),
            calls={"ncclGetVersion": "int*"},
            literals={
                "banner": r"RCCL version ?:? ?(\d+\.\d+\.\d+)",
                "version": r"\x00(\d+\.\d+\.\d+)[\x00\n]",
                "ref": r"\x00((?:[\w./-]+:[0-9a-fA-F]{7}\+?)|Unknown ?)[\x00\n]",
            },
            stated=("NCCL_VERSION", "RCCL_VERSION"),
            has_kernels=True,
        ),
        Component("rocm-sdk", probes.rocm_sdk, distributions=("rocm-sdk-core",), texts=("therock_manifest.json",)),
        Component("torch", probes.torch, distributions=("torch",), modules=("torch",), texts=("/torch/version.py",)),
        Component("triton", probes.python_package, distributions=("triton", "pytorch-triton-rocm")),
        Component(
            "aiter",
            probes.python_package,
            distributions=("amd-aiter", "aiter"),
            modules=("aiter",),
            texts=("/aiter/_version.py",),
        ),
        Component(
            "mori",
            probes.python_package,
            distributions=("amd-mori", "amd-mori-nightly", "mori"),
            modules=("mori",),
            texts=("/mori/_version.py",),
        ),
        Component("vllm", probes.python_package, distributions=("vllm",), modules=("vllm",)),
        Component("sglang", probes.python_package, distributions=("sglang",), modules=("sglang",)),
        Component("flash-attn", probes.python_package, distributions=("flash-attn",), modules=("flash_attn",)),
        Component(
            "amdsmi",
            probes.amdsmi,
            libraries=("libamd_smi.so",),
            literals={"build": r"\x00(\d+\.\d+\.\d+(?:\.\d+)?\+[0-9a-f]{7,})[\x00\n]"},
            distributions=("amdsmi",),
        ),
    )
}


def component_of(pin: Pin) -> Component | None:
    """The row of the component table that the pin names, else the row of its own name."""
    return COMPONENTS.get(pin.component or pin.name)


def package_of(pin: PypiPin) -> Component:
    """What tells the version of a Python package that the table has no row for."""
    return Component(pin.name, probes.python_package, distributions=(pin.pypi,))
