"""Machine → why its engine cannot be used, as one sentence, or nothing.

The fast question that every command asks first: one ping and a look at the file system, a few milliseconds.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from imagepins.engine import unixhttp
from imagepins.engine.client import find_buildx, find_client, find_program, version_tuple
from imagepins.engine.endpoint import Endpoint, find_endpoint
from imagepins.errors import EngineError

Kind = Literal["not-installed", "not-running", "denied", "unreachable", "silent", "api", "no-client", "no-buildx"]

MIN_API = "1.42"
"""API of Docker Engine 23.0, the first whose own BuildKit reads heredocs in a Dockerfile."""

PING_SECONDS = 5.0
REMOTE_SECONDS = 15.0


@dataclass(frozen=True)
class Problem:
    """Why no engine can be used: a kind to decide by, and one sentence with the next step."""

    kind: Kind
    text: str


def require_engine(env: Mapping[str, str] | None = None) -> None:
    """Return where an engine, a client and buildx are usable; raise EngineError with the one sentence otherwise."""
    problem = find_problem(env)
    if problem:
        raise EngineError(problem.text)


def find_problem(env: Mapping[str, str] | None = None) -> Problem | None:
    """Return what keeps the engine the docker client would talk to from being used, or None."""
    env = os.environ if env is None else env
    endpoint = find_endpoint(env)
    problem = _engine_problem(endpoint, env)
    if problem:
        return problem
    if find_client() is None:
        return Problem("no-client", f"{_at(endpoint)} answers, but there is no docker client on PATH; {_UP}.")
    if find_buildx(env) is None:
        return Problem("no-buildx", f"{_at(endpoint)} answers, but its client has no buildx plugin; {_UP}.")
    return None


_UP = "run tools/engine up, which installs it on Debian and Ubuntu"


def _engine_problem(endpoint: Endpoint, env: Mapping[str, str]) -> Problem | None:
    if endpoint.socket is None:
        return _remote_problem(endpoint, env)
    try:
        answer = unixhttp.get(endpoint.socket, "/_ping", timeout=PING_SECONDS)
    except PermissionError:
        return Problem("denied", _denied(endpoint.socket))
    except (FileNotFoundError, ConnectionRefusedError):
        return _absent(endpoint, env)
    except TimeoutError:
        text = f"{_at(endpoint)} took the connection but did not answer within {PING_SECONDS:g} s; restart it."
        return Problem("silent", text)
    except (OSError, ValueError) as error:
        return Problem("unreachable", f"{_at(endpoint)} cannot be used: {error}; {_where(endpoint)}.")
    if answer.status != 200:
        text = f"{_at(endpoint)} answers its ping with HTTP {answer.status}: {answer.body.strip()[:200]}; restart it."
        return Problem("silent", text)
    return api_problem(answer.headers.get("api-version", ""))


def api_problem(offered: str) -> Problem | None:
    """Return the problem of an engine whose newest API is ``offered``, or None where it is new enough."""
    if version_tuple(offered) >= version_tuple(MIN_API):
        return None
    text = (
        f"The Docker engine speaks API {offered or 'of unknown version'}, and API {MIN_API} is needed; "
        "upgrade the engine to Docker Engine 23.0 or later."
    )
    return Problem("api", text)


def _absent(endpoint: Endpoint, env: Mapping[str, str]) -> Problem:
    if not endpoint.is_default:
        text = f"No engine listens at {endpoint.host}; start it there, or {_where(endpoint)}."
        return Problem("unreachable", text)
    rootless = os.path.join(env.get("XDG_RUNTIME_DIR", "/nonexistent"), "docker.sock")  # noqa: PTH118 - a URL part
    if os.path.exists(rootless):  # noqa: PTH110 - as above
        text = f"No engine listens at {endpoint.host}, but a rootless one does; export DOCKER_HOST=unix://{rootless}."
        return Problem("unreachable", text)
    daemon = find_program("dockerd")
    if daemon:
        text = f"The Docker daemon is installed ({daemon}) but not running; run tools/engine up as root to start it."
        return Problem("not-running", text)
    text = "No Docker engine is installed here; run tools/engine up as root, which installs one on Debian and Ubuntu."
    return Problem("not-installed", text)


def _remote_problem(endpoint: Endpoint, env: Mapping[str, str]) -> Problem | None:
    from imagepins.process import ProcessFailed, run

    client = find_client()
    if client is None:
        return Problem("no-client", f"{_at(endpoint)} cannot be asked: there is no docker client on PATH; {_UP}.")
    try:
        # The client knows TLS, ssh and its contexts; asking through it keeps one reading of all three.
        argv = [client, "version", "--format", "{{.Server.APIVersion}}"]
        done = run(argv, env={**os.environ, **env}, timeout=REMOTE_SECONDS)
    except ProcessFailed as error:
        cause = (error.output.strip() or error.reason).splitlines()[-1]
        text = f"{_at(endpoint)} is out of reach: {cause}; check that host, or {_where(endpoint)}."
        return Problem("unreachable", text)
    return api_problem(done.stdout.strip())


def _denied(socket: str) -> str:
    return (
        f"The Docker socket {socket} may not be used by this user; run as root, or join its group "
        "(sudo usermod -aG docker $USER) and log in again."
    )


def _at(endpoint: Endpoint) -> str:
    chosen = "" if endpoint.chosen_by == "default" else f" ({endpoint.chosen_by})"
    return f"The Docker engine at {endpoint.host}{chosen}"


def _where(endpoint: Endpoint) -> str:
    if endpoint.chosen_by == "DOCKER_HOST":
        return "unset DOCKER_HOST to use the engine of this machine"
    if endpoint.chosen_by.startswith("context"):
        return "run docker context use default to use the engine of this machine"
    return "see tools/engine status"
