"""GPU architectures, and how each consumer wants the list of them.

Every build system reads its own variable with its own separator; a list under the wrong name is ignored without a word
(LMCache/LMCache#3101), so the name and the separator stand here once.
"""

from collections.abc import Sequence
from dataclasses import dataclass

KNOWN = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1101", "gfx1150", "gfx1151", "gfx1200", "gfx1201", "gfx1250")
"""Architectures that some pinned component can be built for (vLLM's PYTORCH_ROCM_ARCH list, and SGLang's gfx1250)."""

GENERIC = {
    "gfx9-4-generic": ("gfx942", "gfx950"),
    "gfx11-generic": ("gfx1100", "gfx1101", "gfx1150", "gfx1151"),
    "gfx12-generic": ("gfx1200", "gfx1201"),
}
"""Targets whose code runs on several architectures of KNOWN (LLVM's AMDGPU user guide, generic processors)."""


@dataclass(frozen=True)
class Consumer:
    """Variable and separator that a build system reads the architectures from.

    ``only`` are the architectures it has kernels for, where those are not all: others are left out of its list.
    """

    variable: str
    separator: str
    only: tuple[str, ...] = ()


CONSUMERS = {
    "aiter": Consumer("GPU_ARCHS", ";", ("gfx942", "gfx950", "gfx1250")),
    "deepep": Consumer("PYTORCH_ROCM_ARCH", ";", ("gfx942", "gfx950")),
    "fast-hadamard": Consumer("PYTORCH_ROCM_ARCH", ";"),
    "flash-attention": Consumer("GPU_ARCHS", ";", ("gfx90a", "gfx942", "gfx950")),
    "lmcache": Consumer("PYTORCH_ROCM_ARCH", ";", ("gfx942", "gfx950")),
    "mori": Consumer("MORI_GPU_ARCHS", ";", ("gfx942", "gfx950", "gfx1250")),
    "pytorch": Consumer("PYTORCH_ROCM_ARCH", ";"),
    "rccl": Consumer("GPU_TARGETS", ";"),
    "sglang": Consumer("AMDGPU_TARGET", " "),
    "shell": Consumer("ROCM_DEVICE_ARCH_LIST", " "),
    "tensorflow": Consumer("TF_ROCM_AMDGPU_TARGETS", ","),
}


def joined(consumer: str, archs: Sequence[str]) -> str:
    """The architectures as ``consumer`` reads them.

    Raises KeyError for a consumer that has no row in CONSUMERS, ValueError where it has kernels for none of ``archs``.
    """
    row = CONSUMERS[consumer]
    wanted = [arch for arch in archs if not row.only or arch.partition(":")[0] in row.only]
    if archs and not wanted:
        raise ValueError(f"{consumer} has kernels for {', '.join(row.only)}, and for none of {', '.join(archs)}")
    return row.separator.join(wanted)
