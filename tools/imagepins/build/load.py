"""Results that stand in a registry → the same images in the local engine, by digest, under their own tags."""

from collections.abc import Sequence

from imagepins.build.local import Local, look, tag
from imagepins.build.results import BUILT, PRESENT, Result
from imagepins.errors import NetworkError
from imagepins.plan.graph import repository
from imagepins.process import ProcessFailed, run

PULL_SECONDS = 2 * 3600.0


def load_results(results: Sequence[Result], *, push: bool) -> None:
    """Pull what was pushed or found in a registry and is not here, so that exactly that is tested.

    What was pushed, or looked for with ``push``, has to be here by its digest, and not only by its content: two
    builds of one content may differ. Raises EngineError and NetworkError.
    """
    good = [result for result in results if result.state in (BUILT, PRESENT) and result.digest]
    local = look([result.node for result in good])
    for result in good:
        if not _is_here(result, local, push=push):
            _pull(result)
            continue
        for name in local.missing_tags(result.node):
            tag(result.node.content_tag, name)


def _is_here(result: Result, local: Local, *, push: bool) -> bool:
    image = local.built(result.node)
    if image is None or not push:
        return image is not None
    return image.id == result.digest or any(each.endswith(f"@{result.digest}") for each in image.digests)


def _pull(result: Result) -> None:
    pinned = f"{repository(result.ref)}@{result.digest}"
    try:
        run(["docker", "pull", "--quiet", "--platform", result.node.target.platform, pinned], timeout=PULL_SECONDS)
    except ProcessFailed as error:
        raise NetworkError(f"{result.node.name}: {error}") from error
    for name in (*result.node.target.tags, result.node.content_tag):
        tag(pinned, name)
    # Its own tags keep the image; the nameless entry of the pull would only pile up.
    run(["docker", "image", "rm", pinned], timeout=60, check=False)
