import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

Run = Callable[..., Any]
Record = Callable[..., dict[str, Any]]
Write = Callable[..., Path]
Story = Callable[[str], Path]
HEADLINE = ["total_throughput", "median_ttft_ms", "median_tpot_ms", "median_itl_ms", "p99_itl_ms"]


def changes(out: str) -> list[str]:
    return re.findall(r"[+-]\d+(?:\.\d+)? %", out)


def test_capping_256_blocks_to_64_gives_the_published_changes(compare: Run, story: Story) -> None:
    result = compare(story("rccl-2.30.7-cap256"), story("rccl-2.30.7-cap64"))
    assert result.code == 0
    assert changes(result.out) == ["+5.2 %", "+1.1 %", "-7.6 %", "-9.3 %", "-22.2 %"]


def test_moving_to_2_32_3_gives_the_published_changes(compare: Run, story: Story) -> None:
    result = compare(story("rccl-2.30.7-cap256"), story("rccl-2.32.3-cap96"))
    assert changes(result.out) == ["+6.7 %", "-4.9 %", "-6.8 %", "-6.3 %", "-8.4 %"]


def test_json_carries_figures_directions_and_verdicts_strictly(compare: Run, story: Story) -> None:
    found = compare(story("rccl-2.30.7-cap256"), story("rccl-2.30.7-cap64"), "--json").json()
    (candidate,) = found["candidates"]
    assert [change["metric"] for change in candidate["changes"]] == HEADLINE
    assert [change["better"] for change in candidate["changes"]] == ["higher", "lower", "lower", "lower", "lower"]
    assert candidate["changes"][0]["change_percent"] == pytest.approx(5.2393, abs=1e-4)
    assert candidate["changes"][1]["verdict"] == "worse, spread unknown"
    assert found["base"]["load"]["request_rate"] == "inf"


def test_several_candidates_are_each_compared_with_the_base(compare: Run, story: Story) -> None:
    names = ["rccl-2.30.7-cap256", "rccl-2.30.7-cap64", "rccl-2.32.3-cap96", "rccl-2.32.3-cap64"]
    found = compare(*map(story, names), "--json").json()
    assert [candidate["name"] for candidate in found["candidates"]] == names[1:]
    assert found["candidates"][2]["changes"][4]["change_percent"] == pytest.approx(-21.774, abs=1e-3)


def test_files_of_one_name_are_told_apart(compare: Run, write: Write, sglang_record: Record) -> None:
    old, new = (
        write(f"{folder}/run.jsonl", sglang_record(median_itl_ms=itl)) for folder, itl in (("old", 9), ("new", 8))
    )
    assert compare(old, new, "--json").json()["base"]["name"] == "old/run"
    assert compare(old, old, "--json").json()["candidates"][0]["name"] == "old/run (2)"


def test_one_file_is_split_by_the_tags_of_its_runs(compare: Run, write: Write, sglang_record: Record) -> None:
    tagged = [sglang_record(tag=tag, median_itl_ms=itl) for tag, itl in [("old", 30.0), ("new", 27.0), ("old", 31.0)]]
    found = compare(write("all.jsonl", *tagged), "--json").json()
    assert (found["base"]["name"], len(found["base"]["runs"])) == ("old", 2)
    assert [candidate["name"] for candidate in found["candidates"]] == ["new"]


def test_runs_of_a_side_are_averaged_with_their_spread(compare: Run, write: Write, sglang_record: Record) -> None:
    base = write("base.jsonl", *(sglang_record(median_itl_ms=itl) for itl in (30.0, 30.2, 30.4)))
    fast = write("fast.jsonl", *(sglang_record(median_itl_ms=itl) for itl in (27.0, 27.1, 27.2)))
    result = compare(base, fast, "--figure", "median_itl_ms")
    assert "30.20 ±0.20" in result.out
    assert re.search(r"-10\.3 % ±\d\.\d \| +better", result.out)


