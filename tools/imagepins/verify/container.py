"""An image and a request → the collector's document, from one container that is removed on every path.

The collector is the container's only process: images without a shell or ``sleep`` work, and there is nothing to exec
into that could have exited. The engine is spoken to by a thread, so that an interrupt of the main thread never cuts a
call in two; what the thread has made, it removes.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from imagepins.verify.client import WRONG_PLATFORM, NoAnswer, connect, translate
from imagepins.verify.facts import image_facts
from imagepins.verify.leftovers import own_labels, remove, remove_leftovers

if TYPE_CHECKING:
    from docker import APIClient

OUTPUT_LIMIT = 64_000_000
TAIL = 2000
GRACE_SECONDS = 5.0
"""What the container may take beyond the collector's own limit before it is killed."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """What to run: image, source and request, the base images whose layers are wanted, devices to pass through."""

    ref: str
    source: str
    request: Mapping[str, Any]
    bases: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()


@dataclass
class Observation:
    """A run in a thread of its own. ``result`` waits for the document; leaving by an exception ends the container."""

    run: Run
    _document: dict[str, Any] = field(default_factory=dict)
    _error: BaseException | None = None
    _cancelled: threading.Event = field(default_factory=threading.Event)
    _answered: threading.Event = field(default_factory=threading.Event)
    _container: list[str] = field(default_factory=list)

    def __enter__(self) -> Observation:
        self._thread = threading.Thread(target=self._work, name="collector", daemon=False)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Wait until the container is removed; a second interrupt does not cut that short."""
        self._cancelled.set()
        interrupted = False
        while self._thread.is_alive():
            try:
                if not self._answered.is_set():
                    self._kill()
                self._thread.join(0.2)
            except KeyboardInterrupt:
                interrupted = True
        if interrupted:
            raise KeyboardInterrupt

    def result(self) -> dict[str, Any]:
        """The document. Raises NoAnswer, RefError (no such image) or EngineError."""
        self._answered.wait()
        if self._error:
            raise self._error
        return self._document

    def _work(self) -> None:
        try:
            client = connect()
            try:
                self._observe(client)
            finally:
                client.close()
        except BaseException as error:  # noqa: BLE001 - handed to the thread that asked
            self._error = self._error or translate(error, self.run.ref)
        finally:
            self._answered.set()

    def _observe(self, client: APIClient) -> None:
        name = f"imagepins-verify-{secrets.token_hex(6)}"
        mark = f"--imagepins-{secrets.token_hex(12)}--"
        try:
            container = create(client, self.run, name, mark)
            self._container.append(container)
            output = client.attach(container, stdout=True, stderr=True, stream=True, demux=True)
            if not self._cancelled.is_set():
                client.start(container)
                self._receive(client, container, output, mark)
        except BaseException as error:  # noqa: BLE001 - the answer must not wait for the removal
            self._error = translate(error, self.run.ref)
        finally:
            self._answered.set()
            remove(client, name)

    def _receive(self, client: APIClient, container: str, output: Any, mark: str) -> None:
        timer = threading.Timer(self.run.request["seconds"] + GRACE_SECONDS, self._kill)
        timer.daemon = True
        timer.start()
        try:
            self._document["image"] = image_facts(client, self.run.ref, self.run.bases)
            remove_leftovers(client)
            text = _between(output, mark)
        finally:
            timer.cancel()
        try:
            self._document |= json.loads(text.document)
        except ValueError:
            raise _no_answer(client, container, text, self.run) from None

    def _kill(self) -> None:
        if self._container:
            with suppress(Exception):
                other = connect()
                other.kill(self._container[0])
                other.close()


@dataclass(frozen=True)
class Output:
    """What the container wrote: the text between the markers, and the end of everything else."""

    document: str
    tail: str


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
        labels=own_labels(),
        healthcheck={"test": ["NONE"]},
        tty=False,
    )
    return str(created["Id"])


def _no_log() -> Any:
    from docker.types import LogConfig

    # What the collector writes is read as it comes; the engine need not keep it, least of all on a full disk.
    return LogConfig(type="none")


def _between(output: Iterator[tuple[bytes | None, bytes | None]], mark: str) -> Output:
    """Read until the second marker, the end, or the limit."""
    seen, noise, needle = bytearray(), bytearray(), mark.encode()
    for out, err in output:
        noise += err or b""
        del noise[:-TAIL]
        seen += out or b""
        begin = seen.find(needle)
        if begin < 0:
            noise += out or b""
            del noise[:-TAIL]
            del seen[: -len(needle)]
        elif out and seen.find(needle, begin + len(needle)) >= 0:
            return Output(seen[begin + len(needle) :].partition(needle)[0].decode(errors="replace"), "")
        if len(seen) > OUTPUT_LIMIT:
            break
    return Output("", noise.decode(errors="replace").strip())


def _no_answer(client: APIClient, container: str, text: Output, run: Run) -> NoAnswer:
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
