"""Entry point of ``tools/image``: for a verification, start what takes longest before anything else is loaded."""

import gc
import sys
from collections.abc import Sequence

WITHOUT_ENGINE = frozenset({"-h", "--help", "--from"})


def main(argv: Sequence[str] | None = None) -> int:
    """Run ``tools/image`` and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] != ["verify"] or WITHOUT_ENGINE.intersection(arguments):
        from imagepins.cli.image import main as run

        return run(arguments)
    # Both processes load libraries, work and end: what they would collect on the way is not worth the time.
    gc.disable()
    from imagepins.verify.keeper import Keeper

    with Keeper() as keeper:
        from imagepins.cli.image import main as run

        return run(arguments, keeper)