def test_a_change_inside_the_spread_is_within_noise(compare: Run, write: Write, sglang_record: Record) -> None:
    base = write("base.jsonl", *(sglang_record(median_itl_ms=itl) for itl in (30.0, 28.0, 32.0)))
    same = write("same.jsonl", *(sglang_record(median_itl_ms=itl) for itl in (29.0, 31.5, 28.0)))
    (change,) = compare(base, same, "--figure", "median_itl_ms", "--json").json()["candidates"][0]["changes"]
    assert change["verdict"] == "within noise"
    assert change["margin_percent"] > abs(change["change_percent"])


def test_equal_figures_are_no_change_however_often_they_were_measured(
    compare: Run, write: Write, sglang_record: Record
) -> None:
    base, other = (
        write(f"{name}.jsonl", *(sglang_record(tag=f"{name}{n}", median_tpot_ms=52.64) for n in range(count)))
        for name, count in (("once", 1), ("thrice", 3))
    )
    found = compare(base, other, "--json", "--fail-if", "median_tpot_ms > 0%")
    change = found.json()["candidates"][0]["changes"][2]
    assert (change["change_percent"], change["verdict"], found.code) == (0, "no change", 0)


def test_hundreds_of_tags_are_counted_and_only_some_named(compare: Run, write: Write, sglang_record: Record) -> None:
    runs = [sglang_record(tag=f"r{n:03}", median_itl_ms=30 + n / 1000) for n in range(300)]
    result = compare(write("base.jsonl", sglang_record()), write("sweep.jsonl", *runs))
    assert "runs of 300 tags are averaged (r000, r001, r002, r003, r004 and 295 more)" in result.out


def test_a_single_run_beside_repeated_ones_borrows_their_spread(
    compare: Run, write: Write, sglang_record: Record
) -> None:
    base = write("base.jsonl", *(sglang_record(p99_itl_ms=itl) for itl in (40.0, 41.0, 39.0)))
    once = write("once.jsonl", sglang_record(p99_itl_ms=42.0))
    (change,) = compare(base, once, "--figure", "p99_itl_ms", "--json").json()["candidates"][0]["changes"]
    assert change["verdict"] == "within noise"


def test_two_single_runs_are_said_to_have_no_known_spread(compare: Run, story: Story) -> None:
    result = compare(story("rccl-2.30.7-cap256"), story("rccl-2.30.7-cap64"))
    assert "no spread is known" in result.out
    assert "±" not in result.out


def test_the_same_record_twice_is_no_second_measurement(compare: Run, write: Write, sglang_record: Record) -> None:
    base = write("base.jsonl", sglang_record(), sglang_record())
    other = write("other.jsonl", sglang_record(median_itl_ms=9.0))
    result = compare(base, other, "--json").json()
    assert result["candidates"][0]["changes"][3]["verdict"] == "better, spread unknown"
    assert any(remark.endswith(f"(the same record as {base}:1)") for remark in result["remarks"])


def test_warm_up_runs_are_left_out_by_number_and_by_field(compare: Run, write: Write, sglang_record: Record) -> None:
    cold = sglang_record(median_itl_ms=99.0)
    base = write(
        "base.jsonl", cold, sglang_record(median_itl_ms=30.0), sglang_record(tag="warmup-2", median_itl_ms=80.0)
    )
    other = write("other.jsonl", cold, sglang_record(median_itl_ms=27.0))
    result = compare(base, other, "--warmup", "1", "--drop", "tag=warm*", "--figure", "median_itl_ms")
    assert changes(result.out) == ["-10.0 %"]
    assert f"{base}:1: left out (warm-up run 1 of 1)" in result.out
    assert re.search(r"base\.jsonl:3: left out \(tag matches warm\\\*\)", result.out)


def test_one_load_of_a_sweep_is_picked_and_a_sweep_as_a_whole_is_refused(
    compare: Run, write: Write, sglang_record: Record
) -> None:
    base = write("base.jsonl", *(sglang_record(max_concurrency=n, median_itl_ms=n) for n in (16, 64, 256)))
    other = write("other.jsonl", *(sglang_record(max_concurrency=n, median_itl_ms=n / 2) for n in (16, 64, 256)))
    assert "max_concurrency differs: 16" in compare(base, other).err
    result = compare(base, other, "--keep", "max_concurrency=64", "--figure", "median_itl_ms")
    assert changes(result.out) == ["-50.0 %"]


