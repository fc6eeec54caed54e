"""Names in the engine, which other runs of the tests and people share."""

import os
import secrets
from collections.abc import Mapping

from imagepins.process import run


def own_name(purpose: str) -> str:
    """A name for repositories and containers that no other test, run or machine at the same engine uses."""
    return f"imagepins-test-{purpose}-{secrets.token_hex(6)}"


def images_named(pattern: str, *, env: Mapping[str, str] | None = None) -> list[str]:
    """References of the images whose repository, in any registry or folder, is ``pattern``; ``*`` is any text but /.

    The engine is asked for these alone: a list of all images fails where somebody removes one of them meanwhile.
    """
    filters = [f"--filter=reference={folders}{pattern}" for folders in ("", "*/", "*/*/", "*/*/*/")]
    layout = "{{.Repository}} {{.Tag}} {{.Digest}}"
    argv = ["docker", "image", "ls", "--digests", *filters, "--format", layout]
    rows = [line.split() for line in run(argv, env={**os.environ, **(env or {})}).stdout.splitlines()]
    return sorted({f"{name}@{digest}" if tag == "<none>" else f"{name}:{tag}" for name, tag, digest in rows})


def remove_images(*patterns: str) -> None:
    """Remove what ``images_named`` finds.

    By name and never by id: an id would take the base image with it where a test gave that a name.
    """
    if found := [ref for pattern in patterns for ref in images_named(pattern)]:
        run(["docker", "image", "rm", "--force", *found], check=False)
