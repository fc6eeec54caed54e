"""An engine → the base image in it: already there, pulled, or made here with debootstrap."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from imagepins.engine import unixhttp
from imagepins.engine.dockercli import docker, image_facts
from imagepins.engine.endpoint import find_endpoint
from imagepins.engine.lock import only_one
from imagepins.engine.origin import BASE_REF, base_origin
from imagepins.engine.progress import Say
from imagepins.engine.usable import require_engine
from imagepins.errors import EngineError, NetworkError

REGISTRY_SECONDS = 8.0
"""How long a registry may take to answer; a closed network often swallows the question instead of refusing it."""
PULL_SECONDS = 600.0


@dataclass(frozen=True)
class Base:
    """A base image in the engine. ``digest`` is the registry's, and None for an image no registry has."""

    ref: str
    origin: str
    digest: str | None
    id: str


def find_base(ref: str = BASE_REF) -> Base | None:
    """Return the image ``ref`` of the engine, or None where it has none. Raises EngineError."""
    facts = image_facts(ref)
    return None if facts is None else _base(ref, facts)


def ensure_base(say: Say, *, ref: str = BASE_REF) -> Base:
    """Return the image ``ref``, after pulling it where a registry answers, or making it with debootstrap otherwise.

    Two runs at a time do the work once. Raises EngineError without a usable engine, and NetworkError, which names
    both reasons, where neither a registry nor a Debian mirror provides it.
    """
    require_engine()
    base = find_base(ref)
    if base:
        return base
    task = _task_name(ref)
    with only_one(task, say):
        base = find_base(ref)
        if base:
            return base
        refused = _pull(ref, say)
        if refused:
            say(f"{refused}; making {ref} with debootstrap")
            _make(ref, refused, task, say)
        base = find_base(ref)
    if base is None:
        raise EngineError(f"the engine took {ref} but does not show it; see docker image ls")
    return base


def _task_name(ref: str) -> str:
    # Runs for other engines or other references have nothing to wait for.
    return f"base-{sha256(f'{find_endpoint().host} {ref}'.encode()).hexdigest()[:12]}"


def _pull(ref: str, say: Say) -> str | None:
    """Pull ``ref`` and return None, or return why that cannot be done."""
    refused = _registry_silence(ref)
    if refused:
        return refused
    say(f"docker pull {ref}")
    try:
        docker(["pull", "--quiet", ref], timeout=PULL_SECONDS)
    except EngineError as error:
        return f"the registry does not give {ref} ({error})"
    return None


def _registry_silence(ref: str) -> str | None:
    """Ask the engine to ask the registry, which respects the engine's mirrors and proxy, and never waits for long."""
    socket = find_endpoint().socket
    if socket is None:
        return None  # the answer of a remote engine cannot be bounded this way; the pull itself is
    try:
        answer = unixhttp.get(socket, f"/distribution/{ref}/json", timeout=REGISTRY_SECONDS)
    except TimeoutError:
        return f"no registry answered for {ref} within {REGISTRY_SECONDS:g} s"
    except (OSError, ValueError) as error:
        raise EngineError(f"the engine broke off while asked for {ref}: {error}; see tools/engine status") from error
    if answer.status < 500:
        return None  # also where it refuses an anonymous question: the client may have credentials
    return f"no registry answered for {ref} ({_message(answer.body)})"


def _make(ref: str, refused: str, task: str, say: Say) -> None:
    from imagepins.engine.debootstrap import import_debian

    try:
        import_debian(ref, say, task=task)
    except NetworkError as error:
        raise NetworkError(f"{refused}, and {error}") from error


def _base(ref: str, facts: Mapping[str, Any]) -> Base:
    labels = (facts.get("Config") or {}).get("Labels")
    digests = [str(digest) for digest in facts.get("RepoDigests") or []]
    origin = base_origin(labels, digests)
    digest = digests[0].partition("@")[2] if origin == "registry" else None
    return Base(ref, origin, digest, str(facts.get("Id", "")))


def _message(body: str) -> str:
    import json

    try:
        return str(json.loads(body)["message"]).strip()
    except (ValueError, KeyError, TypeError):
        return body.strip()[:200] or "no reason given"
