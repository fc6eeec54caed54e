"""An image of pins.yaml and the refs to measure → result files of every side, in a folder of their own."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from imagepins.errors import UsageError
from imagepins.evidence.bench import container
from imagepins.evidence.bench.measure import Machine, measure, plan_sides
from imagepins.evidence.bench.proof import prove
from imagepins.evidence.figures.records import Parsed, parse_runs
from imagepins.pins.model import Bench, PinSet


@dataclass(frozen=True)
class Suite:
    """What to measure: an image's recipe, on ``refs`` (none: the image's own tag), with counts that replace its own.

    ``needs_two_sides`` is an option that only makes sense where sides are compared.
    """

    image: str
    refs: tuple[str, ...]
    folder: Path
    runs: int | None
    warmup: int | None
    machine: Machine
    needs_two_sides: str = ""


def default_folder(pins_path: Path, image: str) -> Path:
    """A new folder below build/, named by image and time."""
    return pins_path.parent / "build" / "bench" / image / time.strftime("%Y%m%d-%H%M%S")


def run_suite(pinset: PinSet, suite: Suite, *, tell: Callable[[str], None]) -> list[tuple[str, Parsed]]:
    """Measure every side; return the name and the runs of each. Raises UsageError where the image has no recipe,
    or one side only where two are needed.
    """
    targets = pinset.select((suite.image,))
    if len(targets) != 1:
        raise UsageError(
            f"{suite.image} has {len(targets)} variants; name one: {', '.join(each.name for each in targets)}"
        )
    target = targets[0]
    if target.bench is None:
        raise UsageError(f"{pinset.path}: image '{target.image}' has no benchmark recipe; add 'bench:' to it")
    bench = _with_counts(target.bench, suite)
    if suite.needs_two_sides and len(bench.env_sets) * max(len(suite.refs), 1) < 2:
        raise UsageError(
            f"{suite.needs_two_sides} compares, and there is one side: give --ref twice, or the recipe a second env set"
        )
    for name in container.sweep():
        tell(f"removed {name}, left behind by a run that was killed")
    proofs = {}
    for ref in suite.refs or (target.tags[0],):
        proofs[ref], doubt = prove(pinset, target, ref)
        if doubt:
            tell(doubt)
    suite.folder.mkdir(parents=True, exist_ok=True)
    sources = []
    for side in plan_sides(bench, proofs):
        path = measure(bench, side, folder=suite.folder, machine=suite.machine, tell=tell)
        sources.append((side.name, parse_runs(path.read_text(encoding="utf-8"), file=str(path))))
        tell(f"{side.name}: results in {path}")
    return sources


def _with_counts(bench: Bench, suite: Suite) -> Bench:
    runs = bench.runs if suite.runs is None else suite.runs
    return replace(bench, runs=runs, warmup=bench.warmup if suite.warmup is None else suite.warmup)
