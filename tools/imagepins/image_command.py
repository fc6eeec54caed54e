"""Entry point of ``tools/image``: for a verification, start what takes longest before anything else is loaded."""

import gc
import sys
from collections.abc import Sequence

WITHOUT_ENGINE = frozenset({"-h", "--help", "--from"})


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``tools/image`` and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] != ["verify"] or WITHOUT_ENGINE.intersection(arguments):
        return _run(arguments, None)
    # Both processes load libraries, work and end: what they would collect on the way is not worth the time.
    gc.disable()
    from imagepins.verify.keeper import Keeper

    with Keeper() as keeper:
        return _run(arguments, keeper)


def _run(arguments: Sequence[str], keeper: object) -> int:
    try:
        from imagepins.cli.image import main as run
    except KeyboardInterrupt:
        return 130
    return run(arguments, keeper)
