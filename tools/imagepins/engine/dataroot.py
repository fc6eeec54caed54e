"""An engine's own description → where its layers lie, and the room there."""

import os
from collections.abc import Mapping
from typing import Any

SYSTEM_CONTAINERD = "/run/containerd/containerd.sock"
SYSTEM_CONTAINERD_ROOT = "/var/lib/containerd"


def has_containerd_store(info: Mapping[str, Any]) -> bool:
    """Whether the engine whose ``/info`` this is keeps images in containerd's store."""
    driver_status = [tuple(pair) for pair in info.get("DriverStatus") or []]
    return ("driver-type", "io.containerd.snapshotter.v1") in driver_status


def layers_root(info: Mapping[str, Any]) -> str:
    """Directory that holds the layers of the engine whose ``/info`` this is; empty where it does not say."""
    if has_containerd_store(info) and (info.get("Containerd") or {}).get("Address") == SYSTEM_CONTAINERD:
        # Layers then lie with the system's containerd, which may be on another file system than Docker's own root.
        return SYSTEM_CONTAINERD_ROOT
    return str(info.get("DockerRootDir", ""))


def free_bytes(root: str) -> int | None:
    """Bytes a user can still write below ``root``, or None where that directory cannot be seen."""
    try:
        stat = os.statvfs(root)
    except OSError:
        return None
    return stat.f_bavail * stat.f_frsize
