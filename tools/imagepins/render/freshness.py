"""Which rendered Dockerfiles are not what pins.yaml and the templates give now."""

from collections.abc import Mapping
from difflib import unified_diff
from pathlib import Path

from imagepins.errors import PinsError
from imagepins.pins.model import PinSet


def stale(texts: Mapping[str, str], root: Path) -> list[str]:
    """Paths whose file differs from ``texts`` or is missing."""
    return [path for path, text in texts.items() if read(root, path) != text]


def read(root: Path, path: str) -> str | None:
    """Text of a rendered file with its line ends, or None where there is none. Raises PinsError."""
    try:
        return (root / path).read_bytes().decode(errors="replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise PinsError(f"{path}: cannot be read: {error.strerror}; it is to be a rendered file") from None


def difference(root: Path, path: str, text: str) -> str:
    """Unified diff from the file as it stands to ``text``."""
    before = (read(root, path) or "").splitlines(keepends=True)
    return "".join(unified_diff(before, text.splitlines(keepends=True), f"a/{path}", f"b/{path}"))


def strays(pinset: PinSet, root: Path) -> list[str]:
    """Rendered Dockerfiles below ``root`` that belong to no target any more."""
    found = (path.relative_to(root).as_posix() for path in sorted(root.glob("images/*/*/Dockerfile")))
    known = {target.dockerfile for target in pinset.targets.values()}
    return [path for path in found if path not in known]
