"""Ratios of two things measured in one run, interleaved, so that a busy machine slows both."""

import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

REPOSITORY = Path(__file__).resolve().parents[1]
PYTHON = str(REPOSITORY / ".venv/bin/python")


@dataclass(frozen=True)
class Result:
    """One figure and the most it may be. ``detail`` says what was measured, in words and seconds."""

    name: str
    figure: float
    limit: float
    detail: str

    @property
    def is_within(self) -> bool:
        """Whether the figure keeps its limit."""
        return self.figure <= self.limit


def command(argv: Sequence[str], *, cwd: Path = REPOSITORY) -> Callable[[], object]:
    """A callable that runs ``argv`` and fails loudly if it fails."""

    def call() -> object:
        done = subprocess.run(argv, cwd=cwd, capture_output=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{argv}: exit code {done.returncode}\n{done.stderr.decode(errors='replace')}")
        return done

    return call


def seconds(call: Callable[[], object]) -> float:
    """How long one call takes, in seconds of wall time."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def ratio(
    name: str, subject: Callable[[], object], baseline: Callable[[], object], *, limit: float, runs: int = 11
) -> Result:
    """Median time of ``subject`` over median time of ``baseline``, after one call of each that does not count."""
    subject(), baseline()
    pairs = [(seconds(subject), seconds(baseline)) for _ in range(runs)]
    mine, other = (median(times) for times in zip(*pairs, strict=True))
    return Result(name, mine / other, limit, f"{mine:.3f} s against {other:.3f} s, median of {runs}")
