"""Sizes of last builds and free space → an error before a build that cannot fit (actions/runner-images#10237)."""

import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from imagepins.build.state import LastBuild
from imagepins.engine import unixhttp
from imagepins.engine.endpoint import find_endpoint
from imagepins.errors import BuildFailed


def check_space(names: Iterable[str], state: Mapping[str, LastBuild]) -> None:
    """Raise BuildFailed where the engine's disk has less room than these targets took when they were last built."""
    sizes = {name: state[name].size or 0 for name in names if name in state}
    if not any(sizes.values()):
        return
    root = data_root()
    free = shutil.disk_usage(root).free if root else None
    needed = sum(sizes.values())
    if free is not None and free < needed:
        rows = ", ".join(f"{name} {size / 1e9:.1f} GB" for name, size in sizes.items() if size)
        raise BuildFailed(
            f"{root} has {free / 1e9:.1f} GB free, and the last builds took {needed / 1e9:.1f} GB ({rows}); "
            "free space (docker system df shows what takes it) or build fewer targets"
        )


def data_root() -> Path | None:
    """Where the local engine keeps its images, or None where that is not on this machine."""
    endpoint = find_endpoint()
    if endpoint.socket is None:
        return None
    try:
        answer = json.loads(unixhttp.get(endpoint.socket, "/info", timeout=10).body)
    except (OSError, ValueError):
        return None
    path = Path(str(answer.get("DockerRootDir", "")))
    return path if path.is_absolute() and path.is_dir() else None
