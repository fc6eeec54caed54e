"""Wanted targets → results: choose, build, set tags right, load. One session builds at a time in one tree."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from imagepins.build.choose import Found, choose, refuse_incomplete, settle
from imagepins.build.options import Job, Options
from imagepins.build.results import Result
from imagepins.errors import UsageError
from imagepins.pins.model import PinSet
from imagepins.plan.graph import Node
from imagepins.terminal import to_stderr


def build_wanted(
    pinset: PinSet, root: Path, nodes: Sequence[Node], wanted: Sequence[str], options: Options
) -> list[Result]:
    """Build what of ``wanted`` is not there, with the parents it needs, and let tags stand for what is there.

    ``root`` is the directory of pins.yaml. Raises as ``choose``, ``run.build_all`` and ``atomic.build_atomically``.
    """
    todo, found = _choose(nodes, wanted, options)
    refuse_incomplete(pinset, todo)
    results: list[Result] = []
    if todo:
        with only_session(root, options.time_limit) as has_waited:
            if has_waited:
                todo, found = _choose(nodes, wanted, options)
            results = _build(Job(pinset=pinset, root=root, nodes=nodes, todo=todo, found=found), options)
    if not (options.atomic and any(result.message for result in results)):
        names = {node.name for node in todo}
        there = [node for node in nodes if node.name in wanted and node.name not in names]
        results = [*settle(there, found, options.destination, push=options.push), *results]
    if options.load:
        from imagepins.build.load import load_results

        load_results(results, push=options.push)
    return results


@contextmanager
def only_session(root: Path, seconds: float) -> Iterator[list[str]]:
    """Hold the right to build in this tree; what is given is empty unless another session had to end first."""
    from imagepins.engine.lock import only_one

    told: list[str] = []

    def say(_: str) -> None:
        told.append("waited")
        to_stderr("another build runs in this tree; waiting for it to end")

    with ExitStack() as stack:
        try:
            (root / "build").mkdir(exist_ok=True)
            stack.enter_context(only_one("build", say, directory=root / "build", timeout=seconds))
        except OSError as error:
            raise UsageError(f"{error.filename}: {error.strerror}; a build writes its files and logs there") from error
        yield told


def _choose(nodes: Sequence[Node], wanted: Sequence[str], options: Options) -> tuple[list[Node], Found]:
    todo, found = choose(nodes, wanted, options.destination, push=options.push, force=options.force)
    if options.atomic:
        # Tags of what is there move as well, so it is verified with the rest.
        names = {node.name for node in todo}
        there = [node for node in nodes if node.name in wanted and node.name not in names]
        todo += [node for node in there if found.local.missing_tags(node)]
    return todo, found


def _build(job: Job, options: Options) -> list[Result]:
    if not job.todo:
        return []
    if options.atomic:
        from imagepins.build.atomic import build_atomically

        return build_atomically(job, options)
    from imagepins.build.run import build_all

    return build_all(job, options)
