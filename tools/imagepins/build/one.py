"""Node → one call of ``docker buildx bake``, its log, and what came of it."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

from imagepins.build.builder import Builder
from imagepins.build.causes import INTERRUPTED, OTHER, Cause, classify
from imagepins.build.events import Events
from imagepins.build.labels import Source, make_labels
from imagepins.build.leaks import refuse_leaks
from imagepins.build.workspace import Workspace
from imagepins.errors import BuildFailed, EngineError
from imagepins.plan.arguments import read_args
from imagepins.plan.bake import BakeTarget, bake_text, differences, fields, read_printed
from imagepins.plan.destination import Destination
from imagepins.plan.graph import Node
from imagepins.process import ProcessFailed, run, stream

EVERYTHING = Path("/")
"""Bake asks for leave to read outside of its working directory; contexts and secrets lie where they lie."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How to build, the same for all targets of a run. ``time_limit`` is in seconds and for one target.

    ``output`` replaces the usual one, the local engine or, for a push, the registry.
    """

    workspace: Workspace
    source: Source
    builder: Builder
    secrets: Mapping[str, Path]
    network: str = ""
    destination: Destination = field(default_factory=Destination)
    push: bool = False
    content_only: bool = False
    output: str = ""
    cache: str = ""
    cache_read_only: bool = False
    no_cache: bool = False
    attest: tuple[str, ...] = ()
    time_limit: float = 6 * 3600.0


@dataclass(frozen=True)
class Outcome:
    """How a build ended: its events, the cause of a failure or None, seconds, and buildx's metadata."""

    events: Events
    cause: Cause | None
    seconds: float
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def digest(self) -> str | None:
        """Digest of the result as it was pushed or stored; None where nothing was exported."""
        found = self.metadata.get("containerimage.digest")
        return str(found) if found else None


def failed(node: Node, error: Exception) -> Outcome:
    """What an error of the tool's own means for one node, so that the others can go on."""
    events = Events()
    events.error_lines.append(f"ERROR: {str(error).removeprefix(f'{node.name}: ')}")
    return Outcome(events, OTHER, 0.0)


def bake_target(node: Node, part: Node, settings: Settings, parents: Mapping[str, str]) -> BakeTarget:
    """``part``, the node or an ancestor, as bake builds it. ``parents`` maps targets to what stands for them."""
    space = settings.workspace
    mounts = [value.split(",") for each in part.parsed.instructions for value in each.flag_values("mount")]
    wanted = [name for name in sorted(settings.secrets) if any(f"id={name}" in mount for mount in mounts)]
    return BakeTarget(
        context=str(space.context(node, part)),
        dockerfile=str(space.dockerfile(node, part)),
        platforms=[part.target.platform],
        tags=_tags(part, settings),
        output=[settings.output or ("type=registry" if settings.push else "type=docker")],
        labels=make_labels(part, settings.source),
        args={"SOURCE_DATE_EPOCH": _epoch(part, settings)},
        contexts={spelled: parents[name] for spelled, name in part.parents.items()},
        secret=[fields(id=name, src=str(settings.secrets[name])) for name in wanted],
        network=settings.network,
        attest=settings.attest or ("type=provenance,disabled=true",),
        **_caches(part, settings.cache, read_only=settings.cache_read_only),
    )


def _epoch(part: Node, settings: Settings) -> str:
    """Times in the image: what its Dockerfile says, or else those of the commit.

    Steps that read SOURCE_DATE_EPOCH run again for another value of it. So a Dockerfile that hands it to steps gives it
    a value of its own, which an argument would override with every commit.
    """
    args = read_args(part.dockerfile, str(part.target.dockerfile))
    return next((arg.value for arg in args if arg.name == "SOURCE_DATE_EPOCH"), str(settings.source.epoch))


def _tags(node: Node, settings: Settings) -> list[str]:
    if settings.push:
        return settings.destination.refs(node)
    return [node.content_tag] if settings.content_only else [*node.target.tags, node.content_tag]


