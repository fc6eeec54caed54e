"""The engine's SDK → a client of the engine the docker command would use, and errors that say what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from imagepins.errors import EngineError, ImagePinsError, RefError
from imagepins.verify.outcome import NoAnswer

if TYPE_CHECKING:
    from docker import APIClient


API = "1.44"
"""API of Docker Engine 25 (2024), and the oldest that Docker Engine 29 still speaks."""


def connect(version: str = API, *, seconds: int = 60) -> APIClient:
    """A client of the engine that the docker command would use. Says nothing to the engine, unless told ``auto``.

    ``seconds`` is what the engine has for each answer.
    Asking for the version first would cost a tenth of a whole verification.
    """
    from docker import APIClient
    from docker.utils import kwargs_from_env

    from imagepins.engine.endpoint import find_endpoint

    options: dict[str, Any] = {**kwargs_from_env(), "base_url": find_endpoint().host}
    return APIClient(version=version, timeout=seconds, use_ssh_client=True, **options)


def is_too_new(error: BaseException) -> bool:
    """Whether the engine refused a call because it is older than the API that was asked for."""
    return "client version" in str(error) and "too new" in str(error)


def has_no_device(error: BaseException) -> bool:
    """Whether the engine refused because its machine has no such device; the checks then say that there is no GPU."""
    return "gathering device information" in str(error)


WRONG_PLATFORM = (
    "{ref}: its programs cannot start on this engine's platform (exec format error); "
    "verify it on an engine of its own platform, or install binfmt handlers (docker run --privileged tonistiigi/binfmt)"
)


CANNOT_START = ("unable to find user", "unable to find group", "container process: ", "unable to start container")
"""What the engine says of an image whose own configuration keeps every container of it from starting."""


def translate(error: BaseException, ref: str) -> BaseException:
    """Errors of the SDK → errors that say what happened and what to do next."""
    from docker.errors import APIError, DockerException, ImageNotFound
    from requests.exceptions import RequestException

    text = str(getattr(error, "explanation", None) or error)
    if isinstance(error, ImageNotFound) or (isinstance(error, APIError) and "No such image" in text):
        return RefError(f"{ref}: no such image here; build it with tools/image build, or docker pull it")
    if isinstance(error, APIError) and "exec format error" in text:
        return NoAnswer("wrong-platform", WRONG_PLATFORM.format(ref=ref))
    if isinstance(error, APIError) and 'exec: "' in text:
        program, _, reason = text.partition('exec: "')[2].partition('": ')
        reason = reason.removesuffix(": unknown")
        return NoAnswer("no-python", f"{ref}: {program} cannot be started ({reason}); see 'python:' of the image")
    if isinstance(error, APIError) and any(word in text for word in CANNOT_START):
        return NoAnswer("cannot-start", f"{ref}: no container of it can start: {text.strip()}")
    if isinstance(error, (DockerException, RequestException, OSError)) and not isinstance(error, ImagePinsError):
        return _engine_error(text)
    return error


def _engine_error(text: str) -> EngineError:
    from imagepins.engine.dockercli import api_mismatch
    from imagepins.engine.usable import find_problem

    problem = find_problem()
    return EngineError(problem.text if problem else api_mismatch(text) or f"the engine failed: {text}")
