"""Environment and client configuration → the engine the docker client would talk to."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

DEFAULT_SOCKET = "/var/run/docker.sock"


@dataclass(frozen=True)
class Endpoint:
    """Where an engine listens, and what chose it (``DOCKER_HOST``, ``context NAME``, ``default``)."""

    host: str
    chosen_by: str

    @property
    def socket(self) -> str | None:
        """Path of the unix socket, or None for an engine reached over tcp or ssh."""
        return self.host.removeprefix("unix://") if self.host.startswith("unix://") else None

    @property
    def is_default(self) -> bool:
        """Whether this is the engine of this machine, the only one this tool installs or starts."""
        return self.socket in (DEFAULT_SOCKET, "/run/docker.sock")


def config_dir(env: Mapping[str, str] | None = None) -> Path:
    """Return the directory of the docker client's configuration."""
    env = os.environ if env is None else env
    return Path(env.get("DOCKER_CONFIG") or Path(env.get("HOME", "/root")) / ".docker")


def read_config(env: Mapping[str, str] | None = None) -> dict[str, object]:
    """Return the docker client's configuration; empty where there is none, or none that can be read."""
    try:
        text = (config_dir(env) / "config.json").read_text(encoding="utf-8")
    except OSError:
        return {}
    return _json_object(text)


def find_endpoint(env: Mapping[str, str] | None = None) -> Endpoint:
    """Return the engine the docker client would use: DOCKER_HOST, DOCKER_CONTEXT, current context, default."""
    env = os.environ if env is None else env
    if env.get("DOCKER_HOST"):
        return Endpoint(env["DOCKER_HOST"], "DOCKER_HOST")
    name = env.get("DOCKER_CONTEXT") or str(read_config(env).get("currentContext") or "default")
    host = _context_host(name, env) if name != "default" else None
    if host is None:
        return Endpoint(f"unix://{DEFAULT_SOCKET}", "default")
    return Endpoint(host, f"context {name}")


def _context_host(name: str, env: Mapping[str, str]) -> str | None:
    from hashlib import sha256

    meta = config_dir(env) / "contexts" / "meta" / sha256(name.encode()).hexdigest() / "meta.json"
    try:
        endpoints = _json_object(meta.read_text(encoding="utf-8")).get("Endpoints")
    except OSError:
        return None
    docker = endpoints.get("docker") if isinstance(endpoints, dict) else None
    host = docker.get("Host") if isinstance(docker, dict) else None
    return str(host) if host else None


def _json_object(text: str) -> dict[str, object]:
    import json

    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
