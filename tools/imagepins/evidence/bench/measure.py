"""A benchmark recipe of pins.yaml → result files of one or more sides, measured one after the other.

A side is an image in one environment. Its server starts in a container of its own; once the readiness check passes,
the client runs in that container, first to warm up, then to be measured; each run's records are kept as they are
written, with the side's name and what the image was proven to hold beside them.
"""

import itertools
import json
import os
import re
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from imagepins.errors import CheckFailed
from imagepins.evidence.bench import container
from imagepins.evidence.figures.records import iter_objects
from imagepins.pins.model import Bench
from imagepins.process import Completed
from imagepins.writing import write_text

_READY_ATTEMPT_SECONDS = 10.0
_READY_PAUSE_SECONDS = 0.5
_END_SECONDS = 3.0
"""How long after its client's failure a server may take to turn out to have ended."""

# Not every failure to exec: a container that is just ending refuses one as well.
_NOT_RUNNABLE = re.compile(r"exec failed.*(?:not found|no such file|permission denied)", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True)
class BenchSide:
    """One image in one environment. ``proof`` is what verify found in the image, stored beside each record.

    ``name`` is for people, ``slug`` names the side's files. Measured is the image of the proof, not what ``ref`` names
    by then.
    """

    name: str
    slug: str
    ref: str
    env: Mapping[str, str]
    proof: Mapping[str, Any]


@dataclass(frozen=True)
class Machine:
    """What the machine adds to a recipe: volumes with models, variables with tokens, the network."""

    volumes: tuple[str, ...] = ()
    pass_env: tuple[str, ...] = ()
    network: str = "bridge"


def plan_sides(bench: Bench, proofs: Mapping[str, Mapping[str, Any]]) -> list[BenchSide]:
    """Every image (by ref, with its proof) in every environment of the recipe, in that order."""
    several = len(bench.env_sets) > 1
    sides = []
    for at, (ref, env) in enumerate(itertools.product(proofs, bench.env_sets), start=1):
        name = _name(ref, env, with_ref=len(proofs) > 1 or not several, with_env=several)
        sides.append(BenchSide(name, f"{at}-{_slug(name)}", ref, env, proofs[ref]))
    return sides


def measure(bench: Bench, side: BenchSide, *, folder: Path, machine: Machine, tell: Callable[[str], None]) -> Path:
    """Measure one side and return its result file below ``folder``, one record a line, warm-up runs left out.

    Raises CheckFailed where the server does not get ready or the client fails or writes no record, EngineError where
    the container cannot be started; logs of server and client lie in ``folder`` then as well.
    """
    setup = container.Setup(
        image=str(side.proof["image_id"]),
        command=bench.server,
        env=side.env,
        devices=bench.devices,
        **vars(machine),
    )
    with container.running(setup, name=f"imagepins-bench-{os.getpid()}-{side.slug[:40]}") as name:
        try:
            _wait_until_ready(bench, side, name, tell)
            records = _run_clients(bench, side, name, folder, tell)
        finally:
            write_text(folder / f"{side.slug}.server.log", container.last_lines(name, count=2000) + "\n")
    path = folder / f"{side.slug}.jsonl"
    write_text(path, "".join(f"{json.dumps(record)}\n" for record in records))
    return path


def _wait_until_ready(bench: Bench, side: BenchSide, name: str, tell: Callable[[str], None]) -> None:
    start = time.monotonic()
    reason = "had no end"
    tell(f"{side.name}: starting the server")
    while (left := bench.ready_seconds - (time.monotonic() - start)) > 0:
        done = container.execute(name, bench.ready, timeout=min(_READY_ATTEMPT_SECONDS, left))
        if done is not None and done.code == 0:
            tell(f"{side.name}: ready after {time.monotonic() - start:.1f} s")
            return
        if (code := container.exit_code(name)) is not None:
            raise CheckFailed(f"{side.name}: the server ended with exit code {code}\n{container.last_lines(name)}")
        if done is not None:
            output = done.stdout + done.stderr
            if _NOT_RUNNABLE.search(output):
                raise CheckFailed(f"{side.name}: the readiness check cannot run in the image: {_last(output)}")
            reason = f"ended with exit code {done.code}: {_last(output)}"
        time.sleep(min(_READY_PAUSE_SECONDS, left))
    message = f"{side.name}: the server was not ready within {bench.ready_seconds} s; the last readiness check {reason}"
    raise CheckFailed(f"{message}\n{container.last_lines(name)}")


def _run_clients(
    bench: Bench, side: BenchSide, name: str, folder: Path, tell: Callable[[str], None]
) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    before = b""
    with (
        tempfile.TemporaryDirectory() as through,
        (folder / f"{side.slug}.client.log").open("w", encoding="utf-8") as log,
    ):
        for at in range(bench.warmup + bench.runs):
            is_warmup = at < bench.warmup
            label = (
                f"warm-up {at + 1} of {bench.warmup}" if is_warmup else f"run {at - bench.warmup + 1} of {bench.runs}"
            )
            tell(f"{side.name}: {label}")
            done = container.execute(name, bench.client, timeout=bench.client_seconds)
            if done is None:
                raise _failed(side, label, name, f"the client had no end within {bench.client_seconds} s")
            log.write(f"== {label}\n{done.stdout}{done.stderr}")
            if done.code != 0:
                raise _failed(side, label, name, f"the client ended with exit code {done.code}\n{_tail(done)}")
            after = container.read_file(name, bench.result, into=Path(through)) or b""
            found = _new_records(before, after)
            if not found:
                raise CheckFailed(f"{side.name}: {label}: the client wrote no record to {bench.result}\n{_tail(done)}")
            if any(record.get("completed") == 0 for record in found):
                # vLLM's client ends well all the same.
                raise _failed(side, label, name, f"no request of the client completed\n{_tail(done)}")
            records += [] if is_warmup else [_with_proof(record, side) for record in found]
            before = after
    return records


def _failed(side: BenchSide, label: str, name: str, client: str) -> CheckFailed:
    """Why a run gave nothing: a server that ends takes its container, and the client in it, along."""
    code = container.ended(name, within=_END_SECONDS)
    if code is None:
        return CheckFailed(f"{side.name}: {label}: {client}")
    server = f"the server ended with exit code {code} while the client ran"
    return CheckFailed(f"{side.name}: {label}: {server}\n{container.last_lines(name)}")


def _new_records(before: bytes, after: bytes) -> list[dict[str, Any]]:
    """Records a run added: what stands behind the old content where the file was appended to, else all of it."""
    if after == before:
        return []
    fresh = after[len(before) :] if before and after.startswith(before) else after
    return [item for _, item in iter_objects(fresh.decode(errors="replace")) if isinstance(item, dict)]


def _with_proof(record: dict[str, Any], side: BenchSide) -> dict[str, Any]:
    proof = {"ref": side.ref, "env": dict(side.env), **side.proof}
    return {**record, "tag": record.get("tag") or side.name, "imagepins": proof}


def _name(ref: str, env: Mapping[str, str], *, with_ref: bool, with_env: bool) -> str:
    parts = [ref] if with_ref else []
    if with_env:
        parts.append(" ".join(f"{key}={value}" for key, value in env.items()) or "as built")
    return " ".join(parts)


def _slug(name: str) -> str:
    """The name with the letters that Docker and every file system take."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", name).strip("-.")


def _tail(done: Completed) -> str:
    return "\n".join((done.stdout + done.stderr).strip().splitlines()[-20:])


def _last(text: str) -> str:
    return (text.strip().splitlines() or ["no output"])[-1]
