"""bump_pin against what git and pre-commit take for the same repositories, and what goes over the wire."""

import http.server
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from harness import PYTHON, REPOSITORY, Result, seconds

REPOSITORIES = 30
JOBS = 16
PULLS = 50_000
ANSWER_SECONDS = 0.1
"""What a near host takes to answer one request; on the loopback only processes would be compared."""
HOOKS = "- id: x\n  name: x\n  entry: x\n  language: system\n"
URL = "https://github.com/example/one.git"
RUNS = 5


def results() -> Iterator[Result]:
    """Times of --outdated and of one bump, packets of one look-up."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        env = {**os.environ, "XDG_CACHE_HOME": str(root / "cache"), "PRE_COMMIT_HOME": str(root / "pre-commit")}
        env |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_ALLOW_PROTOCOL": "file:http", "HOME": str(root)}
        repositories = [make_repository(root / f"r{number}") for number in range(REPOSITORIES)]
        yield from outdated(root, repositories, env)
        yield from packets(root, repositories[0], env)
        yield from one_bump(root, repositories[0], env)


def outdated(root: Path, repositories: list[Path], env: dict[str, str]) -> Iterator[Result]:
    """All repositories, every pin behind by nine commits, caches warm."""
    (root / "pins.yaml").write_text(pin_file([f"file://{path}" for path in repositories], repositories))
    config = "repos:\n" + "".join(f"- repo: file://{path}\n  rev: v1\n  hooks: [{{id: x}}]\n" for path in repositories)

    def ours() -> None:
        run([tool("bump_pin"), "--outdated", "--pins", str(root / "pins.yaml")], root, env)

    def pre_commit() -> None:
        (root / "r0/.pre-commit-config.yaml").write_text(config)
        run([str(Path(PYTHON).with_name("pre-commit")), "autoupdate", "--jobs", str(JOBS)], root / "r0", env)

    def raw() -> None:
        asked = [["git", "ls-remote", "--heads", f"file://{path}"] for path in repositories]
        started = [subprocess.Popen(argv, env=env, stdout=subprocess.DEVNULL) for argv in asked]
        assert [each.wait() for each in started] == [0] * len(started)

    times = measured(ours, pre_commit, raw, interpreter(env))
    detail = f"{times[0]:.3f} s against {times[1]:.3f} s, {REPOSITORIES} repositories, {JOBS} jobs"
    yield Result("bump_pin --outdated / pre-commit autoupdate", times[0] / times[1], 0.6, detail)
    detail = f"{times[0]:.3f} s less {times[3]:.3f} s of start against {times[2]:.3f} s"
    figure = (times[0] - times[3]) / times[2]
    yield Result(f"bump_pin --outdated / {REPOSITORIES} git ls-remote at once", figure, 2.0, detail)


def packets(root: Path, repository: Path, env: dict[str, str]) -> Iterator[Result]:
    """Packets that bump_pin needs in a repository with very many pull refs.

    Counted is everything that passes between git and the server, both ways, from the greeting to the end: eight
    packets of greeting, a request of nine with one ref, the answer. A bare name is asked for as a branch and as a tag,
    which is one packet more. The commits are in the cache, as they are on all days but the first, on which their
    transfer comes on top.
    """
    tip = git(repository, "rev-parse", "HEAD")
    git(repository, "pack-refs", "--all")
    # Written as git writes them, but not through one file for each.
    packed = [f"{tip} refs/pull/{number}/head\n" for number in range(1, PULLS + 1)]
    kept = (repository / ".git/packed-refs").read_text().splitlines(keepends=True)[1:]
    (repository / ".git/packed-refs").write_text("".join([*kept, *packed]))
    text, trace = pin_file([URL], [repository]), root / "packets"
    (root / "pins.yaml").write_text(text)
    traced = env | {"GIT_TRACE_PACKET": str(trace), "IMAGEPINS_MIRRORS": f"{URL}=file://{repository}"}
    asked = {"the tracked branch": ([], 20), "a branch by its bare name": (["main"], 21)}
    asked["a pull head"] = ([f"pull/{PULLS // 10}"], 20)
    for name, (ref, limit) in asked.items():
        argv = [tool("bump_pin"), "p0", *ref, "--pins", str(root / "pins.yaml"), "--dry-run"]
        for _ in range(2):
            trace.unlink(missing_ok=True)
            run(argv, root, traced)
        figure = len(re.findall(r"packet: +fetch[<>]", trace.read_text()))
        yield Result(
            f"packets of bump_pin for {name}", figure, limit, f"both ways, among {PULLS} pull refs, nothing new"
        )


def one_bump(root: Path, repository: Path, env: dict[str, str]) -> Iterator[Result]:
    """One pin with rendering, commits in the cache, against ls-remote; a server that takes its time as hosts do."""
    with slow_server(root) as address:
        project = root / "project"
        template = project / "images/a/Dockerfile.j2"
        template.parent.mkdir(parents=True)
        template.write_text("FROM scratch\n[[[ pin_args ]]]\nLABEL commit=${P0_COMMIT}\n")
        image = "images:\n  a:\n    template: images/a/Dockerfile.j2\n    pins: [p0]\n    variants: {one: {}}\n"
        text = pin_file([URL], [repository]).replace("images: {}\n", image)
        env = {**env, "IMAGEPINS_MIRRORS": f"{URL}={address}/{repository.name}"}

        def bump() -> None:
            (project / "pins.yaml").write_text(text)
            run([tool("bump_pin"), "p0", "--pins", str(project / "pins.yaml")], root, env)

        def raw() -> None:
            run(["git", "ls-remote", "--heads", f"{address}/{repository.name}"], root, env)

        times = measured(bump, raw, interpreter(env))
    detail = f"{times[0]:.3f} s less {times[2]:.3f} s of start against {times[1]:.3f} s, {ANSWER_SECONDS} s per request"
    yield Result("bump_pin NAME / git ls-remote", (times[0] - times[2]) / times[1], 3.0, detail)


def make_repository(path: Path) -> Path:
    """A repository of twenty commits that is also one of pre-commit hooks; v1 is nine commits behind v2, the tip."""
    path.mkdir()
    git(path, "init", "--quiet", "--initial-branch=main")
    git(path, "config", "uploadpack.allowFilter", "true")
    (path / ".pre-commit-hooks.yaml").write_text(HOOKS)
    for number in range(20):
        (path / "file").write_text(str(number))
        git(path, "add", "--all")
        git(path, "commit", "--quiet", "--message", f"c{number}")
        if number == 10:
            git(path, "tag", "v1")
    git(path, "tag", "v2")
    return path


def pin_file(urls: list[str], repositories: list[Path]) -> str:
    """pins.yaml with one pin per repository, at v1."""
    pins = "".join(
        f'  p{number}:\n    git: {url}\n    commit: "{git(path, "rev-parse", "v1")}"\n    track: {{branch: main}}\n'
        for number, (url, path) in enumerate(zip(urls, repositories, strict=True))
    )
    return f"schema: 1\npins:\n{pins}images: {{}}\n"


@contextmanager
def slow_server(root: Path) -> Iterator[str]:
    """git's http backend over the repositories below ``root``; yields its address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            time.sleep(ANSWER_SECONDS)
            answer(self, root)

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def answer(request: http.server.BaseHTTPRequestHandler, root: Path) -> None:
    """Hand one request to ``git http-backend``."""
    path, _, query = request.path.partition("?")
    env = {"PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": str(root), "GIT_HTTP_EXPORT_ALL": "1"}
    env |= {"REQUEST_METHOD": request.command, "PATH_INFO": path, "QUERY_STRING": query}
    names = {
        "CONTENT_TYPE": "Content-Type",
        "HTTP_CONTENT_ENCODING": "Content-Encoding",
        "GIT_PROTOCOL": "Git-Protocol",
    }
    env |= {variable: request.headers.get(name, "") for variable, name in names.items()}
    body = request.rfile.read(int(request.headers.get("Content-Length", 0)))
    done = subprocess.run(["git", "http-backend"], input=body, env=env, capture_output=True, check=True)
    head, _, content = done.stdout.partition(b"\r\n\r\n")
    request.send_response(200)
    for name, value in (line.split(": ", 1) for line in head.decode().splitlines()):
        request.send_header(name, value)
    request.send_header("Content-Length", str(len(content)))
    request.end_headers()
    request.wfile.write(content)


