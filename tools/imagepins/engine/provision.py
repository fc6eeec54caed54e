"""A machine without a usable engine → one with it, from the distribution's own packages."""

import json

from imagepins.engine import apt
from imagepins.engine.client import find_buildx, find_client, find_program, version_tuple
from imagepins.engine.daemon import Daemon, start_daemon
from imagepins.engine.host import Host, how_to_install, read_host
from imagepins.engine.lock import only_one
from imagepins.engine.progress import Say
from imagepins.engine.suite import Layout, choose_source, remove_newer_suite, write_whole
from imagepins.engine.usable import Problem, find_problem
from imagepins.errors import EngineError
from imagepins.process import run

CURABLE = {
    "not-installed": "no Docker engine is installed here",
    "not-running": "the Docker daemon is installed but not running",
    "no-client": "an engine answers, but there is no docker client",
    "no-buildx": "an engine answers, but its client has no buildx plugin",
}
OLDEST_ENGINE = (23, 0)


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
    if not (host.can_install or _needs_a_start_only(problem, host)):
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


def _needs_a_start_only(problem: Problem, host: Host) -> bool:
    can_start = host.is_root and (host.has_systemd or find_program("start-stop-daemon") is not None)
    return problem.kind == "not-running" and can_start and not missing_packages(with_engine=True)


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


def _choose_store(layout: Layout, undo: list[str], say: Say) -> None:
    if layout.configuration.exists() or (layout.data_root / "image").exists():
        return  # somebody's choice, or images that would vanish from sight with another store
    say(f"writing {layout.configuration}: images in the containerd store, which keeps digests and provenance")
    write_whole(layout.configuration, json.dumps({"features": {"containerd-snapshotter": True}}, indent=2) + "\n")
    undo.append(f"rm {layout.configuration}")


def _lacks_dockerd() -> bool:
    program = find_program("dockerd")
    if program is None:
        return True
    words = run([program, "--version"], timeout=20.0, check=False).stdout.replace(",", " ").split()
    version = next((version_tuple(word) for word in words if word[:1].isdigit()), ())
    # Only the distribution's own is replaced: another vendor's would be removed by apt, not upgraded.
    if version >= OLDEST_ENGINE or find_program("dpkg") is None:
        return False
    return run(["dpkg", "-S", program], check=False).stdout.startswith("docker.io:")
