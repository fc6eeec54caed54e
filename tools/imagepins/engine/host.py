"""os-release → what kind of machine this is, and whether an engine can be installed on it."""

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Host:
    """A machine: its distribution, and whether this process may change it."""

    distribution: str
    like: tuple[str, ...]
    codename: str
    name: str
    is_root: bool
    has_systemd: bool
    has_apt: bool

    @property
    def is_debian(self) -> bool:
        """Whether packages of another Debian suite fit here."""
        return self.distribution == "debian"

    @property
    def debian_release(self) -> str | None:
        """Codename of the Debian release this is, or None on anything else."""
        return self.codename if self.is_debian else None

    @property
    def can_install(self) -> bool:
        """Whether ``up`` may install packages: Debian, Ubuntu or a derivative, as root."""
        is_family = bool({"debian", "ubuntu"} & {self.distribution, *self.like})
        return is_family and self.has_apt and self.is_root


def read_host(root: Path = Path("/")) -> Host:
    """Read the machine below ``root``; a machine without os-release is of an unknown kind, never an error."""
    facts = _os_release(root)
    return Host(
        distribution=facts.get("ID", "unknown"),
        like=tuple(facts.get("ID_LIKE", "").split()),
        codename=facts.get("VERSION_CODENAME", ""),
        name=facts.get("PRETTY_NAME", "this system"),
        is_root=os.geteuid() == 0,
        has_systemd=(root / "run/systemd/system").is_dir(),
        has_apt=(root / "usr/bin/apt-get").exists(),
    )


def how_to_install(host: Host) -> str:
    """Return two lines that say what to install on a machine where ``up`` does not install."""
    if {"debian", "ubuntu"} & {host.distribution, *host.like}:
        return (
            f"{host.name}: run this as root (sudo tools/engine up), or ask an administrator to install\n"
            "Docker Engine 23.0 or later and its buildx plugin, and to add you to the group docker."
        )
    return (
        f"{host.name}: install Docker Engine 23.0 or later and its buildx plugin (https://docs.docker.com/engine/install),\n"
        "start it, and check with tools/engine status; DOCKER_HOST may also name an engine on another machine."
    )


def _os_release(root: Path) -> dict[str, str]:
    for name in ("etc/os-release", "usr/lib/os-release"):
        try:
            text = (root / name).read_text(encoding="utf-8")
        except OSError:
            continue
        pairs = (line.partition("=") for line in text.splitlines() if not line.startswith("#"))
        return {key.strip(): value.strip().strip("\"'") for key, _, value in pairs if value}
    return {}
