"""Node and commit → the labels of an image: OCI's own, and all its pins with their hashes."""

import json
import os
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from imagepins.errors import UsageError
from imagepins.gitrepo.command import own_environment
from imagepins.labels import CONTENT_HASH, INPUTS, PINS, PINS_HASH, TARGET, pins_hash, pins_text
from imagepins.plan.content import pins_document
from imagepins.plan.graph import Node
from imagepins.process import ProcessFailed, run
from imagepins.terminal import to_stderr

INPUT_PATHS = ("images", ":(glob)*.j2")
"""What images are made from beside pins.yaml, as git pathspecs below its directory."""


@dataclass(frozen=True)
class Source:
    """Where the pins come from: repository, commit that last touched them, and its time in seconds since 1970."""

    url: str
    revision: str
    epoch: int


def read_source(root: Path, pins_name: str) -> Source:
    """Ask git about ``root``. Outside a repository revision and URL are empty and the time is 0.

    SOURCE_DATE_EPOCH of the environment wins over the commit's time, as everywhere. Raises UsageError for a wrong one.
    """
    paths = (pins_name, *INPUT_PATHS)
    commit, _, seconds = _git(root, "log", "-1", "--format=%H %ct", "--", *paths).partition(" ")
    dirty = "-dirty" if commit and _git(root, "status", "--porcelain", "--", *paths) else ""
    epoch = os.environ.get("SOURCE_DATE_EPOCH") or seconds or "0"
    if not re.fullmatch(r"\d{1,10}", epoch, re.ASCII):
        raise UsageError(f"SOURCE_DATE_EPOCH={epoch}: expected seconds since 1970; set that or unset it")
    return Source(_without_user(_git(root, "remote", "get-url", "origin")), commit + dirty, int(epoch))


def make_labels(node: Node, source: Source) -> dict[str, str]:
    """All labels of the node's image."""
    target = node.target
    pins = pins_document(target)
    labels = {
        "org.opencontainers.image.title": target.name,
        "org.opencontainers.image.source": source.url,
        "org.opencontainers.image.revision": source.revision,
        "org.opencontainers.image.created": datetime.fromtimestamp(source.epoch, UTC)
        .isoformat()
        .replace("+00:00", "Z"),
        "org.opencontainers.image.version": target.tags[0].rpartition("/")[2].partition(":")[2] or target.variant,
        PINS: pins_text(pins),
        PINS_HASH: pins_hash(pins),
        CONTENT_HASH: node.content,
        INPUTS: json.dumps(node.inputs, sort_keys=True, separators=(",", ":")),
        TARGET: target.name,
    }
    return {name: str(value) for name, value in labels.items() if value}


def _git(root: Path, *args: str) -> str:
    """What git says; nothing where it cannot. Where it will not, as in a container of another user, that is told."""
    try:
        return run(["git", "-C", str(root), *args], env=own_environment(), timeout=20).stdout.strip()
    except ProcessFailed as error:
        if "dubious ownership" in error.output and args[0] == "log":
            hint = f"git config --global --add safe.directory {root}"
            to_stderr(f"git does not trust the owner of {root}, so labels tell no revision: {hint}")
        return ""


def _without_user(url: str) -> str:
    """The URL without user and password, which a label would publish."""
    scheme, marker, rest = url.partition("://")
    head, slash, tail = rest.partition("/")
    return f"{scheme}{marker}{head.rpartition('@')[2]}{slash}{tail}" if marker else url
