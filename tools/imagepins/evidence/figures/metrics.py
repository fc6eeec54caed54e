"""Name of a figure in a result file → what it means: title, unit, which direction is better.

Names follow ``sglang.bench_serving``; those of ``vllm bench serve`` are mapped onto them.
"""

import difflib
import re
from dataclasses import dataclass

from imagepins.errors import UsageError

HEADLINE = ("total_throughput", "median_ttft_ms", "median_tpot_ms", "median_itl_ms", "p99_itl_ms")
"""The figures a serving image is judged by, in the order they are shown."""

_FAMILIES = {"ttft": "TTFT", "tpot": "TPOT", "itl": "ITL", "e2e_latency": "end-to-end latency"}
_LATENCY = re.compile(r"(?P<stat>mean|median|std|p\d{1,2}(?:\.\d+)?)_(?P<family>ttft|tpot|itl|e2el|e2e_latency)_ms")
_ALIASES = {"total_token_throughput": "total_throughput"}
_RATES = {
    "total_throughput": ("total token throughput", "tok/s"),
    "output_throughput": ("output token throughput", "tok/s"),
    "input_throughput": ("input token throughput", "tok/s"),
    "request_throughput": ("request throughput", "req/s"),
    "request_goodput": ("request goodput", "req/s"),
    "max_output_tokens_per_s": ("peak output token throughput", "tok/s"),
    "accept_length": ("accept length", "tokens"),
}


@dataclass(frozen=True)
class Metric:
    """One figure: its canonical ``key``, ``title`` and ``unit`` as shown, and recorded value / ``per_unit`` = shown."""

    key: str
    title: str
    unit: str
    higher_is_better: bool
    per_unit: float = 1.0

    @property
    def label(self) -> str:
        return f"{self.title} ({self.unit})"

    @property
    def is_duration(self) -> bool:
        """Whether it is a time, which something that happened cannot take none of; a spread may be none."""
        return self.key.endswith("_ms") and not self.key.startswith("std_")

    @property
    def direction(self) -> str:
        return "higher is better" if self.higher_is_better else "lower is better"


def find_metric(name: str) -> Metric | None:
    """The metric a recorded or typed ``name`` stands for, under either tool's spelling; None when it is no metric."""
    key = _ALIASES.get(name, name)
    if rate := _RATES.get(key):
        return Metric(key, *rate, higher_is_better=True)
    if not (match := _LATENCY.fullmatch(name)):
        return None
    family = "e2e_latency" if match["family"] == "e2el" else match["family"]
    # Times to the first token and of whole requests are seconds to a reader; the files hold milliseconds.
    unit, per_unit = ("s", 1000.0) if family in {"ttft", "e2e_latency"} else ("ms", 1.0)
    title = f"{match['stat']} {_FAMILIES[family]}"
    return Metric(f"{match['stat']}_{family}_ms", title, unit, higher_is_better=False, per_unit=per_unit)


def require_metric(name: str) -> Metric:
    """The metric of a typed ``name``. Raises UsageError with the nearest known name."""
    if metric := find_metric(name):
        return metric
    latencies = [f"{stat}_{family}_ms" for family in _FAMILIES for stat in ("mean", "median", "p90", "p95", "p99")]
    near = difflib.get_close_matches(name.lower(), [*_RATES, *_ALIASES, *latencies], n=1)
    raise UsageError(f"no figure is called {name!r}" + (f"; nearest is {near[0]}" if near else ""))
