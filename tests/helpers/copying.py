"""A copy of this repository whose small real image has a tag of its own, so that nobody's ``debian_rocm`` moves."""

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from imagepins.process import run
from naming import own_name, remove_images

REPOSITORY = Path(__file__).parents[2]
_MADE_HERE = (".git", ".venv", "build", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis")
_TEMPLATE = "    template: images/debian_rocm/Dockerfile.j2\n"


@dataclass(frozen=True)
class Copy:
    """A git repository of one commit; ``name`` is what its ``debian_rocm`` is called at the engine."""

    root: Path
    name: str

    @property
    def ref(self) -> str:
        """The image as the copy tags it."""
        return f"{self.name}:trixie"

    @property
    def pins(self) -> Path:
        """The copy's pins.yaml."""
        return self.root / "pins.yaml"

    def build(self) -> None:
        """Build the image; what any run before has built at this engine is in its cache."""
        run([str(self.root / "tools/image"), "build", "debian_rocm"], cwd=self.root, timeout=800)

    def remove(self) -> None:
        """Remove the image under all its tags."""
        remove_images(self.name)


def _left_out(folder: str, names: list[str]) -> list[str]:
    """What work in the repository has made at its top, and bytecode anywhere."""
    return [name for name in names if name == "__pycache__" or (Path(folder) == REPOSITORY and name in _MADE_HERE)]


def copy_repository(root: Path) -> Copy:
    """Copy this repository as it lies here, committed or not, to ``root``, with the interpreter at hand."""
    shutil.copytree(REPOSITORY, root, ignore=_left_out, symlinks=True)
    made = Copy(root, own_name("rocm"))
    text = made.pins.read_text()
    assert _TEMPLATE in text
    made.pins.write_text(text.replace(_TEMPLATE, f'{_TEMPLATE}    tags: ["{made.ref}"]\n'))
    (root / ".venv").symlink_to(sys.prefix)
    run([str(root / "tools/image"), "render"], cwd=root)
    for argv in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", "copy"]):
        run(["git", *argv], cwd=root)
    return made
