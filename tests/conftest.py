"""What all tests share: an environment in which git asks nobody and no network is reached by accident; engines."""

import os
import re
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from copying import Copy, copy_repository
from imagepins.engine.daemon import Daemon, process_in, start_daemon
from imagepins.engine.endpoint import config_dir, find_endpoint
from imagepins.process import run
from waiting import PATIENCE

Start = Callable[..., Daemon]
REPOSITORY = Path(__file__).parents[1]
# Properties are tried with the same examples on every machine, however long a busy one takes for them.
settings.register_profile("same", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("same")


@pytest.fixture(scope="session")
def repository() -> Path:
    """Root of this repository."""
    return REPOSITORY


OF_THE_PERSON = re.compile(
    r"(IMAGEPINS_|GIT_|GITHUB_|BUILDX_|BUILDKIT_|LC_|XDG_|PYTHON).*|SOURCE_DATE_EPOCH|LANGUAGE|TZ|COLUMNS|LINES"
    r"|(NO|FORCE)_COLOR|DOCKER_(BUILDKIT|CONFIG|CONTEXT|CONTENT_TRUST|DEFAULT_PLATFORM|HOST)"
)
"""Variables by which the tool and the programs it runs behave otherwise for one person than for the next."""


@pytest.fixture(scope="session", autouse=True)
def _closed_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No git protocol but file://, and of the person who runs the tests nothing but the engine they chose."""
    home = tmp_path_factory.mktemp("home")
    plugins, endpoint = config_dir() / "cli-plugins", find_endpoint()
    (home / ".docker").mkdir()
    if plugins.exists():
        (home / ".docker/cli-plugins").symlink_to(plugins)
    with pytest.MonkeyPatch.context() as patch:
        for name in filter(OF_THE_PERSON.fullmatch, list(os.environ)):
            patch.delenv(name)
        if not endpoint.is_default:
            patch.setenv("DOCKER_HOST", endpoint.host)
        patch.setenv("HOME", str(home))
        patch.setenv("LC_ALL", "C.UTF-8")
        for name in ("no_proxy", "NO_PROXY"):  # the tests' own servers are on loopback
            patch.setenv(name, "127.0.0.1,localhost", prepend=",")
        patch.setenv("GIT_ALLOW_PROTOCOL", "file")
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        patch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        # A repository above a test's directory, made by whomever, is not the test's.
        patch.setenv("GIT_CEILING_DIRECTORIES", os.path.realpath(tmp_path_factory.getbasetemp()))
        for role in ("AUTHOR", "COMMITTER"):
            patch.setenv(f"GIT_{role}_NAME", "Test")
            patch.setenv(f"GIT_{role}_EMAIL", "test@example.org")
        patch.setenv("XDG_CACHE_HOME", str(home / ".cache"))
        mask = os.umask(0o022)
        yield
        os.umask(mask)


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A cache of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(scope="session")
def debian_rocm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copy]:
    """The small real image, built under a name of the tests' own; nobody changes the files it is built from."""
    copy = copy_repository(tmp_path_factory.mktemp("copy") / "project")
    copy.build()
    yield copy
    copy.remove()


@pytest.fixture
def astray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], AbstractContextManager[None]]:
    """Within it the environment is that of a hook of another repository, where git left to itself would work."""

    @contextmanager
    def led() -> Iterator[None]:
        other = tmp_path / "other.git"
        subprocess.run(["git", "init", "--quiet", "--bare", other], check=True)
        settings = {"GIT_DIR": other, "GIT_INDEX_FILE": other / "index", "GIT_WORK_TREE": tmp_path}
        with monkeypatch.context() as within:
            for name, value in {**settings, "GIT_LITERAL_PATHSPECS": "1", "GIT_PREFIX": "x/"}.items():
                within.setenv(name, str(value))
            yield

    return led


class Upstream:
    """A real git repository that tests pin commits of; ``url`` is its file:// address."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.url = f"file://{path}"

    def git(self, *arguments: str, stdin: str | None = None) -> str:
        """Run git in the repository and return what it prints."""
        command = ["git", "-c", "advice.nestedTag=false", *arguments]
        settings = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        names = (f"GIT_{role}_{key}" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL"))
        env = {**os.environ, **settings, **dict.fromkeys(names, "test@example.org")}
        done = subprocess.run(command, cwd=self.path, input=stdin, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"git {' '.join(arguments)}: {done.stderr}"
        return done.stdout.strip()

    def sha(self, revision: str) -> str:
        """The commit a revision leads to."""
        return self.git("rev-parse", f"{revision}^{{commit}}")

    def commit(self, message: str, **files: str) -> str:
        """Write files (``/`` of their paths spelt ``__``), commit everything and return the commit."""
        return self.commit_files(message, {name.replace("__", "/"): text for name, text in files.items()})

    def commit_files(self, message: str, files: dict[str, str]) -> str:
        """Write files, commit everything and return the commit."""
        for name, text in files.items():
            path = self.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.sha("HEAD")


def _start_upstream(path: Path) -> Upstream:
    """An empty repository with a branch ``main``, which serves partial clones as hosts do."""
    path.mkdir()
    made = Upstream(path)
    made.git("init", "--quiet", "--initial-branch=main")
    made.git("config", "uploadpack.allowFilter", "true")
    return made


@pytest.fixture
def new_upstream(tmp_path: Path) -> Callable[..., Upstream]:
    """Makes empty repositories below the test's directory."""
    return lambda name="new": _start_upstream(tmp_path / name)


