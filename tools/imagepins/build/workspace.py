"""Node → the files a build reads: its Dockerfile and a minimal context below ``build/``."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from imagepins.plan.graph import Node


@dataclass(frozen=True)
class Workspace:
    """The directory ``build/`` beside pins.yaml. Nothing in it is worth keeping."""

    root: Path

    def log(self, node: Node) -> Path:
        """Where the complete log of the node's last build stands."""
        return self.root / "logs" / f"{node.slug}.log"

    def dockerfile(self, node: Node) -> Path:
        """The Dockerfile as it is built."""
        return self.root / "work" / node.slug / "Dockerfile"

    def context(self, node: Node) -> Path:
        """The folder that is sent to the builder."""
        return self.root / "work" / node.slug / "context"

    def bake_file(self, node: Node) -> Path:
        """The bake file of the node's build."""
        return self.root / "work" / node.slug / "bake.json"

    def metadata(self, node: Node) -> Path:
        """What buildx says of the result."""
        return self.root / "work" / node.slug / "metadata.json"

    def write(self, node: Node, *, epoch: int) -> None:
        """Write Dockerfile and context afresh. Times are set to ``epoch``, as COPY would carry them into layers."""
        context = self.context(node)
        shutil.rmtree(context.parent, ignore_errors=True)
        context.mkdir(parents=True)
        self.dockerfile(node).write_text(node.dockerfile, newline="")
        self.log(node).parent.mkdir(parents=True, exist_ok=True)
        for each in node.files:
            copy = context / each.path
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(node.context_root / each.path, copy, follow_symlinks=False)
            os.utime(copy, (epoch, epoch), follow_symlinks=False)