def test_dropping_every_run_of_a_side_is_refused(compare: Run, story: Story) -> None:
    result = compare(story("rccl-2.30.7-cap256"), story("rccl-2.30.7-cap64"), "--warmup", "1")
    assert result.code == 2
    assert "no run is left" in result.err


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"max_concurrency": 128}, "max_concurrency differs: 256"),
        ({"max_concurrency": None}, "max_concurrency differs: 256"),
        ({"request_rate": float("inf")}, "request_rate differs: 5"),
        ({"random_input_len": 2048}, "random_input_len differs: 1024"),
        ({"random_output_len": 1}, "random_output_len differs: 1024"),
        ({"dataset_name": "random"}, "dataset differs: sharegpt"),
        ({"total_input_tokens": 600000}, "mean input tokens per request differs: 302.118"),
        ({"completed": 900}, "completed differs: 1000"),
    ],
)
def test_runs_of_different_loads_are_refused_with_the_field(
    change: dict[str, object], named: str, compare: Run, write: Write, sglang_record: Record
) -> None:
    base, other = write("base.jsonl", sglang_record()), write("other.jsonl", sglang_record(**change))
    result = compare(base, other)
    assert (result.code, result.out) == (2, "")
    assert named in result.err
    assert f"({other}:1)" in result.err
    forced = compare(base, other, "--force")
    assert forced.code == 0
    assert f"different loads compared by force: {named}" in forced.out


def test_different_models_are_refused_and_unrecorded_ones_are_said(
    compare: Run, write: Write, vllm_record: Record, sglang_record: Record
) -> None:
    base = write("base.json", vllm_record())
    refused = compare(base, write("other.json", vllm_record(model_id="m/8b")))
    assert refused.code == 2
    assert "model differs: m/70b" in refused.err
    trusted = compare(write("a.jsonl", sglang_record()), write("b.jsonl", sglang_record(median_itl_ms=9.0)))
    assert "no file records the model" in trusted.out


def test_equal_loads_in_different_spellings_are_equal(compare: Run, write: Write, vllm_record: Record) -> None:
    base = write("base.json", vllm_record(request_rate="inf", max_concurrency=64))
    other = write("other.json", vllm_record(request_rate=float("inf"), max_concurrency=64.0, completed=499, failed=1))
    result = compare(base, other)
    assert result.code == 0
    assert "1 requests failed" in result.out
    assert "completed differs: 500" in result.out


def test_a_figure_one_side_lacks_is_said_and_not_invented(compare: Run, write: Write, vllm_record: Record) -> None:
    record = vllm_record()
    del record["p99_itl_ms"]
    result = compare(write("base.json", vllm_record()), write("bare.json", record), "--json").json()
    change = result["candidates"][0]["changes"][4]
    assert (change["candidate"], change["change_percent"]) == (None, None)
    assert change["why_missing"] == "bare: p99_itl_ms is not recorded"


def test_a_folder_of_save_result_files_is_one_side(compare: Run, write: Write, vllm_record: Record) -> None:
    for at, itl in enumerate((99.0, 28.0, 28.2)):
        write(f"base/z{9 - at}.json", vllm_record(date=f"20261101-10150{at}", median_itl_ms=itl))
    write("cand/a.json", vllm_record(date="20261101-101600", median_itl_ms=99.0))
    other = write("cand/b.json", vllm_record(date="20261101-101700", median_itl_ms=25.0)).parent
    found = compare(other.parent / "base", f"new={other}", "--warmup", "1", "--json").json()
    assert found["candidates"][0]["name"] == "new"
    assert found["base"]["name"] == "base"
    assert found["candidates"][0]["changes"][3]["base"]["values"] == [28.0, 28.2]


def test_broken_lines_are_named_and_the_rest_is_compared(compare: Run, write: Write, sglang_record: Record) -> None:
    base = write("base.jsonl", sglang_record(), '{"median_itl_ms": 3')
    result = compare(base, write("other.jsonl", sglang_record(median_itl_ms=9.0)))
    assert result.code == 0
    assert f"{base}:2: not JSON" in result.out