def measured(*calls: Callable[[], None]) -> list[float]:
    """Median time of each call in seconds, in turns, after one of each that does not count."""
    for call in calls:
        call()
    rounds = [[seconds(call) for call in calls] for _ in range(RUNS)]
    return [median(times) for times in zip(*rounds, strict=True)]


def interpreter(env: dict[str, str]) -> Callable[[], None]:
    """Python with what any command on pins and templates imports."""
    return lambda: run([PYTHON, "-c", "import click, jinja2, yaml"], REPOSITORY, env)


def tool(name: str) -> str:
    """Path of one of the project's commands."""
    return str(REPOSITORY / "tools" / name)


def git(path: Path, *arguments: str, text: str | None = None) -> str:
    """Run git in a repository and return what it prints."""
    identity = [part for key in ("name", "email") for part in ("-c", f"user.{key}=bench@example.org")]
    argv = ["git", *identity, *arguments]
    return subprocess.run(argv, cwd=path, input=text, capture_output=True, text=True, check=True).stdout.strip()


def run(argv: list[str], cwd: Path, env: dict[str, str]) -> None:
    """Run a command and fail loudly if it fails."""
    done = subprocess.run(argv, cwd=cwd, env=env, capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{argv}: exit code {done.returncode}\n{done.stdout.decode()}{done.stderr.decode(errors='replace')}")
