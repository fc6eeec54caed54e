"""The engine's SDK → a client of the engine the docker command would use, and errors that say what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from imagepins.errors import EngineError, ImagePinsError, RefError

if TYPE_CHECKING:
    from docker import APIClient


class NoAnswer(ImagePinsError):
    """The collector gave no document; ``outcome`` says in one word why."""

    def __init__(self, outcome: str, message: str) -> None:
        super().__init__(message)
        self.outcome = outcome


def connect() -> APIClient:
    """A client of the engine that the docker command would use."""
    from docker import APIClient
    from docker.utils import kwargs_from_env

    from imagepins.engine.endpoint import find_endpoint

    options: dict[str, Any] = {**kwargs_from_env(), "base_url": find_endpoint().host}
    return APIClient(version="auto", timeout=60, use_ssh_client=True, **options)


WRONG_PLATFORM = (
    "{ref}: its programs cannot start on this engine's platform (exec format error); "
    "verify it on an engine of its own platform, or install binfmt handlers (docker run --privileged tonistiigi/binfmt)"
)


def translate(error: BaseException, ref: str) -> BaseException:
    """Errors of the SDK → errors that say what happened and what to do next."""
    from docker.errors import APIError, DockerException, ImageNotFound
    from requests.exceptions import RequestException

    text = str(getattr(error, "explanation", None) or error)
    if isinstance(error, ImageNotFound) or (isinstance(error, APIError) and "No such image" in text):
        return RefError(f"{ref}: no such image here; build it with tools/image build, or docker pull it")
    if isinstance(error, APIError) and "exec format error" in text:
        return NoAnswer("wrong-platform", WRONG_PLATFORM.format(ref=ref))
    if isinstance(error, APIError) and ("executable file not found" in text or "no such file or directory" in text):
        what = text.partition('exec: "')[2].partition('"')[0] or "python3"
        return NoAnswer("no-python", f"{ref}: {what} is not in the image, so nothing can be collected; see 'python:'")
    if isinstance(error, (DockerException, RequestException, OSError)) and not isinstance(error, ImagePinsError):
        return _engine_error(text)
    return error


def _engine_error(text: str) -> EngineError:
    from imagepins.engine.usable import find_problem

    problem = find_problem()
    return EngineError(problem.text if problem else f"the engine failed: {text}")
