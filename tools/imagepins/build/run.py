"""Nodes and options → built images: what is there is skipped, the rest built, told and remembered."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event

from imagepins.build import local as local_images
from imagepins.build.builder import check_builder
from imagepins.build.causes import INTERRUPTED
from imagepins.build.choose import refuse_incomplete
from imagepins.build.disk import check_space
from imagepins.build.display import Display, display
from imagepins.build.failure import describe_failure
from imagepins.build.labels import read_source
from imagepins.build.one import Outcome, Settings, build_one
from imagepins.build.options import Job, Options
from imagepins.build.results import BUILT, FAILED, SKIPPED, Result
from imagepins.build.schedule import Scheduler
from imagepins.build.secrets import build_secrets
from imagepins.build.state import LastBuild, read_state, write_state
from imagepins.build.workspace import Workspace
from imagepins.errors import UsageError
from imagepins.parallel import both
from imagepins.plan.graph import Node, ancestors, normal
from imagepins.registry.answers import Present
from imagepins.terminal import to_stderr


def build_all(job: Job, options: Options) -> list[Result]:
    """Build ``job.todo``. Raises PinsError for incomplete pins and EngineError for an unusable builder, before."""
    with settings(job, options) as how, display() as shown:
        if how.builder.sees_local_images:
            check_space([node.name for node in job.todo], read_state(how.workspace.state))
        run = Run(job, how, shown)
        outcomes = Scheduler(run.work, run.retrying, options.limits).run(job.todo)
    return _results(job, how, outcomes)


@contextmanager
def settings(job: Job, options: Options) -> Iterator[Settings]:
    """Settings for building ``job.todo``, checked; secrets exist as files while they are in use."""
    refuse_incomplete(job.pinset, job.todo)
    builder, source = both(lambda: check_builder(options.builder), lambda: read_source(job.root, job.pinset.path))
    if builder.is_elsewhere and not options.push:
        raise UsageError(
            f"builder {builder.name} is the engine of another docker context, where the images would stay: add --push, "
            f"or build there with DOCKER_CONTEXT={builder.name}"
        )
    with build_secrets(job.pinset.mirrors) as secrets:
        yield Settings(
            workspace=Workspace(job.root / "build"),
            source=source,
            builder=builder,
            secrets=secrets,
            network=options.network,
            destination=options.destination,
            push=options.push,
            content_only=options.content_only,
            cache=options.cache,
            cache_read_only=options.cache_read_only,
            no_cache=options.no_cache,
            attest=options.attest,
            time_limit=options.time_limit,
        )


@dataclass
class Run:
    """Work of one run, called from the scheduler's threads."""

    job: Job
    settings: Settings
    shown: Display
    digests: dict[str, str] = field(default_factory=dict)

    def work(self, node: Node, stop: Event) -> Outcome:
        """Build one node whose parents are there."""
        self.shown.started(node.name)
        by_name = {each.name: each for each in self.job.nodes}
        parents: dict[str, str] = {}
        linked: list[Node] = []
        for parent in ancestors(node, by_name):
            reference = self._reference(parent)
            parents[parent.name] = f"docker-image://{reference}" if reference else f"target:{parent.slug}"
            linked += [] if reference else [parent]
        try:
            outcome = build_one(node, self.settings, linked, parents, on_event=self._progress(node), stop=stop)
        except Exception as error:
            self.shown.ended(node.name, f"failed: {str(error).splitlines()[0].removeprefix(f'{node.name}: ')}")
            raise
        if digest := outcome.digest:
            self.digests[node.name] = digest
        self.shown.ended(node.name, _ending(outcome))
        return outcome

    def retrying(self, node: Node, outcome: Outcome, pause: float) -> None:
        """Say why there is another try."""
        cause = outcome.cause.name if outcome.cause else ""
        self.shown.ended(node.name, f"{cause}: {outcome.events.final_error.splitlines()[0]}; again in {pause:g} s")

    def _progress(self, node: Node) -> Callable[..., None]:
        return lambda events: self.shown.progress(node.name, events)

    def _reference(self, parent: Node) -> str | None:
        """What stands for a parent that is there, by digest; None where the builder makes it from its own cache."""
        remote = self.settings.destination.content_ref(parent)
        answer = self.job.found.registry.get(parent.name)
        if self.settings.push and remote and parent.name in self.digests:
            return f"{remote}@{self.digests[parent.name]}"
        if self.settings.builder.sees_local_images:
            if parent.name in self.digests:
                return parent.content_tag
            if built := self.job.found.local.built(parent):
                return f"{parent.content_tag}{built.pinned}"
        if remote and isinstance(answer, Present):
            return f"{remote}@{answer.digest}"
        return None


def _ending(outcome: Outcome) -> str:
    hits, steps = outcome.events.cache_hits
    if outcome.cause is INTERRUPTED:
        return f"interrupted after {outcome.seconds:.1f} s"
    if outcome.cause:
        return f"failed after {outcome.seconds:.1f} s: {outcome.cause.name}"
    return f"built in {outcome.seconds:.1f} s, {hits} of {steps} steps cached"


def _results(job: Job, settings: Settings, outcomes: Mapping[str, Outcome]) -> list[Result]:
    good = [node.content_tag for node in job.todo if node.name in outcomes and not outcomes[node.name].cause]
    sizes = local_images.disk_sizes(() if settings.push else good)
    results = [_result(job, settings, node, outcomes.get(node.name), sizes) for node in job.todo]
    remembered = {
        each.node.name: LastBuild(round(each.outcome.seconds, 1), each.size, each.digest)
        for each in results
        if each.state == BUILT and each.outcome
    }
    try:
        write_state(settings.workspace.state, remembered)
    except OSError as error:
        # Only forecasts come from it: what was built is good without.
        to_stderr(f"{settings.workspace.state}: {error.strerror}; durations and sizes are not remembered")
    return results


def _result(job: Job, settings: Settings, node: Node, outcome: Outcome | None, sizes: Mapping[str, int]) -> Result:
    if outcome is None:
        return Result(node, SKIPPED, message="not built, as another target failed")
    if outcome.cause:
        log = settings.workspace.log(node)
        message = describe_failure(job.pinset, job.root, node, outcome, log)
        return Result(node, FAILED, outcome=outcome, message=message)
    ref = settings.destination.content_ref(node) if settings.push else node.content_tag
    return Result(node, BUILT, ref or "", outcome.digest, sizes.get(normal(node.content_tag)), outcome)