@pytest.mark.parametrize(
    ("limit", "code"),
    [
        ("p99_itl_ms > +5%", 0),
        ("p99_itl_ms > -25%", 1),
        ("total_throughput < 0%", 0),
        ("total_token_throughput < +10 %", 1),
        ("median_ttft_ms>=1.0%", 1),
        ("p99_itl_ms > 40", 0),
        ("median_itl_ms <= 27.75", 1),
        ("p99_itl_ms > +5%, median_ttft_ms > +1%", 1),
        ("p99_itl_ms > +5% or total_throughput < -1%", 0),
        ("p99.9_ttft_ms > +5%", 1),
    ],
)
def test_fail_if_exits_1_when_the_limit_holds_or_cannot_be_judged(
    limit: str, code: int, compare: Run, story: Story
) -> None:
    result = compare(story("rccl-2.30.7-cap256"), story("rccl-2.30.7-cap64"), "--fail-if", limit)
    assert result.code == code
    assert bool(result.err) == bool(code)


@pytest.mark.parametrize(
    ("limit", "hint"),
    [
        ("p99_itl > +5%", "nearest is p99_itl_ms"),
        ("p99_itl_ms > +5", "add %"),
        ("p99_itl_ms = 5%", "expected FIGURE OPERATOR NUMBER"),
        ("", "expected FIGURE OPERATOR NUMBER"),
        ("p99_itl_ms > nan%", "expected FIGURE OPERATOR NUMBER"),
    ],
)
def test_a_limit_that_cannot_be_read_is_a_usage_error(limit: str, hint: str, compare: Run, story: Story) -> None:
    result = compare(story("rccl-2.30.7-cap256"), story("rccl-2.30.7-cap64"), "--fail-if", limit)
    assert result.code == 2
    assert hint in result.err


@pytest.mark.parametrize("value", [10**400, -1, True, {"a": [1]}, [[]], "x", float("nan"), None])
@pytest.mark.parametrize("field", ["completed", "failed", "request_rate", "server_info", "tag", "imagepins", "date"])
def test_fields_of_any_kind_end_in_a_table_or_a_message(
    field: str, value: object, compare: Run, write: Write, sglang_record: Record
) -> None:
    files = [write(f"{at}.jsonl", sglang_record(**{field: value}, median_itl_ms=9.0 + at)) for at in (0, 1)]
    assert compare(*files, "--json").code in {0, 2}
    assert compare(*files, "--by", field, "--keep", f"{field}=*", "--svg", files[0].with_suffix(".svg")).code in {0, 2}


def test_a_worse_tail_behind_a_better_median_is_called_out(compare: Run, write: Write, sglang_record: Record) -> None:
    base = write("base.jsonl", sglang_record())
    result = compare(base, write("other.jsonl", sglang_record(median_itl_ms=10.5, p99_itl_ms=60.0)))
    assert "other: the median ITL hides a worse tail (-2.0 % median, +179 % p99)" in result.out


def test_the_plot_names_figures_units_sides_and_changes(compare: Run, story: Story, tmp_path: Path) -> None:
    svg = tmp_path / "plot.svg"
    compare(story("rccl-2.30.7-cap256"), story("rccl-2.30.7-cap64"), "--svg", svg, "--title", "DDA blocks <256 & 64>")
    root = ET.fromstring(svg.read_text())  # noqa: S314 - written by the tool a line above
    words = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert words[0] == "DDA blocks <256 & 64>"
    assert "total token throughput (tok/s), higher is better" in words
    assert "median TTFT (s), lower is better" in words
    assert "-22.2 %, better, spread unknown" in words
    bars = [float(node.attrib["width"]) for node in root.iter("{http://www.w3.org/2000/svg}rect")]
    assert max(bars) <= 900


