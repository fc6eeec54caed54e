"""Kept git checkouts → their HEAD and whether their files were changed since.

HEAD is read as a file, so neither git nor its idea of safe ownership is needed for it.
"""

from __future__ import annotations

import os
import re

from imagepins.verify.collector.children import Child, execute
from imagepins.verify.collector.paths import read_text, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Git's own configuration must not start anything (fsmonitor, hooks) or write.
STATUS = (
    *("git", "-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"),
    *("--no-optional-locks", "status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all"),
)


def describe_checkout(path: str) -> dict[str, Any]:
    """HEAD (empty where it cannot be told) and the remote URLs of the checkout whose ``.git`` is ``path``."""
    folder = _git_folder(path)
    config = read_text(os.path.join(folder, "config"))
    return {
        "path": shown(os.path.dirname(path)),
        "head": _head(folder),
        "remotes": re.findall(r"(?m)^\s*url\s*=\s*(\S+)", config)[:10],
    }


def start_status(path: str, seconds: float) -> Child | None:
    """Start git, where the image has one, to tell whether the checkout is dirty."""
    places = os.environ.get("PATH", os.defpath).split(os.pathsep)
    if not any(os.access(os.path.join(place, "git"), os.X_OK) for place in places):
        return None
    env = dict(os.environ, GIT_CONFIG_NOSYSTEM="1", GIT_CONFIG_GLOBAL="/dev/null", HOME="/nonexistent")
    argv = [STATUS[0], "-C", os.path.dirname(path), *STATUS[1:]]
    return execute({"path": shown(os.path.dirname(path))}, argv, seconds, env)


def _git_folder(path: str) -> str:
    if os.path.isdir(path):
        return path
    target = read_text(path).strip()
    return os.path.join(os.path.dirname(path), target[8:]) if target.startswith("gitdir: ") else path


def _head(folder: str) -> str:
    head = read_text(os.path.join(folder, "HEAD")).strip()
    if not head.startswith("ref: "):
        return head if re.fullmatch(r"[0-9a-f]{40,64}", head) else ""
    ref = head[5:]
    common = os.path.join(folder, read_text(os.path.join(folder, "commondir")).strip())
    loose = read_text(os.path.join(common, ref)).strip()
    if loose:
        return loose
    packed = re.search(rf"(?m)^([0-9a-f]{{40,64}}) {re.escape(ref)}$", read_text(os.path.join(common, "packed-refs")))
    return packed.group(1) if packed else ""
