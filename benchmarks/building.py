"""Builds through the tool against bare ``docker buildx bake`` of the same files."""

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import urlopen

from harness import REPOSITORY, Result, command, ratio, seconds

PREFIX = f"imagepins-bench-{os.getpid()}"
SMALL = "FROM scratch\nCOPY f /f\n"
REAL = "FROM debian:trixie-slim\nRUN perl -e 'for (1..15e7) { $x += $_ }' && head -c 100m /dev/urandom >/data\n"


class Project:
    """``count`` images of one Dockerfile text, the tool on them, and bake on the files the tool wrote."""

    def __init__(self, root: Path, text: str, count: int) -> None:
        self.root = root
        self.count = count
        (root / "app.j2").write_text(text)
        images = ""
        for number in range(count):
            images += f"  {PREFIX}-{number}:\n    template: app.j2\n    pins: []\n    variants: {{v: {{}}}}\n"
            context = root / f"images/{PREFIX}-{number}/context"
            context.mkdir(parents=True)
            (context / "f").write_text(f"{number}\n")
        pins = "  none: {apt: none, version: '1', suite: trixie}\n"
        (root / "pins.yaml").write_text(f"schema: 1\npins:\n{pins}images:\n{images}")

    def tool(self, *args: str) -> list[str]:
        """``tools/image ARGS`` on this project."""
        return [str(REPOSITORY / "tools/image"), *args, "--pins", str(self.root / "pins.yaml")]

    def bake(self, *args: str) -> list[str]:
        """Bare bake of all targets, from the files of the tool's last build."""
        files = [str(self.root / f"build/work/{PREFIX}-{number}-v/bake.json") for number in range(self.count)]
        named = [f"{PREFIX}-{number}-v" for number in range(self.count)]
        options = [part for file in files for part in ("--file", file)]
        return ["docker", "buildx", "bake", "--allow", "fs.read=*", *options, *args, *named]


def results() -> Iterator[Result]:
    """An unchanged tree of 20 targets, with and without a registry, and one real build."""
    with TemporaryDirectory(prefix="imagepins-bench-") as directory, _registry(Path(directory)) as registry:
        try:
            yield from _unchanged(Path(directory), registry)
            yield _real(Path(directory))
        finally:
            _remove_images()


def _unchanged(root: Path, registry: str) -> Iterator[Result]:
    place = root / "unchanged"
    place.mkdir()
    project = Project(place, SMALL, 20)
    command(project.tool("build"))()
    built, baked = command(project.tool("build")), command(project.bake())
    yield ratio("build of 20 unchanged targets / bake, all cached", built, baked, limit=0.5, runs=5)
    pushing = ("build", "--push", "--registry", f"{registry}/bench")
    command(project.tool(*pushing))()
    built, baked = command(project.tool(*pushing)), command(project.bake())
    yield ratio("build --push of 20 unchanged targets / bake, all cached", built, baked, limit=0.5, runs=5)


def _real(root: Path) -> Result:
    place = root / "real"
    place.mkdir()
    project = Project(place, REAL, 1)
    command(project.tool("build"))()
    built = command(project.tool("build", "--force", "--no-cache"))
    baked = command(project.bake("--no-cache"))
    pairs = [(seconds(built), seconds(baked)) for _ in range(3)]
    mine, other = (min(times) for times in zip(*pairs, strict=True))
    detail = f"{mine:.2f} s against {other:.2f} s, best of 3"
    return Result("real build / (1.05 bake + 0.3 s)", mine / (1.05 * other + 0.3), 1.0, detail)


@contextmanager
def _registry(root: Path) -> Iterator[str]:
    """A registry of the benchmark's own on loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    config = root / "registry.yml"
    storage = f"storage:\n  filesystem: {{rootdirectory: {root}/registry}}\n"
    config.write_text(f"version: 0.1\nlog: {{level: error}}\n{storage}http: {{addr: '{address}'}}\n")
    argv = [shutil.which("docker-registry") or "docker-registry", "serve", str(config)]
    process = subprocess.Popen(argv, env={**os.environ}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            with suppress(OSError), urlopen(f"http://{address}/v2/", timeout=2):
                break
            time.sleep(0.05)
        yield address
    finally:
        process.terminate()
        process.wait(20)


def _remove_images() -> None:
    listed = subprocess.run(
        ["docker", "image", "ls", "--format", "{{.Repository}}:{{.Tag}}"], capture_output=True, text=True, check=True
    )
    names = [name for name in listed.stdout.split() if re.search(rf"(?:^|/){PREFIX}-\d+:", name)]
    subprocess.run(["docker", "image", "rm", "--force", *names], capture_output=True, check=False)
