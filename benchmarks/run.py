"""Run the benchmarks beside this file (or those named) and print a table; exit 1 where a limit is broken.

Each module has ``results()``, which yields harness.Result values.
"""

import importlib
import sys
from pathlib import Path


def main(names: list[str]) -> int:
    """Run the named benchmark modules, or all."""
    here = Path(__file__).parent
    own = {"run", "harness"}
    broken = 0
    for name in names or sorted(path.stem for path in here.glob("*.py") if path.stem not in own):
        for result in importlib.import_module(name).results():
            verdict = "ok" if result.is_within else "OVER"
            broken += not result.is_within
            print(
                f"{verdict:4}  {result.figure:8.2f}  limit {result.limit:8.2f}  {result.name}  ({result.detail})",
                flush=True,
            )
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
