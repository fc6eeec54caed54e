"""Small upstreams behind a git server on loopback, and an image made of them by the shipped recipes."""

import base64
import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from imagepins import process
from imagepins.pins.load import load
from imagepins.render.dockerfile import render_all
from servers import serve_git

FIXTURE = Path(__file__).parent / "fixture"
PINS = """\
schema: 1
pins:
  debian:
    image: debian
    tag: trixie-slim
    arg: BASE_IMAGE
    allow_tag: the one image there is without a registry
  rocm-runtime:
    git: https://upstream.example/rocm-systems.git
    path: [projects/clr, projects/hip, projects/rocr-runtime]
    commit: "{rocm}"
    track: {{branch: main}}
    version: "7.16"
    version_from: projects/hip/VERSION
  rccl:
    git: https://upstream.example/rocm-systems.git
    path: projects/rccl
    commit: "{rocm}"
    track: {{branch: main}}
    version: "2.32.3"
    version_from: projects/rccl/makefiles/version.mk
  small:
    git: https://upstream.example/package.git
    commit: "{package}"
    track: {{branch: main}}
images:
  fixture:
    template: images/fixture/Dockerfile.j2
    pins: [debian, rocm-runtime, rccl, small]
    args: {{COMPILER_CACHE: none}}
    archs: [gfx942, gfx950]
    variants:
      small: {{}}
"""
PART = """\
  part_{number}:
    git: https://upstream.example/package.git
    commit: "{commit}"
    track: {{branch: main}}
"""
PARTS = """\
images:
  fixture:
    template: images/fixture/parts.j2
    pins: [debian, {names}]
    args: {{COMPILER_CACHE: none}}
    variants:
      small: {{}}
"""


@dataclass(frozen=True)
class Sources:
    """Bare repositories of the fixtures, and how builds reach them under their canonical names."""

    root: Path
    gitconfig: Path

    def commit(self, name: str, files: dict[str, str], *, tag: str | None = None) -> str:
        """Add a commit that writes ``files``, and return it."""
        work = self.root / f"{name}.work"
        for path, text in files.items():
            (work / path).parent.mkdir(parents=True, exist_ok=True)
            (work / path).write_text(text)
        git(work, "add", "--all")
        git(work, "commit", "--quiet", "--allow-empty", "--message", "change")
        if tag:
            git(work, "tag", tag)
        git(work, "push", "--quiet", "--tags", str(self.root / f"{name}.git"), "HEAD:refs/heads/main")
        return git(work, "rev-parse", "HEAD")


@dataclass(frozen=True)
class Workspace:
    """A directory like the project's own: pins.yaml, the shipped recipes, a template of the tests."""

    root: Path
    sources: Sources
    events: list[dict[str, Any]] = field(default_factory=list)

    @property
    def pins(self) -> Path:
        """The pin file."""
        return self.root / "pins.yaml"

    def set(self, old: str, new: str) -> None:
        """Replace a text of pins.yaml that is in it."""
        text = self.pins.read_text()
        assert old in text
        self.pins.write_text(text.replace(old, new))

    def build(self, *options: str) -> process.Completed:
        """Render and build; the report lands in ``out``, BuildKit's events in ``events``."""
        for path, text in render_all(load(self.pins), self.root).items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)
            dockerfile = self.root / path
        argv = ["docker", "buildx", "build", "--progress=rawjson", "--allow=network.host", "--network=host"]
        argv += [f"--secret=id={name},src={self.sources.root / name}" for name in ("gitconfig", "ca")]
        argv += [f"--output=type=local,dest={self.root / 'out'}"]
        done = process.run([*argv, *options, "-f", str(dockerfile), str(FIXTURE / "base")], timeout=800, check=False)
        self.events[:] = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
        return done

    def report(self) -> dict[str, Any]:
        """What the probe found in the image that was built last."""
        report: dict[str, Any] = json.loads((self.root / "out" / "report.json").read_text())
        return report

    def errors(self) -> str:
        """What the steps wrote to stderr and what BuildKit said of the end, without the commands that sh echoes."""
        lines = [line for line in self.log().splitlines() if not line.startswith("+")]
        said = [vertex["error"] for event in self.events for vertex in event.get("vertexes") or () if "error" in vertex]
        return "\n".join([*lines, *said])

    def log(self) -> str:
        """What the steps of the last build wrote."""
        logs = (log["data"] for event in self.events for log in event.get("logs") or ())
        return "".join(base64.b64decode(data).decode(errors="replace") for data in logs)