def _caches(node: Node, prefix: str, *, read_only: bool) -> dict[str, list[str]]:
    """Layer cache in a registry, one reference per target; an export that fails does not fail the image."""
    if not prefix:
        return {}
    ref = f"{prefix}/{node.target.image}:cache-{node.target.variant}"
    return {
        "cache_from": [f"type=registry,ref={ref}"],
        "cache_to": [] if read_only else [f"type=registry,ref={ref},mode=max,ignore-error=true"],
    }


def build_one(
    node: Node,
    settings: Settings,
    linked: Sequence[Node],
    parents: Mapping[str, str],
    *,
    on_event: Callable[[Events], None],
    stop: Event,
) -> Outcome:
    """Build ``node``; ``linked`` are ancestors that the builder makes from its cache on the way.

    Raises BuildFailed where the definition holds something private or bake resolves it to something else, and where
    files of the build cannot be written; EngineError where bake does not run.
    """
    space = settings.workspace
    argv = [*settings.builder.argv, "bake", "--file", str(space.bake_file(node))]
    try:
        space.write(node, (node, *linked), epoch=settings.source.epoch)
        targets = {each.slug: bake_target(node, each, settings, parents) for each in (node, *linked)}
        definition = bake_text(targets)
        space.bake_file(node).write_text(definition, encoding="utf-8")
        texts = {each.target.dockerfile: each.dockerfile for each in (node, *linked)}
        refuse_leaks(node.name, {**texts, str(space.bake_file(node)): definition}, settings.secrets)
        _compare_resolved(argv, node, targets)
        argv += ["--progress=rawjson", "--metadata-file", str(space.metadata(node))]
        argv += ["--no-cache"] if settings.no_cache else []
        argv += ["--allow", "network.host"] if settings.network == "host" else []
        return _watch([*argv, node.slug], node, settings, on_event, stop)
    except OSError as error:
        raise BuildFailed(f"{node.name}: {error.filename or space.log(node)}: {error.strerror}") from error


def _compare_resolved(argv: list[str], node: Node, targets: Mapping[str, BakeTarget]) -> None:
    try:
        printed = run([*argv, "--print", node.slug], cwd=EVERYTHING, timeout=60).stdout
    except ProcessFailed as error:
        raise EngineError(f"{node.name}: {error}") from error
    if found := differences(targets, read_printed(printed)):
        raise BuildFailed(f"{node.name}: bake does not build what was written:\n  " + "\n  ".join(found))


def _watch(argv: list[str], node: Node, settings: Settings, on_event: Callable[[Events], None], stop: Event) -> Outcome:
    events = Events()
    began = time.monotonic()
    with settings.workspace.log(node).open("w", buffering=1, encoding="utf-8", errors="replace") as log:

        def take(line: str) -> None:
            for text in events.feed(line):
                log.write(text + "\n")
            on_event(events)

        try:
            code = stream(argv, take, cwd=EVERYTHING, timeout=settings.time_limit, stop=stop)
            cause = None if code == 0 else classify(events.final_error, events.failed.tail if events.failed else ())
        except ProcessFailed as error:
            events.error_lines.append(f"ERROR: {error.reason}")
            log.write(f"{error.reason}\n")
            cause = INTERRUPTED if stop.is_set() else Cause("time limit", "give it more with --time-limit")
    seconds = time.monotonic() - began
    if cause:
        return Outcome(events, cause, seconds)
    outcome = Outcome(events, None, seconds, _metadata(settings.workspace.metadata(node), node))
    if settings.push and not outcome.digest:
        events.error_lines.append("ERROR: the builder says it pushed, but names no digest")
        return Outcome(events, Cause("not exported", "see the log; nothing may have been pushed"), seconds)
    return outcome


def _metadata(path: Path, node: Node) -> Mapping[str, Any]:
    """What buildx says of this node's result; entries of linked parents are not the node's."""
    try:
        found = json.loads(path.read_text(encoding="utf-8")).get(node.slug, {})
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
