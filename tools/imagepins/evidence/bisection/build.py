"""A pin at another commit → the image as it would be with it, built but not tagged; the project stays as it is."""

import os
from dataclasses import dataclass
from pathlib import Path

from imagepins.build.causes import DOCKERFILE, OTHER, STEP
from imagepins.build.choose import choose
from imagepins.build.options import Job
from imagepins.build.options import Options as BuildOptions
from imagepins.build.run import build_all
from imagepins.bump.compose import compose
from imagepins.bump.move import Options
from imagepins.bump.run import Request, propose
from imagepins.errors import BuildFailed, RefError
from imagepins.pins.model import PinSet
from imagepins.plan.destination import Destination
from imagepins.plan.graph import Node, make_graph
from imagepins.render.dockerfile import render_all


@dataclass(frozen=True)
class Project:
    """The pins, where they stand, the target and pin a bisection is about, and how commits are looked up."""

    pinset: PinSet
    pins_path: Path
    target: str
    pin: str
    options: Options


@dataclass(frozen=True)
class Unbuildable:
    """Why a commit gives no image: it does not build, or does not fit the other pins."""

    why: str


def plan_at(project: Project, commit: str) -> tuple[PinSet, tuple[Node, ...]] | Unbuildable:
    """The pins with the pin at ``commit``, its version read from there, and the nodes to build for the target."""
    root = project.pins_path.parent.absolute()
    try:
        moves, _ = propose(project.pinset, Request({project.pin: commit}), project.options.permissive)
        after = compose(project.pinset, moves, project.pins_path).after
    except RefError as error:
        return Unbuildable(str(error))
    wanted = (after.targets[project.target],)
    return after, make_graph(after, root, wanted, lambda targets: render_all(after, root, targets))


def build_at(project: Project, commit: str) -> str | Unbuildable:
    """The ref of the image with the pin at ``commit``; one that is there already is not built again.

    Raises BuildFailed where the builder, not the commit, is at fault, EngineError.
    """
    planned = plan_at(project, commit)
    if isinstance(planned, Unbuildable):
        return planned
    pinset, nodes = planned
    node = next(each for each in nodes if each.name == project.target)
    todo, found = choose(nodes, [node.name], Destination(), push=False, force=False)
    if todo:
        root = project.pins_path.parent.absolute()
        job = Job(pinset=pinset, root=root, nodes=nodes, todo=todo, found=found)
        network = os.environ.get("IMAGEPINS_BUILD_NETWORK", "")
        for result in build_all(job, BuildOptions(content_only=True, network=network)):
            cause = result.outcome.cause if result.outcome else None
            if cause in {STEP, DOCKERFILE, OTHER}:
                return Unbuildable(f"{result.node.name} does not build: {_last(result.message)}")
            if cause or result.message:
                raise BuildFailed(f"{result.node.name} at {commit[:12]}: not the commit's fault\n{result.message}")
    return node.content_tag


def _last(message: str) -> str:
    return (message.strip().splitlines() or ["no output"])[0]
