"""Build all, verify all, and only then let tags move: nothing is tagged or pushed unless everything is good.

The images are made under their content tags alone. What is pushed in the end is what was verified, out of the local
engine, and not a second build of it; content references go first, so that a tag never leads to half of a set.
"""

import time
from collections.abc import Sequence
from dataclasses import replace

from imagepins.build import local as local_images
from imagepins.build.causes import classify, wait_seconds
from imagepins.build.options import Job, Options
from imagepins.build.results import BUILT, HELD, PRESENT, Result
from imagepins.build.run import build_all
from imagepins.errors import BuildFailed, CheckFailed, NetworkError
from imagepins.plan.destination import Destination
from imagepins.plan.graph import Node
from imagepins.process import run

PUSH_SECONDS = 2 * 3600.0


def build_atomically(job: Job, options: Options) -> list[Result]:
    """Build and verify ``job.todo``, then tag or push it.

    Raises CheckFailed where an image does not hold its pins. A failed build is told by the results, as ever.
    """
    local = local_images.look(job.todo)
    todo = [node for node in job.todo if options.force or not local.built(node)]
    results = build_all(replace(job, todo=todo), replace(options, push=False, content_only=True)) if todo else []
    if any(result.state != BUILT for result in results):
        return [_held_back(result) for result in results]
    _verify(job, job.todo)
    by_name = {result.node.name: result for result in results}
    every = [by_name.get(node.name, Result(node, PRESENT, node.content_tag)) for node in job.todo]
    if options.push:
        return _push(every, options.destination)
    for node in job.todo:
        for name in node.target.tags:
            local_images.tag(node.content_tag, name)
    return every


def _held_back(result: Result) -> Result:
    if result.state != BUILT:
        return result
    return replace(result, state=HELD, message="built and not tagged, as another target failed")


def _verify(job: Job, nodes: Sequence[Node]) -> None:
    from imagepins.verify.keeper import Keeper
    from imagepins.verify.reports import explain, headline
    from imagepins.verify.run import Options as VerifyOptions
    from imagepins.verify.run import verify_target

    bad = []
    for node in nodes:
        with Keeper() as keeper:
            report = verify_target(job.pinset, node.target, VerifyOptions(ref=node.content_tag), keeper)
        if not report.is_good(strict=False):
            failed = [explain(report, check) for check in report.checks if check.status.name == "FAILED"]
            bad.append("\n".join([headline(report), *failed]))
    if bad:
        raise CheckFailed("\n".join([*bad, "nothing was tagged or pushed"]))


def _push(results: Sequence[Result], place: Destination) -> list[Result]:
    pushed = []
    for result in results:
        ref = place.content_ref(result.node) or ""
        pushed.append(replace(result, ref=ref, digest=_push_one(result.node.content_tag, ref)))
    for result in results:
        for ref in place.refs(result.node)[:-1]:
            _push_one(result.node.content_tag, ref)
    return pushed


def _push_one(source: str, ref: str) -> str:
    """Push a local image as ``ref``, again where the error allows it, and return its digest."""
    local_images.tag(source, ref)
    attempt = 1
    while True:
        done = run(["docker", "push", "--quiet", ref], timeout=PUSH_SECONDS, check=False)
        if done.code == 0:
            return _digest(ref)
        cause = classify(done.stderr.strip())
        if attempt > cause.retries:
            raise NetworkError(f"{ref}: {cause.name}: {done.stderr.strip()}")
        time.sleep(wait_seconds(done.stderr, attempt))
        attempt += 1


def _digest(ref: str) -> str:
    from imagepins.build.remote import ask
    from imagepins.registry.answers import Present

    answer = ask([ref])[ref]
    if not isinstance(answer, Present):
        raise BuildFailed(f"{ref}: pushed, but the registry does not show it: {answer.reason}")
    return answer.digest
