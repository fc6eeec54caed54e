"""Node → one call of ``docker buildx bake``, its log, and what came of it."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

from imagepins.build.builder import Builder
from imagepins.build.causes import OTHER, Cause, classify
from imagepins.build.events import Events
from imagepins.build.labels import Source, make_labels
from imagepins.build.workspace import Workspace
from imagepins.errors import BuildFailed, EngineError
from imagepins.plan.bake import BakeTarget, bake_text, differences, read_printed
from imagepins.plan.graph import Node
from imagepins.process import ProcessFailed, run, stream


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How to build, the same for all targets of a run. ``time_limit`` is in seconds and for one target."""

    workspace: Workspace
    source: Source
    builder: Builder
    secrets: Mapping[str, Path]
    network: str = ""
    push: bool = False
    no_cache: bool = False
    attest: tuple[str, ...] = ()
    time_limit: float = 6 * 3600.0


@dataclass(frozen=True)
class Outcome:
    """How a build ended: its events, the cause of a failure or None, seconds, and buildx's metadata."""

    events: Events
    cause: Cause | None
    seconds: float
    metadata: Mapping[str, Any]


def bake_target(node: Node, settings: Settings, parents: Mapping[str, str]) -> BakeTarget:
    """The node as bake builds it. ``parents`` maps targets to what bake shall take for them."""
    space = settings.workspace
    mounted = {part for each in node.parsed.instructions for part in each.flag_values("mount") if "type=secret" in part}
    wanted = {name for name in settings.secrets if any(f"id={name}" in mount.split(",") for mount in mounted)}
    return BakeTarget(
        context=str(space.context(node)),
        dockerfile=str(space.dockerfile(node)),
        platforms=[node.target.platform],
        tags=[*node.target.tags, node.content_tag],
        output=["type=registry" if settings.push else "type=docker"],
        labels=make_labels(node, settings.source),
        args={"SOURCE_DATE_EPOCH": str(settings.source.epoch)},
        contexts={spelled: parents[name] for spelled, name in node.parents.items()},
        secret=[f"id={name},src={settings.secrets[name]}" for name in sorted(wanted)],
        network=settings.network,
        attest=settings.attest or ("type=provenance,disabled=true",),
    )


def build_one(
    node: Node,
    settings: Settings,
    linked: Mapping[str, Node],
    parents: Mapping[str, str],
    *,
    on_event: Callable[[Events], None],
    stop: Event,
) -> Outcome:
    """Build ``node``; ``linked`` are ancestors that the builder makes from its cache on the way.

    Raises EngineError where bake resolves the definition to something else than was written.
    """
    space = settings.workspace
    space.write(node, epoch=settings.source.epoch)
    targets = {bake_name(each): bake_target(each, settings, parents) for each in (node, *linked.values())}
    space.bake_file(node).write_text(bake_text(targets))
    argv = ["docker", "buildx", *(["--builder", settings.builder.name] if settings.builder.name else []), "bake"]
    argv += ["--file", str(space.bake_file(node))]
    _compare_resolved(argv, node, targets)
    argv += ["--progress=rawjson", "--metadata-file", str(space.metadata(node))]
    argv += ["--no-cache"] if settings.no_cache else []
    argv += ["--allow", "network.host"] if settings.network == "host" else []
    # The context is a folder this tool wrote, and secrets lie outside of the working directory.
    argv += ["--allow", "fs.read=*", bake_name(node)]
    return _watch(argv, node, settings, on_event, stop)


def bake_name(node: Node) -> str:
    """The node's name where bake allows neither slash nor dot."""
    return node.slug.replace(".", "_")


def _compare_resolved(argv: list[str], node: Node, targets: Mapping[str, BakeTarget]) -> None:
    try:
        printed = run([*argv, "--print", bake_name(node)], timeout=60).stdout
    except ProcessFailed as error:
        raise EngineError(f"{node.name}: {error}") from error
    if found := differences(targets, read_printed(printed)):
        raise BuildFailed(f"{node.name}: bake does not build what was written:\n  " + "\n  ".join(found))


def _watch(argv: list[str], node: Node, settings: Settings, on_event: Callable[[Events], None], stop: Event) -> Outcome:
    events = Events()
    began = time.monotonic()
    with settings.workspace.log(node).open("w", buffering=1) as log:

        def take(line: str) -> None:
            for text in events.feed(line):
                log.write(text + "\n")
            on_event(events)

        try:
            code = stream(argv, take, timeout=settings.time_limit, stop=stop)
            cause = None if code == 0 else classify(events.final_error, events.failed.tail if events.failed else ())
        except ProcessFailed as error:
            events.error_lines.append(f"ERROR: {error.reason}")
            log.write(f"{error.reason}\n")
            cause = OTHER if stop.is_set() else Cause("time limit", "give it more with --time-limit")
    seconds = time.monotonic() - began
    return Outcome(events, cause, seconds, {} if cause else _metadata(settings.workspace.metadata(node), node))


def _metadata(path: Path, node: Node) -> Mapping[str, Any]:
    """What buildx says of this node's result; entries of linked parents are not the node's."""
    try:
        found = json.loads(path.read_text()).get(bake_name(node), {})
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
