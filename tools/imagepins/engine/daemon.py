"""An installed dockerd → one that answers, however the last one ended."""

import os
import re
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from imagepins.engine import unixhttp
from imagepins.engine.client import find_program, system_path
from imagepins.engine.endpoint import DEFAULT_SOCKET
from imagepins.engine.progress import Say
from imagepins.errors import EngineError
from imagepins.process import ProcessFailed, run

READY_SECONDS = 60.0
LOG_LINES = 15
ORPHAN_SECONDS = 1.0
_POLL_SECONDS = 0.05
_TELLING = re.compile(r"level=(error|fatal)|^failed to|^unable to|^error |unknown (shorthand )?flag", re.IGNORECASE)


@dataclass(frozen=True)
class Daemon:
    """Where one dockerd listens, and where it keeps its run-time files and its log."""

    socket: Path = Path(DEFAULT_SOCKET)
    pidfile: Path = Path("/var/run/docker.pid")
    exec_root: Path = Path("/var/run/docker")
    log: Path = Path("/var/log/imagepins-dockerd.log")
    options: tuple[str, ...] = ()

    @property
    def containerd_pidfile(self) -> Path:
        """Pid file of the containerd that dockerd starts where the system runs none."""
        return self.exec_root / "containerd" / "containerd.pid"

    @property
    def launch_pidfile(self) -> Path:
        """Pid file of the launcher: there from the first moment, while dockerd writes its own a little later."""
        return self.pidfile.with_name(f"imagepins-{self.pidfile.name}")


def start_daemon(daemon: Daemon, say: Say, *, by_systemd: bool = False, timeout: float = READY_SECONDS) -> None:
    """Start ``daemon`` unless it is on its way already, and return when it answers, within ``timeout`` seconds.

    The daemon gets a session of its own, so it outlives this process and its terminal. Raises EngineError with the
    end of the daemon's log when it ends again or does not answer in time.
    """
    deadline = time.monotonic() + timeout
    log_start = _log_size(daemon.log)
    _await_orphan(daemon)
    remove_stale_pidfiles(daemon, say)
    if process_in(daemon.pidfile, "dockerd") is None:
        if by_systemd:
            _start_by_systemd(say, timeout)
        else:
            _start_in_new_session(daemon, say)
    _await_answer(daemon, deadline, log_start, by_systemd=by_systemd)
    say(f"the engine answers at unix://{daemon.socket}")


def remove_stale_pidfiles(daemon: Daemon, say: Say) -> None:
    """Remove pid files of a killed engine whose number now belongs to another program.

    dockerd takes any living process for itself, or for its containerd, and refuses to start (moby/moby#46988).
    """
    for pidfile, program in ((daemon.pidfile, "dockerd"), (daemon.containerd_pidfile, "containerd")):
        if pidfile.exists() and process_in(pidfile, program) is None:
            say(f"removing {pidfile}: no {program} has the number in it")
            pidfile.unlink(missing_ok=True)


def process_in(pidfile: Path, program: str) -> int | None:
    """Return the process number in ``pidfile`` if it is a living ``program``, or None."""
    found = _living(pidfile)
    return found[0] if found and found[1] == program else None


def _living(pidfile: Path) -> tuple[int, str] | None:
    try:
        pid = int(pidfile.read_text(encoding="ascii"))
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError):
        return None
    head, _, tail = stat.rpartition(")")
    is_dead = tail.split()[:1] in (["Z"], ["X"])  # where nobody reaps orphans, a killed engine stays a zombie
    return None if is_dead else (pid, head.partition("(")[2])


def does_answer(socket: Path) -> bool:
    """Whether an engine answers its ping at ``socket`` within a second."""
    try:
        return unixhttp.get(str(socket), "/_ping", timeout=1.0).status == 200
    except (OSError, ValueError):
        return False


def _await_orphan(daemon: Daemon) -> None:
    # The kernel kills a dead dockerd's containerd a moment later; an engine that meets it alive waits ten seconds.
    deadline = time.monotonic() + ORPHAN_SECONDS
    while (
        process_in(daemon.containerd_pidfile, "containerd")
        and process_in(daemon.pidfile, "dockerd") is None
        and time.monotonic() < deadline
    ):
        time.sleep(_POLL_SECONDS)


def _start_by_systemd(say: Say, timeout: float) -> None:
    say("systemctl start docker")
    try:
        run(["systemctl", "start", "docker"], timeout=timeout)
    except ProcessFailed as error:
        text = f"systemd could not start docker: {error.reason}; see journalctl -u docker\n{error.output.strip()}"
        raise EngineError(text) from error


def _start_in_new_session(daemon: Daemon, say: Say) -> None:
    program = find_program("dockerd")
    if program is None:
        raise EngineError("there is no dockerd to start; install the package docker.io")
    daemon.log.parent.mkdir(parents=True, exist_ok=True)
    say(f"starting {program}, its log is {daemon.log}")
    pidfile = str(daemon.launch_pidfile)
    # start-stop-daemon is part of dpkg; it detaches, and believes a pid file only if that process runs this program.
    argv = ["start-stop-daemon", "--start", "--oknodo", "--background", "--make-pidfile", "--pidfile", pidfile]
    argv += ["--output", str(daemon.log), "--exec", program, "--", *daemon.options]
    run(argv, env={**os.environ, "PATH": system_path()}, timeout=20.0)


def _await_answer(daemon: Daemon, deadline: float, log_start: int, *, by_systemd: bool) -> None:
    while not does_answer(daemon.socket):
        # The launched process carries the launcher's name for its first moments, so any name will do for that one.
        is_gone = not (by_systemd or _living(daemon.launch_pidfile) or process_in(daemon.pidfile, "dockerd"))
        if is_gone or time.monotonic() > deadline:
            what = "ended again" if is_gone else "does not answer in time"
            log = "journalctl -u docker" if by_systemd else str(daemon.log)
            raise EngineError(f"dockerd {what}; its log is {log}{_log_end(daemon.log, log_start)}")
        time.sleep(_POLL_SECONDS)


def _log_size(log: Path) -> int:
    with suppress(OSError):
        return log.stat().st_size
    return 0


def _log_end(log: Path, start: int) -> str:
    with suppress(OSError):
        lines = log.read_bytes()[start:].decode(errors="replace").strip().splitlines()
        telling = [line for line in lines if _TELLING.search(line)]
        return "".join(f"\n  {line}" for line in (telling or lines)[-LOG_LINES:])
    return ""