@pytest.mark.parametrize("content", ["", "not json\n", '{"a": 1}\n'])
def test_a_file_without_a_run_is_refused_by_place(content: str, compare: Run, story: Story, tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(content)
    result = compare(story("rccl-2.30.7-cap256"), path)
    assert result.code == 2
    assert f"{path}:1: " in result.err


@pytest.mark.parametrize("kind", ["absent", "binary", "folder", "empty-folder"])
def test_what_cannot_be_read_is_a_usage_error(kind: str, compare: Run, story: Story, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    if kind == "binary":
        path.write_bytes(b"\x7fELF\x02\xff")
    elif kind == "folder":
        path.mkdir()
        (path / "notes.json").mkdir()
    elif kind == "empty-folder":
        path.mkdir()
    result = compare(story("rccl-2.30.7-cap256"), path)
    assert (result.code, result.out) == (2, "")
    assert str(path) in result.err


def test_names_from_files_cannot_inject_markup(compare: Run, write: Write, sglang_record: Record) -> None:
    evil = "x | <img src=y> @octocat fixes #1 [a](http://b) `c`"
    path = write("all.jsonl", sglang_record(tag=evil), sglang_record(tag="b", median_itl_ms=9.0))
    out = compare(path).out
    header = out.splitlines()[0]
    assert header.replace("\\|", "").count("|") == 6
    for live in ("<img", "@octocat", "#1", "[a](http"):
        assert live not in out.replace("\\[", "")


def test_images_that_differ_or_did_not_verify_are_said(compare: Run, write: Write, sglang_record: Record) -> None:
    def proof(version: str, *, verified: bool) -> dict[str, object]:
        return {"ref": f"img:{version}", "verified": verified, "found": {"rccl version": version}}

    base = write("base.jsonl", sglang_record(imagepins=proof("2.30.7", verified=True)))
    other = write("other.jsonl", sglang_record(median_itl_ms=9.0, imagepins=proof("2.32.3", verified=False)))
    out = compare(base, other).out
    assert "- other: rccl version is 2.32.3, not 2.30.7 as in base" in out
    assert "- other: img:2.32.3 was not proven to hold what pins.yaml says" in out
    assert "img:2.30.7 was not" not in out


def test_a_pipe_is_read_as_a_file_is(compare: Run, story: Story) -> None:
    reader, writer = os.pipe()
    with os.fdopen(writer, "w") as pipe:
        pipe.write(story("rccl-2.30.7-cap256").read_text())
    result = compare(f"base=/dev/fd/{reader}", story("rccl-2.30.7-cap64"))
    os.close(reader)
    assert changes(result.out) == ["+5.2 %", "+1.1 %", "-7.6 %", "-9.3 %", "-22.2 %"]


NOTHING = {
    "total_token_throughput": 0.0,
    "output_throughput": 0.0,
    "median_ttft_ms": 0.0,
    "median_tpot_ms": 0.0,
    "median_itl_ms": 0.0,
    "p99_itl_ms": 0.0,
}


@pytest.mark.parametrize("limit", ["p99_itl_ms > +5%", "p99_itl_ms > 100", "total_throughput < -5%"])
def test_a_run_without_a_completed_request_is_no_better_one(
    limit: str, compare: Run, write: Write, vllm_record: Record
) -> None:
    base = write("base.json", vllm_record())
    failed = write("failed.json", vllm_record(completed=0, **NOTHING))

    refused, forced = (compare(base, failed, "--fail-if", limit, *more) for more in ((), ("--force",)))

    assert (refused.code, forced.code) == (2, 1)
    assert "completed differs" in refused.err
    assert "of no completed request" in forced.err
    assert "better" not in forced.out.replace("is better", "")


def test_a_latency_of_zero_is_not_a_better_one(compare: Run, write: Write, sglang_record: Record) -> None:
    sides = [write("base.jsonl", sglang_record()), write("one-token.jsonl", sglang_record(p99_itl_ms=0.0))]

    result = compare(*sides, "--fail-if", "p99_itl_ms > +5%")

    assert result.code == 1
    assert "one-token.jsonl:1 records p99_itl_ms as 0, the time of nothing" in result.err


def test_requests_that_a_release_does_not_count_as_failed_are_told(
    compare: Run, write: Write, vllm_record: Record
) -> None:
    record = vllm_record(num_prompts=500, completed=3)
    record.pop("failed", None)
    sides = [write(f"{name}.json", {**record, "median_itl_ms": itl}) for name, itl in (("a", 9.0), ("b", 8.0))]

    result = compare(*sides)

    assert f"{sides[0]}:1: 497 requests failed" in result.out
    assert f"{sides[1]}:1: 497 requests failed" in result.out
