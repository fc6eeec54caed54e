"""A machine without a usable engine → one with it, from the distribution's own packages."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from imagepins.engine import apt
from imagepins.engine.client import find_buildx, find_client, find_program, version_tuple
from imagepins.engine.daemon import Daemon, start_daemon
from imagepins.engine.host import Host, how_to_install, read_host
from imagepins.engine.lock import only_one
from imagepins.engine.progress import Say
from imagepins.engine.usable import Problem, find_problem
from imagepins.errors import EngineError
from imagepins.process import run

CURABLE = {
    "not-installed": "no Docker engine is installed here",
    "not-running": "the Docker daemon is installed but not running",
    "no-client": "an engine answers, but there is no docker client",
    "no-buildx": "an engine answers, but its client has no buildx plugin",
}
WANTED = {"docker.io": (27, 0), "docker-cli": (27, 0), "docker-buildx": (0, 15)}
"""The first versions whose ``build --check`` works; what an own suite has that is older is taken from NEWER_SUITE."""
OLDEST_ENGINE = (23, 0)
NEWER_SUITE = "forky"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


@dataclass(frozen=True)
class Layout:
    """Files that ``up`` may write, and the data root it looks at."""

    etc: Path = Path("/etc")
    data_root: Path = Path("/var/lib/docker")

    @property
    def source(self) -> Path:
        """The apt source of the newer suite."""
        return self.etc / "apt/sources.list.d/imagepins-engine.sources"

    @property
    def preferences(self) -> Path:
        """The apt pins that keep everything but the engine's packages out of the newer suite."""
        return self.etc / "apt/preferences.d/imagepins-engine"

    @property
    def configuration(self) -> Path:
        """dockerd's configuration."""
        return self.etc / "docker/daemon.json"


def make_usable(
    say: Say, *, layout: Layout | None = None, daemon: Daemon | None = None, host: Host | None = None
) -> None:
    """Return when an engine is usable, which is at once where one is; install and start one otherwise.

    Two runs at a time do the work once. Raises EngineError where that cannot be done on this machine or fails; a run
    that was interrupted is finished by the next.
    """
    problem = find_problem()
    if problem is None:
        return
    host = host or read_host()
    if problem.kind not in CURABLE:
        raise EngineError(problem.text)
    if not host.can_install:
        raise EngineError(f"{problem.text}\n{how_to_install(host)}")
    with only_one("engine", say):
        problem = find_problem()
        if problem is None:
            return
        say(CURABLE.get(problem.kind, problem.text))
        _provide(problem, host, say, layout=layout or Layout(), daemon=daemon or Daemon())
        problem = find_problem()
        if problem:
            raise EngineError(problem.text)


def _provide(problem: Problem, host: Host, say: Say, *, layout: Layout, daemon: Daemon) -> None:
    undo: list[str] = []  # the commands that take back what this run changed
    is_local = problem.kind in ("not-installed", "not-running")
    if is_local:
        _choose_store(layout, undo, say)
    packages = missing_packages(with_engine=is_local)
    if packages:
        _install(packages, host, layout, undo, say)
    if is_local:
        start_daemon(daemon, say, by_systemd=host.has_systemd)
        stop = "systemctl disable --now docker.service docker.socket" if host.has_systemd else ""
        undo.insert(0, stop or f"kill $(cat {daemon.pidfile})")
    say("to undo: " + " && ".join(undo))


def _install(packages: list[str], host: Host, layout: Layout, undo: list[str], say: Say) -> None:
    keeps_suite = False
    try:
        available, is_expired = choose_source(packages, host, layout, say)
        apt.install(available, say)
        keeps_suite = not is_expired
    finally:
        # A source past its Valid-Until would fail every later apt-get update; one of a failed run is of no use.
        if layout.source.exists() and not keeps_suite:
            say(f"removing {layout.source} again")
            remove_newer_suite(layout)
    undo.insert(0, f"apt-get purge {' '.join(available)}")
    if layout.source.exists():
        undo.append(f"rm {layout.source} {layout.preferences} && apt-get update")