def git(directory: Path, *arguments: str) -> str:
    """Output of a git command of the tests."""
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "init.defaultBranch=main"]
    return process.run(["git", *identity, *arguments], cwd=directory).stdout.strip()


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sources]:
    """The fixture repositories on a git server that, like GitHub's, serves any commit and filters blobs."""
    root = tmp_path_factory.mktemp("upstream")
    for name in ("rocm-systems", "package"):
        shutil.copytree(FIXTURE / name, root / f"{name}.work")
        for directory in (root / f"{name}.work", root / f"{name}.git"):
            directory.mkdir(exist_ok=True)
            git(directory, "init", "--quiet", *(["--bare"] if directory.suffix == ".git" else []))
        for option in ("uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"):
            git(root / f"{name}.git", "config", option, "true")
    gitconfig = root / "gitconfig"
    (root / "ca").write_text("a bundle that nothing here asks for\n")
    with serve_git(root) as port:
        gitconfig.write_text(f'[url "git://127.0.0.1:{port}/"]\n\tinsteadOf = https://upstream.example/\n')
        yield Sources(root, gitconfig)


def make_workspace(root: Path, sources: Sources, pins: str, repository: Path) -> Workspace:
    """A workspace with the shipped recipes and the templates of the tests."""
    shutil.copytree(repository / "images" / "_recipes", root / "images" / "_recipes")
    (root / "images" / "fixture").mkdir()
    for path in FIXTURE.glob("*.j2"):
        shutil.copy(path, root / "images" / "fixture")
    (root / "pins.yaml").write_text(pins)
    return Workspace(root, sources)


@pytest.fixture(scope="session")
def first(sources: Sources) -> dict[str, str]:
    """The first commit of each repository."""
    return {
        "rocm": sources.commit("rocm-systems", {}),
        "package": sources.commit("package", {}, tag="v1.2.0"),
    }


@pytest.fixture
def workspace(tmp_path: Path, sources: Sources, first: dict[str, str], repository: Path) -> Workspace:
    """The image of the fixture template, pinned to the first commit of each repository."""
    return make_workspace(tmp_path / "work", sources, PINS.format(**first), repository)


@pytest.fixture
def bump(repository: Path) -> Callable[[Workspace, str, str], process.Completed]:
    """Moves a pin of a workspace with the tool that people use."""

    def bumped(workspace: Workspace, name: str, ref: str) -> process.Completed:
        env = {**os.environ, "IMAGEPINS_MIRRORS": f"https://upstream.example/={workspace.sources.root}/"}
        argv = [str(repository / "tools" / "bump_pin"), name, ref, "--pins", str(workspace.pins)]
        return process.run(argv, env=env, timeout=400)

    return bumped


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory, sources: Sources, repository: Path) -> Workspace:
    """An image of ten components, built once."""
    commit = sources.commit("package", {})
    head, _, _ = PINS.partition("  rocm-runtime:")
    text = head.format() + "".join(PART.format(number=number, commit=commit) for number in range(10))
    text += PARTS.format(names=", ".join(f"part_{number}" for number in range(10)))
    made = make_workspace(tmp_path_factory.mktemp("parts") / "work", sources, text, repository)
    done = made.build()
    assert done.code == 0, made.errors()
    return made


@pytest.fixture(scope="session")
def built(
    tmp_path_factory: pytest.TempPathFactory, sources: Sources, first: dict[str, str], repository: Path
) -> Workspace:
    """The same workspace with its image built once, for all that only look at it."""
    root = tmp_path_factory.mktemp("built") / "work"
    made = make_workspace(root, sources, PINS.format(**first), repository)
    done = made.build()
    assert done.code == 0, made.log()[-3000:] + made.errors()[-3000:]
    return made
