"""Questions to the docker client → what it says, decoded. The client knows TLS, ssh, contexts and credentials."""

import json
import re
from collections.abc import Sequence
from typing import Any

from imagepins.errors import EngineError
from imagepins.process import Completed, ProcessFailed, run

ASK_SECONDS = 20.0
_NO_IMAGE = re.compile(r"no such image|not found", re.IGNORECASE)
_HELP = re.compile(r"^(?:Usage: |(?:See|Run) 'docker .*--help')")
_API_RANGE = re.compile(r"client version (\S+) is too (old|new)\..*?supported API version is ([\d.]+)", re.IGNORECASE)


def docker(args: Sequence[str], *, timeout: float = ASK_SECONDS) -> Completed:
    """Run ``docker ARGS`` for at most ``timeout`` seconds. Raises EngineError with the client's own complaint."""
    try:
        done = run(["docker", *args], timeout=timeout, check=False)
    except ProcessFailed as error:
        raise EngineError(f"docker {args[0]}: {error.reason}; see tools/engine status") from error
    if done.code != 0:
        raise EngineError(f"docker {args[0]}: {last_line(done)}")
    return done


def version_facts() -> tuple[dict[str, Any], dict[str, Any], str]:
    """Return what client and engine say of their versions, and the client's complaint if the two do not fit."""
    done = run(["docker", "version", "--format", "{{json .}}"], timeout=ASK_SECONDS, check=False)
    facts = _decode(done.stdout)
    return facts.get("Client") or {}, facts.get("Server") or {}, last_line(done) if done.code else ""


def client_version() -> str:
    """Return the version of the docker client without asking the engine; empty where it does not say."""
    words = run(["docker", "--version"], timeout=ASK_SECONDS, check=False).stdout.replace(",", " ").split()
    return next((word for word in words if word[:1].isdigit()), "")


def info_facts() -> dict[str, Any]:
    """Return ``docker info``: storage, data root, plugins. Raises EngineError where the client fails."""
    return _decode(docker(["info", "--format", "{{json .}}"]).stdout)


def image_facts(ref: str) -> dict[str, Any] | None:
    """Return ``docker image inspect REF``, or None where the engine has no such image. Raises EngineError."""
    done = run(["docker", "image", "inspect", ref, "--format", "{{json .}}"], timeout=ASK_SECONDS, check=False)
    if done.code == 0:
        return _decode(done.stdout)
    if _NO_IMAGE.search(done.stderr):
        return None
    raise EngineError(f"docker image inspect {ref}: {last_line(done)}")


def api_mismatch(complaint: str) -> str | None:
    """Turn the client's complaint about API versions into one sentence that says what to upgrade, or None."""
    match = _API_RANGE.search(complaint)
    if match is None:
        return None
    client, relation, limit = match.groups()
    if relation.lower() == "old":
        return f"The docker client speaks API {client}, and the engine needs {limit} or newer; upgrade the client."
    return f"The docker client speaks API {client}, and the engine knows {limit} at most; upgrade the engine."


def last_line(done: Completed) -> str:
    """Return the last line a program wrote, its standard error first; its exit code where it wrote none.

    The client's very last lines may only point to its help; what went wrong stands before them.
    """
    written = (done.stderr.strip() or done.stdout.strip()).splitlines()
    lines = [line for line in written if line.strip() and not _HELP.search(line)]
    return lines[-1] if lines else f"exit code {done.code}"


def _decode(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise EngineError(f"the docker client did not answer in JSON but {text.strip()[:80]!r}; upgrade it") from error
    return value if isinstance(value, dict) else {}
