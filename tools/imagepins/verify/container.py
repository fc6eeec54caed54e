"""An image and a request → the collector's document, from one container that is removed on every path.

The collector is the container's only process: images without a shell or ``sleep`` work, nothing that must stay alive
has to be found in the image, and one call to the engine (an exec) is saved.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from imagepins.errors import RefError
from imagepins.verify.client import WRONG_PLATFORM, connect
from imagepins.verify.facts import image_facts
from imagepins.verify.leftovers import marks_of, remove, remove_leftovers
from imagepins.verify.outcome import NoAnswer

if TYPE_CHECKING:
    from docker import APIClient

OUTPUT_LIMIT = 64_000_000
TAIL = 2000
GRACE_SECONDS = 5.0
"""What the container may take beyond the collector's own limit before it is killed."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """What to run: image, source and request, the base images whose layers are wanted, devices to pass through.

    ``owner`` is the process whose run it is: once it is gone, the container is a leftover.
    """

    ref: str
    source: str
    request: Mapping[str, Any]
    owner: int
    bases: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()


def observe(
    client: APIClient,
    run: Run,
    on_document: Callable[[dict[str, Any]], None],
    ended: threading.Event,
    created: threading.Event,
) -> None:
    """Collect in a container, hand the document to ``on_document``, and remove the container.

    The document is handed over before the removal, which nobody has to wait for. ``ended`` ends the container early;
    ``created`` is set once there is one. Raises NoAnswer where the container gave no document, RefError
    where its image was replaced meanwhile, and the SDK's errors.
    """
    name = f"imagepins-verify-{os.urandom(6).hex()}"
    mark = f"--imagepins-{os.urandom(12).hex()}--"
    output: Iterator[Any] = iter(())
    try:
        container = create(client, run, name, mark)
        created.set()
        output = client.attach(container, stdout=True, stderr=True, stream=True, demux=True)
        client.start(container)
        with _limits(container, run.request["seconds"] + GRACE_SECONDS, ended):
            facts = _facts(client, container, run)
            remove_leftovers(client)
            text = _between(output, mark)
        document = text.read()
        if document is None:
            raise _no_answer(client, container, text, run)
        # What the engine and this process say stands last: the container's own words may not take its place.
        on_document({**document, "image": facts, "request": dict(run.request)})
    finally:
        # An engine that never answered would not answer this either.
        if created.is_set():
            _remove(client, name, output)


def _facts(client: APIClient, container: str, run: Run) -> dict[str, Any]:
    """The facts of the very image that the container was made of: its ref may name another one by now."""
    from docker.errors import ImageNotFound

    image = client.inspect_container(container)["Image"]
    try:
        return {**image_facts(client, image, run.bases), "ref": run.ref}
    except ImageNotFound:
        raise RefError(f"{run.ref}: another image took its place while it was verified; verify it again") from None


def _remove(client: APIClient, name: str, output: Iterator[Any]) -> None:
    """Remove the container while reading what it still writes: the engine ends nothing that waits to be read."""

    def drain() -> None:
        with suppress(Exception):
            for _ in output:
                pass

    threading.Thread(target=drain, daemon=True).start()
    remove(client, name)


@contextmanager
def _limits(container: str, seconds: float, ended: threading.Event) -> Iterator[None]:
    """Kill the container when its time is over or ``ended`` is set."""
    left = threading.Event()

    def watch() -> None:
        ended.wait(seconds)
        if not left.is_set():
            with suppress(Exception):
                connect().kill(container)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        left.set()


@dataclass(frozen=True)
class Output:
    """What the container wrote: the text between the markers, and the end of everything else.

    ``is_endless``: more than OUTPUT_LIMIT bytes came without an answer among them.
    """

    document: str
    tail: str
    is_endless: bool = False

    def read(self) -> dict[str, Any] | None:
        """The document; None where there is none, or something else stands between the markers."""
        try:
            value = json.loads(self.document)
        except ValueError:
            return None
        return value if isinstance(value, dict) else None


def create(client: APIClient, run: Run, name: str, mark: str) -> str:
    """Create the container: collector as entrypoint, no network, read-only, labelled with this process."""
    argv = [run.request["python"], "-X", "utf8", "-I", "-S", "-c", run.source, "collect", mark, json.dumps(run.request)]
    settings = client.create_host_config(
        network_mode="none", read_only=True, devices=list(run.devices), init=False, log_config=_no_log()
    )
    created = client.create_container(
        run.ref,
        name=name,
        entrypoint=argv,
        command=[],
        host_config=settings,
        labels=marks_of(run.owner),
        healthcheck={"test": ["NONE"]},
        tty=False,
    )
    return str(created["Id"])


def _no_log() -> Any:
    from docker.types import LogConfig

    # What the collector writes is read as it comes; the engine need not keep it, least of all on a full disk.
    return LogConfig(type="none")


def _between(output: Iterator[tuple[bytes | None, bytes | None]], mark: str) -> Output:
    """Read until the second marker, the end, or the limit. Each byte is looked at once, however it comes."""
    seen, noise, needle, size, is_open = bytearray(), bytearray(), mark.encode(), 0, False
    for out, err in output:
        size += len(out or b"") + len(err or b"")
        fresh = max(0, len(seen) - len(needle) + 1)
        seen += out or b""
        at = seen.find(needle, fresh)
        if not is_open and at >= 0:
            is_open = True
            del seen[: at + len(needle)]
            at = seen.find(needle)
        if is_open and at >= 0:
            return Output(seen[:at].decode(errors="replace"), "")
        if not is_open:
            noise += (err or b"") + (out or b"")
            del noise[:-TAIL]
            del seen[: -len(needle)]
        if size > OUTPUT_LIMIT:
            return Output("", "", is_endless=True)
    return Output("", noise.decode(errors="replace").strip())


def _no_answer(client: APIClient, container: str, text: Output, run: Run) -> NoAnswer:
    if text.is_endless:
        return NoAnswer("endless", f"{run.ref}: {OUTPUT_LIMIT // 10**6} MB of output and no answer among it")
    state = client.inspect_container(container)["State"]
    last = f": {text.tail.splitlines()[-1][:300]}" if text.tail else ""
    if "exec format error" in text.tail:
        return NoAnswer("wrong-platform", WRONG_PLATFORM.format(ref=run.ref))
    if state.get("OOMKilled"):
        return NoAnswer("killed", f"{run.ref}: the collector was killed because the memory ran out")
    if state.get("Running") or state.get("ExitCode") == 137:
        return NoAnswer("timed-out", f"{run.ref}: timed out after {run.request['seconds']} s{last}")
    code = state.get("ExitCode")
    return NoAnswer("exited", f"{run.ref}: {run.request['python']} ended at once with code {code}, no answer{last}")
