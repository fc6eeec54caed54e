"""Records as both benchmarks write them, and the commands of this package run in-process."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest

from imagepins.cli import run_command
from imagepins.cli.compare import compare as compare_command

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Result:
    """What a command gave back."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out, parse_constant=lambda name: pytest.fail(f"{name} is not strict JSON"))


Run = Callable[..., Result]


@pytest.fixture
def compare(capsys: pytest.CaptureFixture[str]) -> Run:
    """``tools/image compare ARGS...``."""
    return _runner(compare_command, capsys)


def _runner(command: click.Command, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*argv: str | Path) -> Result:
        capsys.readouterr()
        code = run_command(command, [str(each) for each in argv], name=str(command.name))
        out, err = capsys.readouterr()
        return Result(code, out, err)

    return run


@pytest.fixture
def story() -> Callable[[str], Path]:
    """The recorded run of that name."""
    return lambda name: DATA / f"{name}.jsonl"


@pytest.fixture
def sglang_record() -> Callable[..., dict[str, Any]]:
    """A record of a release that knows neither tag, total_throughput nor p90, with fields changed or added."""

    def make(**changes: Any) -> dict[str, Any]:
        return {
            "backend": "sglang",
            "dataset_name": "sharegpt",
            "request_rate": 5.0,
            "max_concurrency": 256,
            "sharegpt_output_len": None,
            "random_input_len": 1024,
            "random_output_len": 1024,
            "random_range_ratio": 0.0,
            "duration": 204.53694480800186,
            "completed": 1000,
            "total_input_tokens": 302118,
            "total_output_tokens": 195775,
            "request_throughput": 4.88909229058201,
            "input_throughput": 1477.0827846460556,
            "output_throughput": 957.162043188693,
            "mean_ttft_ms": 91.692,
            "median_ttft_ms": 76.420,
            "std_ttft_ms": 65.222,
            "p99_ttft_ms": 327.914,
            "mean_tpot_ms": 11.809,
            "median_tpot_ms": 11.829,
            "std_tpot_ms": 1.953,
            "p99_tpot_ms": 19.042,
            "mean_itl_ms": 11.918,
            "median_itl_ms": 10.717,
            "p95_itl_ms": 18.840,
            "p99_itl_ms": 21.478,
            "concurrency": 11.780,
            "accept_length": None,
            **changes,
        }

    return make


@pytest.fixture
def vllm_record() -> Callable[..., dict[str, Any]]:
    """A record of ``vllm bench serve`` with its default percentiles, with fields changed or added."""

    def make(**changes: Any) -> dict[str, Any]:
        return {
            "date": "20261101-101500",
            "endpoint_type": "vllm",
            "backend": "vllm",
            "label": None,
            "model_id": "m/70b",
            "tokenizer_id": "m/70b",
            "num_prompts": 500,
            "request_rate": "inf",
            "burstiness": 1.0,
            "max_concurrency": 64,
            "duration": 100.0,
            "completed": 500,
            "failed": 0,
            "total_input_tokens": 512000,
            "total_output_tokens": 128000,
            "request_throughput": 5.0,
            "request_goodput": None,
            "output_throughput": 1280.0,
            "total_token_throughput": 6400.0,
            "mean_ttft_ms": 900.0,
            "median_ttft_ms": 800.0,
            "std_ttft_ms": 90.0,
            "p99_ttft_ms": 2000.0,
            "mean_tpot_ms": 31.0,
            "median_tpot_ms": 30.0,
            "std_tpot_ms": 2.0,
            "p99_tpot_ms": 44.0,
            "mean_itl_ms": 29.0,
            "median_itl_ms": 28.0,
            "std_itl_ms": 2.0,
            "p99_itl_ms": 41.0,
            **changes,
        }

    return make


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write records as lines of a file below the test's folder; what is text already is written as it stands."""

    def lines(name: str, *records: dict[str, Any] | str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        texts = [record if isinstance(record, str) else json.dumps(record) for record in records]
        path.write_text("".join(f"{text}\n" for text in texts))
        return path

    return lines
