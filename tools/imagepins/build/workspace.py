"""Node → the files a build reads: its Dockerfile and a minimal context below ``build/``."""

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from imagepins.errors import BuildFailed
from imagepins.plan.context import describe
from imagepins.plan.graph import Node


@dataclass(frozen=True)
class Workspace:
    """The directory ``build/`` beside pins.yaml. Nothing in it is worth keeping."""

    root: Path

    @property
    def state(self) -> Path:
        """What is remembered of last builds."""
        return self.root / "state.json"

    def log(self, node: Node) -> Path:
        """Where the complete log of the node's last build stands."""
        return self.root / "logs" / f"{node.slug}.log"

    def bake_file(self, node: Node) -> Path:
        """The bake file of the node's build."""
        return self.root / "work" / node.slug / "bake.json"

    def metadata(self, node: Node) -> Path:
        """What buildx says of the result."""
        return self.root / "work" / node.slug / "metadata.json"

    def dockerfile(self, node: Node, part: Node) -> Path:
        """The Dockerfile of ``part``, which is built on the way to ``node`` or is the node itself."""
        return self.root / "work" / node.slug / part.slug / "Dockerfile"

    def context(self, node: Node, part: Node) -> Path:
        """The folder that is sent to the builder for ``part``."""
        return self.root / "work" / node.slug / part.slug / "context"

    def write(self, node: Node, parts: Iterable[Node], *, epoch: int) -> None:
        """Write Dockerfiles and contexts afresh; times become ``epoch``, as COPY carries them into layers.

        Modes of directories do not depend on this user's umask, for the same reason. Raises BuildFailed where a file is
        not what the content hash was made of: it would give the image another one's name.
        """
        shutil.rmtree(self.root / "work" / node.slug, ignore_errors=True)
        self.log(node).parent.mkdir(parents=True, exist_ok=True)
        for part in parts:
            context = self.context(node, part)
            context.mkdir(parents=True)
            self.dockerfile(node, part).write_text(part.dockerfile, encoding="utf-8", newline="")
            for each in part.files:
                copy = context / each.path
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(part.context_root / each.path, copy, follow_symlinks=False)
                if not copy.is_symlink():
                    copy.chmod(each.mode)
                if describe(context, copy) != each:
                    raise BuildFailed(f"{part.context_root / each.path} changed after the build began; start it again")
            for path in (context, *context.rglob("*")):
                if path.is_dir() and not path.is_symlink():
                    path.chmod(0o755)
                os.utime(path, (epoch, epoch), follow_symlinks=False)
