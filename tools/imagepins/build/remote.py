"""References → whether registries hold them, asked side by side; tags moved inside a registry."""

from collections.abc import Iterable, Sequence

from imagepins.errors import NetworkError
from imagepins.parallel import parallel
from imagepins.process import ProcessFailed, run
from imagepins.registry.answers import Answer, ImageConfig
from imagepins.registry.client import Client
from imagepins.registry.images import look_up, read_config

AT_ONCE = 8
"""Requests on their way at a time: enough to hide a registry's distance, few enough not to be limited for it."""


def ask(refs: Iterable[str]) -> dict[str, Answer]:
    """The registries' answers; what stays unknown after several tries is ``Unknown``, with the reason."""
    wanted = list(dict.fromkeys(refs))
    with Client() as client:
        return dict(zip(wanted, parallel(lambda ref: look_up(client, ref), wanted, at_once=AT_ONCE), strict=True))


def labels(ref: str, platform: str) -> dict[str, str]:
    """Labels of an image in a registry; empty where it is not there or cannot be read."""
    with Client() as client:
        found = read_config(client, ref, platform=platform)
    return dict(found.labels) if isinstance(found, ImageConfig) else {}


def retag(source: str, names: Sequence[str]) -> None:
    """Let ``names`` stand for ``source``, a reference by digest, within its registry. Raises NetworkError."""
    argv = ["docker", "buildx", "imagetools", "create", *(f"--tag={name}" for name in names), source]
    try:
        run(argv, timeout=120)
    except ProcessFailed as error:
        raise NetworkError(str(error)) from error
