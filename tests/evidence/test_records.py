import json
from collections.abc import Callable
from typing import Any

import pytest

from imagepins.evidence.figures.records import parse_runs

Record = Callable[..., dict[str, Any]]


def test_old_sglang_record_gives_the_total_as_the_sum_of_input_and_output(sglang_record: Record) -> None:
    (run,) = parse_runs(json.dumps(sglang_record()), file="a.jsonl").runs
    assert run.metrics["total_throughput"] == pytest.approx(2434.244827834749)
    assert run.derived == {"total_throughput"}


def test_a_total_recorded_as_null_is_not_invented_from_its_parts(sglang_record: Record) -> None:
    (run,) = parse_runs(json.dumps(sglang_record(total_throughput=None)), file="a.jsonl").runs
    assert "total_throughput" not in run.metrics
    assert run.missing["total_throughput"] == "a.jsonl:1 records total_throughput as null"


def test_infinity_as_sglang_writes_it_is_read(sglang_record: Record) -> None:
    text = json.dumps(sglang_record(request_rate=float("inf")))
    assert "Infinity" in text
    (run,) = parse_runs(text, file="a.jsonl").runs
    assert run.fields["request_rate"] == float("inf")


def test_vllm_names_are_mapped_and_what_vllm_lacks_stays_missing(vllm_record: Record) -> None:
    (run,) = parse_runs(json.dumps(vllm_record(p99_e2el_ms=9000.0, **{"p99.9_ttft_ms": 3.0})), file="v.json").runs
    assert run.metrics["total_throughput"] == 6400.0
    assert run.metrics["p99_e2e_latency_ms"] == 9000.0
    assert run.metrics["p99.9_ttft_ms"] == 3.0
    assert "input_throughput" not in run.metrics
    assert not run.derived


@pytest.mark.parametrize(
    ("joined", "lines"),
    [
        pytest.param("{0}\n{1}\n", (1, 2), id="one-a-line"),
        pytest.param("{0}{1}", (1, 1), id="without-any-newline"),
        pytest.param("\ufeff{0}\r\n\r\n{1}\r\n", (1, 3), id="byte-order-mark-and-windows-lines"),
        pytest.param("[{0},\n {1}]", (1, 1), id="array"),
    ],
)
def test_objects_are_found_however_they_are_joined(joined: str, lines: tuple[int, int], vllm_record: Record) -> None:
    text = joined.replace("{0}", json.dumps(vllm_record())).replace("{1}", json.dumps(vllm_record(duration=2.0)))
    parsed = parse_runs(text, file="v.json")
    assert [run.line for run in parsed.runs] == list(lines)
    assert parsed.flaws == ()


def test_indented_objects_are_found_with_the_line_they_begin_on(vllm_record: Record) -> None:
    one = json.dumps(vllm_record(), indent=2)
    parsed = parse_runs(f"{one}\n{one}\n", file="v.json")
    assert [run.line for run in parsed.runs] == [1, one.count("\n") + 2]


def test_broken_parts_are_named_by_file_and_line_and_hide_nothing(sglang_record: Record) -> None:
    good = json.dumps(sglang_record())
    text = f'{good}\n{good[:200]}\n{good}\nhello\n{{"a": 1}}\n[1, {good}]\n{good[:50]}'
    parsed = parse_runs(text, file="r.jsonl")
    assert [run.line for run in parsed.runs] == [1, 3, 6]
    assert [flaw.split(" (")[0] for flaw in parsed.flaws][:3] == [
        "r.jsonl:2: not JSON",
        "r.jsonl:4: not JSON",
        "r.jsonl:5: no benchmark record: it holds none of the known figures",
    ]


@pytest.mark.parametrize("text", ["", " \n\n"])
def test_an_empty_file_is_said_to_be_empty(text: str) -> None:
    assert parse_runs(text, file="e.jsonl").flaws == ("e.jsonl:1: empty: the benchmark wrote no result",)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "{" * 5000, '{"a":' * 50_000, "9" * 5000, '{"itl": ' + "1" * 5000 + "}"]
)
def test_hostile_text_ends_in_a_message(text: str) -> None:
    parsed = parse_runs(text, file="h.jsonl")
    assert parsed.runs == ()
    assert parsed.flaws


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "fast", True, None, 10**400, 1e300, 1e-300, -5.0])
def test_a_figure_that_is_no_measurement_is_missing_with_the_reason(value: object, sglang_record: Record) -> None:
    (run,) = parse_runs(json.dumps(sglang_record(p99_itl_ms=value)), file="a.jsonl").runs
    assert "p99_itl_ms" not in run.metrics
    assert run.missing["p99_itl_ms"].startswith("a.jsonl:1 records p99_itl_ms as ")


def test_a_figure_that_stands_in_a_record_twice_is_no_measurement(sglang_record: Record) -> None:
    good = json.dumps(sglang_record())
    twice = good[:-1] + ', "p99_itl_ms": 1.0}'

    parsed = parse_runs(f"{twice}\n{good}\n", file="a.jsonl")

    assert [run.line for run in parsed.runs] == [2]
    assert parsed.flaws[0].startswith("a.jsonl:1: not JSON ('p99_itl_ms' stands in it twice): ")


def test_a_spread_of_zero_is_a_measurement(sglang_record: Record) -> None:
    (run,) = parse_runs(json.dumps(sglang_record(std_itl_ms=0.0)), file="a.jsonl").runs
    assert run.metrics["std_itl_ms"] == 0.0
