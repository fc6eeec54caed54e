"""Machine → the docker programs on it: client, buildx plugin, daemon."""

import os
from collections.abc import Mapping
from pathlib import Path

from imagepins.engine.endpoint import config_dir, read_config

PLUGIN_DIRS = (
    "/usr/local/lib/docker/cli-plugins",
    "/usr/local/libexec/docker/cli-plugins",
    "/usr/lib/docker/cli-plugins",
    "/usr/libexec/docker/cli-plugins",
)
MIN_BUILDX = (0, 17)
"""First version whose ``bake`` takes ``--allow``; ``build --check`` came with 0.15."""
SYSTEM_DIRS = ("/usr/local/sbin", "/usr/sbin", "/sbin")


def system_path() -> str:
    """Return PATH with the directories of system programs, which a plain user's PATH often lacks."""
    path = os.environ.get("PATH", os.defpath)
    return os.pathsep.join([path, *(name for name in SYSTEM_DIRS if name not in path.split(os.pathsep))])


def find_client() -> str | None:
    """Return the docker client on PATH, or None."""
    return _which("docker", os.environ.get("PATH", os.defpath))


def find_program(name: str) -> str | None:
    """Return the path of a program, system directories included, or None."""
    return _which(name, system_path())


def find_buildx(env: Mapping[str, str] | None = None) -> str | None:
    """Return the buildx plugin the docker client would run, or None. Looks, and starts nothing."""
    extra = read_config(env).get("cliPluginsExtraDirs")
    dirs = [*(extra if isinstance(extra, list) else []), config_dir(env) / "cli-plugins", *PLUGIN_DIRS]
    plugins = (Path(str(name)) / "docker-buildx" for name in dirs)
    return next((str(plugin) for plugin in plugins if _is_program(plugin)), None)


def version_tuple(text: str) -> tuple[int, ...]:
    """Return the leading numbers of a version: ``28.5.2+dfsg4-5`` → (28, 5, 2), ``1:0.13.1+ds1`` → (0, 13, 1)."""
    numbers: list[int] = []
    for part in text.rpartition(":")[2].split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
        if digits != part:
            break
    return tuple(numbers)


def _which(name: str, path: str) -> str | None:
    # shutil.which, without the archive modules that importing shutil costs on the fast path
    candidates = (Path(directory or ".") / name for directory in path.split(os.pathsep))
    return next((str(program) for program in candidates if _is_program(program)), None)


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
