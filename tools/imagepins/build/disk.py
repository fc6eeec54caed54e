"""Sizes of last builds and free space → an error before a build that cannot fit (actions/runner-images#10237)."""

import json
from collections.abc import Iterable, Mapping

from imagepins.build.state import LastBuild
from imagepins.engine import unixhttp
from imagepins.engine.dataroot import free_bytes, layers_root
from imagepins.engine.endpoint import find_endpoint
from imagepins.errors import BuildFailed


def check_space(names: Iterable[str], state: Mapping[str, LastBuild]) -> None:
    """Raise BuildFailed where the engine's disk has less room than these targets took when they were last built."""
    sizes = {name: state[name].size or 0 for name in names if name in state}
    if not any(sizes.values()):
        return
    root = local_root()
    free = free_bytes(root)
    needed = sum(sizes.values())
    if free is not None and free < needed:
        rows = ", ".join(f"{name} {size / 1e9:.1f} GB" for name, size in sizes.items() if size)
        raise BuildFailed(
            f"{root} has {free / 1e9:.1f} GB free, and the last builds took {needed / 1e9:.1f} GB ({rows}); "
            "free space (docker system df shows what takes it) or build fewer targets"
        )


def local_root() -> str:
    """Where the engine keeps its layers, or empty where that is not on this machine or it does not say."""
    socket = find_endpoint().socket
    if socket is None:
        return ""
    try:
        return layers_root(json.loads(unixhttp.get(socket, "/info", timeout=10).body))
    except (OSError, ValueError):
        return ""
