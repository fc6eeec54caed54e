"""Slowdown of decode while copies run, compared shape by shape."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
Record = Callable[..., dict[str, Any]]
Write = Callable[..., Path]
INTERFERENCE = {"M": 1024, "direction": "h2d", "blocks": 256}
HIDDEN = {"median": 3.7, "mean": 46.2, "p99": 455.0}
CALM = {"median": 1.0, "mean": 1.4, "p99": 4.0}


def test_interference_calls_out_a_median_that_hides_mean_and_p99(compare: Run, write: Write) -> None:
    base = write("cu.jsonl", {**INTERFERENCE, "slowdown_percent": HIDDEN})
    other = write("sdma.jsonl", {**INTERFERENCE, "slowdown_percent": CALM})
    result = compare(base, other)
    assert result.code == 0
    assert "cu, M 1024, h2d, 256 blocks: +3.7 % median looks fine; +46.2 % mean and +455 % p99 do not" in result.out
    assert "sdma, M 1024" not in result.out


def test_interference_rows_may_hold_both_sides_or_latencies(compare: Run, write: Write) -> None:
    alone, slow = {"median": 10.0, "mean": 10.0, "p99": 20.0}, {"median": 10.37, "mean": 14.62, "p99": 111.0}
    row = {**INTERFERENCE, "baseline": {"alone_ms": alone, "with_copies_ms": slow}, "candidate": CALM}
    (found,) = compare(write("both.jsonl", row), "--json").json()["rows"]
    assert found["base"] == pytest.approx(HIDDEN)
    assert found["candidate"] == pytest.approx(CALM)


def test_interference_rows_of_one_side_and_broken_rows_are_said(compare: Run, write: Write) -> None:
    base = write("a.jsonl", {**INTERFERENCE, "slowdown_percent": CALM}, {**INTERFERENCE, "slowdown_percent": None})
    rows = [{**INTERFERENCE, "blocks": blocks, "slowdown_percent": CALM} for blocks in (256, 64)]
    out = compare(base, write("b.jsonl", *rows)).out
    assert "M 1024, h2d, 64 blocks: measured on one side only" in out
    assert f"{base}:2: row has neither" in out


def test_interference_without_a_row_of_both_sides_is_refused(compare: Run, write: Write, sglang_record: Record) -> None:
    rows = write("rows.jsonl", {**INTERFERENCE, "slowdown_percent": CALM})
    for argv in ([rows], [rows, write("runs.jsonl", sglang_record())]):
        result = compare(*argv, "--fail-if", "p99 > 50%")
        assert (result.code, result.out) == (2, "")
        assert "no row was measured on both sides" in result.err


def test_interference_reads_every_file_of_a_folder(compare: Run, write: Write) -> None:
    files = [
        write(f"{side}/{blocks}.jsonl", {**INTERFERENCE, "blocks": blocks, "slowdown_percent": CALM})
        for side in ("base", "other")
        for blocks in (256, 64)
    ]
    found = compare(files[0].parent, files[-1].parent, "--json").json()
    assert [row["blocks"] for row in found["rows"]] == ["256", "64"]


@pytest.mark.parametrize(("limit", "code"), [("p99 > 50%", 0), ("p99 > 3%", 1), ("p99_itl_ms > 3%", 2)])
def test_fail_if_judges_the_slowdown_of_the_candidate(limit: str, code: int, compare: Run, write: Write) -> None:
    row = {**INTERFERENCE, "baseline": HIDDEN, "candidate": CALM}
    assert compare(write("both.jsonl", row), "--fail-if", limit).code == code


def test_options_that_do_not_apply_to_interference_are_refused(compare: Run, write: Write) -> None:
    result = compare(write("both.jsonl", {**INTERFERENCE, "baseline": HIDDEN, "candidate": CALM}), "--warmup", "1")
    assert result.code == 2
    assert json.dumps(result.out) == '""'


def test_one_shape_in_two_spellings_is_one_row(compare: Run, write: Write) -> None:
    base = write("base.jsonl", {**INTERFERENCE, "slowdown_percent": CALM})
    other = write("other.jsonl", {"M": 1024.0, "direction": "H2D", "blocks": "256", "slowdown_percent": CALM})

    (row,) = compare(base, other, "--json").json()["rows"]

    assert (row["M"], row["direction"], row["blocks"]) == ("1024", "h2d", "256")