@pytest.fixture
def upstream(tmp_path: Path, _trap_template: Path) -> Upstream:
    """A small repository with every trap in it, see ``_trap_template``."""
    shutil.copytree(_trap_template, tmp_path / "upstream", symlinks=True)
    return Upstream(tmp_path / "upstream")


@pytest.fixture(scope="session")
def _trap_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made once, copied for each test.

    main: c1..c5, then the squash of pull 7. Branches ``rel`` (c4), ``foo/main`` (c1), ``users/x/main`` (c2),
    ``deadbeef`` (c3); tags ``v1`` (annotated, c3), ``v1nested`` (a tag of v1), ``light`` (c3), ``rel`` (c2),
    ``20260817`` (c4). Pull 7: two commits on c4, squash-merged. Pull 8: force-pushed; ``refs/old8`` names what it was,
    which no clone sees. ``refs/keep/cN`` likewise name the commits for the tests.
    """
    made = _start_upstream(tmp_path_factory.mktemp("traps") / "template")
    for number in range(1, 6):
        made.commit(f"c{number}", f=f"{number}\n")
        made.git("update-ref", f"refs/keep/c{number}", "HEAD")
    made.git("tag", "--annotate", "v1", "--message=v1", "refs/keep/c3")
    made.git("tag", "--annotate", "v1nested", "--message=n", "v1")
    made.git("tag", "light", "refs/keep/c3")
    made.git("tag", "rel", "refs/keep/c2")
    made.git("tag", "20260817", "refs/keep/c4")
    for name, commit in {"rel": "c4", "foo/main": "c1", "users/x/main": "c2", "deadbeef": "c3"}.items():
        made.git("update-ref", f"refs/heads/{name}", f"refs/keep/{commit}")
    made.git("checkout", "--quiet", "-b", "p7", "refs/keep/c4")
    made.commit("p1", p="a\n")
    made.commit("p2", p="a\nb\n")
    made.git("update-ref", "refs/pull/7/head", "HEAD")
    made.git("checkout", "--quiet", "main")
    made.git("merge", "--quiet", "--squash", "p7")
    made.git("commit", "--quiet", "--message", "feat (#7)")
    made.git("branch", "--quiet", "-D", "p7")
    made.git("checkout", "--quiet", "-b", "p8")
    made.git("update-ref", "refs/old8", made.commit("q1", q="q\n"))
    made.git("commit", "--quiet", "--amend", "--message", "q1b")
    made.git("update-ref", "refs/pull/8/head", "HEAD")
    made.git("checkout", "--quiet", "main")
    made.git("branch", "--quiet", "-D", "p8")
    made.git("config", "uploadpack.hideRefs", "refs/keep")
    made.git("config", "--add", "uploadpack.hideRefs", "refs/old8")
    return made.path


@pytest.fixture(scope="session")
def start_engine() -> Iterator[Start]:
    """Start further engines with files, sockets and namespaces of their own; all are gone at the end."""
    daemons: list[Daemon] = []
    # An engine that is started with --bridge=none removes docker0, the bridge of the machine's own engine.
    token = secrets.token_hex(4)
    bridge = f"pins{token}"
    run(["ip", "link", "add", bridge, "type", "bridge"])
    run(["ip", "address", "add", f"10.213.{int(token, 16) % 256}.1/24", "dev", bridge])

    def start(*options: str, name: str = "") -> Daemon:
        home = Path(tempfile.gettempdir()) / f"imagepins-engine-{token}-{len(daemons)}"
        home.mkdir()
        (home / "daemon.json").write_text('{"features": {"containerd-snapshotter": true}}')
        daemon = _daemon_in(home, f"--bridge={bridge}", *options)
        daemons.append(daemon)
        if name != "later":
            start_daemon(daemon, lambda _: None)
        return daemon

    yield start
    _stop(daemons)
    for daemon in daemons:
        home = daemon.pidfile.parent
        run(["umount", "--lazy", str(home / "data")], check=False)  # left by an engine that was killed
        shutil.rmtree(home, ignore_errors=True)
    run(["ip", "link", "delete", bridge])


def _daemon_in(home: Path, *options: str) -> Daemon:
    """Describe an engine whose every file is below ``home``."""
    own = ("--data-root", f"{home}/data", "--exec-root", f"{home}/exec", "--pidfile", f"{home}/docker.pid")
    apart = ("--containerd-namespace", home.name, "--containerd-plugins-namespace", f"{home.name}-plugins")
    # The machine's configuration is not read: its keys would apply here, and dockerd refuses one that a flag repeats.
    quiet = ("--iptables=false", "--ip6tables=false", "--config-file", f"{home}/daemon.json")
    listens = ("-H", f"unix://{home}/docker.sock")
    return Daemon(
        socket=home / "docker.sock",
        pidfile=home / "docker.pid",
        exec_root=home / "exec",
        log=home / "dockerd.log",
        options=(*own, *apart, *quiet, *listens, *options),
    )


def _stop(daemons: list[Daemon]) -> None:
    """End engines and their containerds, however the tests left them."""
    deadline = time.monotonic() + PATIENCE
    for program in ("dockerd", "containerd"):
        pidfiles = [each.pidfile if program == "dockerd" else each.containerd_pidfile for each in daemons]
        for pid in filter(None, (process_in(pidfile, program) for pidfile in pidfiles)):
            os.kill(pid, signal.SIGTERM)
        while any(process_in(pidfile, program) for pidfile in pidfiles) and time.monotonic() < deadline:
            time.sleep(0.02)