def missing_packages(*, with_engine: bool) -> list[str]:
    """Return the packages to install; the engine's only if ``with_engine``, also where the suite's is too old."""
    packages = ["docker.io"] if with_engine and _lacks_dockerd() else []
    # Newer docker.io packages no longer hold the client, which an upgrade of an old one would take away.
    if packages or find_client() is None:
        packages.append("docker-cli")
    if find_buildx() is None:
        packages.append("docker-buildx")
    return packages


def choose_source(packages: list[str], host: Host, layout: Layout, say: Say) -> tuple[list[str], bool]:
    """Make ``packages`` available to apt in versions that will do.

    Return those to install, and whether the newer suite's Release file is past its Valid-Until. The distribution's
    own packages come first. Debian's are joined by a newer suite where they are too old, at a priority at which
    nothing but the packages named here comes from it. Raises EngineError where apt has none that will do.
    """
    remove_newer_suite(layout)  # what a killed run left; a source that is past its Valid-Until shows only when added
    updated = apt.update(say)
    offered = apt.candidates(packages)
    is_expired = False
    if _too_old(packages, offered) and host.is_debian:
        mirror = apt.debian_mirror(apt.targets(), host.debian_release)
        if mirror is None:
            raise EngineError(f"apt has no Debian source on this machine; add one to {layout.etc}/apt and run again")
        _add_newer_suite(mirror, layout, say)
        updated = apt.update(say, only=layout.source)
        offered, is_expired = apt.candidates(packages), updated.was_expired
    lacking = _too_old(packages, offered)
    if lacking:
        offers = ", ".join(f"{name} {offered.get(name, 'not at all')}" for name in lacking)
        text = f"apt offers {offers}, which will not do:{apt.tail(updated.output)}"
        raise EngineError(f"{text}\n{how_to_install_by_hand()}")
    return [name for name in packages if name in offered], is_expired


def remove_newer_suite(layout: Layout) -> None:
    """Take the newer suite out of apt's set-up again."""
    layout.source.unlink(missing_ok=True)
    layout.preferences.unlink(missing_ok=True)


def how_to_install_by_hand() -> str:
    """Return what to do where the distribution's packages will not do."""
    return "Check the network and apt's sources, or install Docker Engine by https://docs.docker.com/engine/install."


def _too_old(packages: list[str], offered: Mapping[str, str]) -> list[str]:
    # Where a suite has no docker-cli, its docker.io brings the client.
    needed = [name for name in packages if name != "docker-cli" or name in offered or "docker.io" not in packages]
    return [name for name in needed if version_tuple(offered.get(name, "")) < WANTED[name]]


def _add_newer_suite(mirror: str, layout: Layout, say: Say) -> None:
    say(f"this suite's engine lacks build --check: adding {NEWER_SUITE} as a source, for the engine's packages only")
    source = f"Types: deb\nURIs: {mirror}\nSuites: {NEWER_SUITE}\nComponents: main\nSigned-By: {KEYRING}\n"
    pins = (
        f"Package: *\nPin: release n={NEWER_SUITE}\nPin-Priority: 50\n\n"
        f"Package: {' '.join(WANTED)}\nPin: release n={NEWER_SUITE}\nPin-Priority: 990\n"
    )
    # The pins come first: a source without them would offer the whole newer suite to the next upgrade.
    _write(layout.preferences, pins)
    _write(layout.source, source)


def _choose_store(layout: Layout, undo: list[str], say: Say) -> None:
    if layout.configuration.exists() or (layout.data_root / "image").exists():
        return  # somebody's choice, or images that would vanish from sight with another store
    say(f"writing {layout.configuration}: images in the containerd store, which keeps digests and provenance")
    _write(layout.configuration, json.dumps({"features": {"containerd-snapshotter": True}}, indent=2) + "\n")
    undo.append(f"rm {layout.configuration}")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.new")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)


def _lacks_dockerd() -> bool:
    program = find_program("dockerd")
    if program is None:
        return True
    words = run([program, "--version"], timeout=20.0, check=False).stdout.replace(",", " ").split()
    version = next((version_tuple(word) for word in words if word[:1].isdigit()), ())
    # Only the distribution's own is replaced: another vendor's would be removed by apt, not upgraded.
    return version < OLDEST_ENGINE and run(["dpkg", "-S", program], check=False).stdout.startswith("docker.io:")
