"""Results that stand in a registry → the same images in the local engine, by digest, under their own tags."""

from collections.abc import Iterable

from imagepins.build.local import tag
from imagepins.build.results import BUILT, PRESENT, Result
from imagepins.errors import NetworkError
from imagepins.plan.graph import repository
from imagepins.process import ProcessFailed, run

PULL_SECONDS = 2 * 3600.0


def load_results(results: Iterable[Result]) -> None:
    """Pull what was pushed or found in a registry, so that exactly that is tested. Raises NetworkError."""
    for result in results:
        if result.state not in (BUILT, PRESENT) or result.ref == result.node.content_tag or not result.digest:
            continue
        pinned = f"{repository(result.ref)}@{result.digest}"
        try:
            run(["docker", "pull", "--quiet", "--platform", result.node.target.platform, pinned], timeout=PULL_SECONDS)
        except ProcessFailed as error:
            raise NetworkError(f"{result.node.name}: {error}") from error
        for name in (*result.node.target.tags, result.node.content_tag):
            tag(pinned, name)
        # Its own tags keep the image; the nameless entry of the pull would only pile up.
        run(["docker", "image", "rm", pinned], timeout=60, check=False)
