"""Machine → Status: what is there of an engine, and what is missing."""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from imagepins.engine.base import Base, find_base
from imagepins.engine.client import MIN_BUILDX, find_buildx, find_client, version_tuple
from imagepins.engine.dataroot import free_bytes, has_containerd_store, layers_root
from imagepins.engine.dockercli import api_mismatch, client_version, info_facts, version_facts
from imagepins.engine.endpoint import Endpoint, find_endpoint
from imagepins.engine.origin import BASE_REF
from imagepins.engine.usable import Problem, find_problem
from imagepins.errors import ImagePinsError

CHECK_ENGINE = (27, 0)
"""First engine whose BuildKit answers ``build --check``."""
ENGINE_KINDS = ("not-installed", "not-running", "unreachable", "denied", "silent")


@dataclass(frozen=True)
class Engine:
    """An engine that answers. ``free_bytes`` is None where its data root is not on this machine."""

    version: str
    api_version: str
    min_api_version: str
    platform: str
    storage_driver: str
    containerd_store: bool
    data_root: str
    free_bytes: int | None


@dataclass(frozen=True)
class Program:
    """A program of the client side: where it is and its version (empty where it did not say)."""

    path: str
    version: str


@dataclass(frozen=True)
class Status:
    """What is there. ``problem`` is the one sentence that keeps it from being usable; ``missing`` lists wishes too."""

    endpoint: Endpoint
    problem: str | None
    engine: Engine | None
    client: Program | None
    buildx: Program | None
    base: Base | None
    missing: tuple[str, ...]

    @property
    def is_usable(self) -> bool:
        """Whether images can be built with it."""
        return self.problem is None

    def to_json(self) -> dict[str, Any]:
        """Return the document ``tools/engine status --json`` prints."""
        return {"usable": self.is_usable, **asdict(self), "missing": list(self.missing)}


def read_status(env: Mapping[str, str] | None = None) -> Status:
    """Ask the machine, the client and the engine. Never raises for what is missing: that is the answer."""
    env = os.environ if env is None else env
    endpoint = find_endpoint(env)
    problem = find_problem(env)
    client, plugin = find_client(), find_buildx(env)
    if client is None or (problem and problem.kind in ENGINE_KINDS):
        own = Program(client, client_version()) if client else None
        return _status(endpoint, problem, client=own, buildx=Program(plugin, "") if plugin else None)
    try:
        said, server, complaint = version_facts()
        info = info_facts() if server else {}
        base = find_base(BASE_REF) if server else None
    except ImagePinsError as error:
        return _status(endpoint, problem or Problem("silent", str(error)), client=Program(client, ""))
    mismatch = api_mismatch(complaint)
    if mismatch:
        problem = Problem("api", mismatch)
    return _status(
        endpoint,
        problem,
        engine=_engine(server, info, endpoint) if server else None,
        client=Program(client, str(said.get("Version", ""))),
        buildx=_buildx(plugin, info),
        base=base,
    )


def _status(
    endpoint: Endpoint,
    problem: Problem | None,
    *,
    engine: Engine | None = None,
    client: Program | None = None,
    buildx: Program | None = None,
    base: Base | None = None,
) -> Status:
    missing = (
        "Docker engine" if problem and problem.kind in ENGINE_KINDS else "",
        "docker client" if client is None else "",
        "" if buildx and _is_new_enough(buildx) else f"buildx {'.'.join(map(str, MIN_BUILDX))} or newer",
        "build --check (Docker Engine 27.0)" if engine and version_tuple(engine.version) < CHECK_ENGINE else "",
        "containerd image store" if engine and not engine.containerd_store else "",
        f"{BASE_REF} (tools/engine base)" if engine and base is None else "",
    )
    text = problem.text if problem else None
    return Status(endpoint, text, engine, client, buildx, base, tuple(name for name in missing if name))


def _is_new_enough(buildx: Program) -> bool:
    # One that does not tell its version, as a build from source, is taken at its word.
    return (version_tuple(buildx.version.removeprefix("v")) or MIN_BUILDX) >= MIN_BUILDX


def _engine(server: Mapping[str, Any], info: Mapping[str, Any], endpoint: Endpoint) -> Engine:
    root = layers_root(info)
    return Engine(
        version=str(server.get("Version", "")),
        api_version=str(server.get("ApiVersion", "")),
        min_api_version=str(server.get("MinAPIVersion", "")),
        platform=f"{server.get('Os', '')}/{server.get('Arch', '')}",
        storage_driver=str(info.get("Driver", "")),
        containerd_store=has_containerd_store(info),
        data_root=root,
        free_bytes=free_bytes(root) if endpoint.socket else None,
    )


def _buildx(path: str | None, info: Mapping[str, Any]) -> Program | None:
    if path is None:
        return None
    plugins = (info.get("ClientInfo") or {}).get("Plugins") or []
    versions = [str(plugin.get("Version", "")) for plugin in plugins if plugin.get("Name") == "buildx"]
    return Program(path, versions[0] if versions else "")
