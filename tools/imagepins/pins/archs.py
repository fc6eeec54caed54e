"""GPU architectures, and how each consumer wants the list of them.

Every build system reads its own variable with its own separator; a list under the wrong name is ignored without a word
(LMCache/LMCache#3101), so the name and the separator stand here once.
"""

from collections.abc import Sequence
from dataclasses import dataclass

KNOWN = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1101", "gfx1150", "gfx1151", "gfx1200", "gfx1201", "gfx1250")
"""Architectures that some pinned component can be built for (vLLM's PYTORCH_ROCM_ARCH list, and SGLang's gfx1250)."""


@dataclass(frozen=True)
class Consumer:
    """Variable and separator that a build system reads the architectures from."""

    variable: str
    separator: str


CONSUMERS = {
    "aiter": Consumer("GPU_ARCHS", ";"),
    "cmake": Consumer("GPU_TARGETS", ";"),
    "deepep": Consumer("PYTORCH_ROCM_ARCH", ";"),
    "fast-hadamard": Consumer("PYTORCH_ROCM_ARCH", ";"),
    "flash-attention": Consumer("GPU_ARCHS", ";"),
    "lmcache": Consumer("PYTORCH_ROCM_ARCH", ";"),
    "mooncake": Consumer("GPU_TARGETS", ";"),
    "mori": Consumer("GPU_ARCHS", ";"),
    "pytorch": Consumer("PYTORCH_ROCM_ARCH", ";"),
    "rccl": Consumer("GPU_TARGETS", ";"),
    "sglang": Consumer("AMDGPU_TARGET", " "),
    "shell": Consumer("ROCM_DEVICE_ARCH_LIST", " "),
    "tensorflow": Consumer("TF_ROCM_AMDGPU_TARGETS", ","),
}


def joined(consumer: str, archs: Sequence[str]) -> str:
    """The architectures as ``consumer`` reads them. Raises KeyError for a consumer that has no row in CONSUMERS."""
    return CONSUMERS[consumer].separator.join(archs)
