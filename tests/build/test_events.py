"""Lines of rawjson and what is made of them."""

import json
from base64 import b64encode
from typing import Any

import pytest

from imagepins.build.events import Events

STARTED, COMPLETED = "2026-01-01T00:00:00.5Z", "2026-01-01T00:00:03.123456789Z"


def vertex(digest: str, name: str, **fields: Any) -> str:
    """One vertex event."""
    return json.dumps({"vertexes": [{"digest": digest, "name": name, **fields}]})


def log(digest: str, data: bytes) -> str:
    """One log event."""
    return json.dumps({"logs": [{"vertex": digest, "stream": 1, "data": b64encode(data).decode()}]})


def feed(*lines: str) -> tuple[Events, list[str]]:
    """Events after the lines, and the text of the log."""
    events = Events()
    return events, [text for line in lines for text in events.feed(line)]


def test_the_log_reads_like_buildkits_own() -> None:
    _, text = feed(
        vertex("a", "[1/2] RUN make"),
        vertex("a", "[1/2] RUN make", started=STARTED),
        log("a", b"one\ntw"),
        log("a", b"o\nthree"),
        vertex("a", "[1/2] RUN make", started=STARTED, completed=COMPLETED),
        vertex("b", "[2/2] RUN x", started=STARTED, completed=STARTED, cached=True),
    )
    assert text == [
        "#1 [1/2] RUN make",
        "#1 one",
        "#1 two",
        "#1 three",
        "#1 DONE 2.6s",
        "#2 [2/2] RUN x",
        "#2 CACHED",
    ]


def test_progress_bars_keep_their_last_state_only() -> None:
    assert feed(vertex("a", "[1/1] RUN x"), log("a", b"10%\r50%\r100%\r\n"))[1][-1] == "#1 100%"


def test_output_that_is_not_utf8_is_kept_as_far_as_it_can_be() -> None:
    assert feed(vertex("a", "[1/1] RUN x"), log("a", b"\xff ok\n"))[1][-1] == "#1 \ufffd ok"


def test_the_step_that_failed_is_the_one_with_an_error_of_its_own() -> None:
    events, _ = feed(
        vertex("a", "[a 1/1] RUN x", started=STARTED, completed=COMPLETED, error="context canceled: context canceled"),
        vertex("b", "[b 1/1] RUN y", started=STARTED),
        log("b", b"".join(b"%d\n" % n for n in range(100))),
        vertex("b", "[b 1/1] RUN y", started=STARTED, completed=COMPLETED, error="exit code: 1"),
    )
    assert events.failed is not None
    assert events.failed.name == "[b 1/1] RUN y"
    assert list(events.failed.tail) == [str(n) for n in range(60, 100)]


def test_the_final_error_and_its_line_come_from_the_clients_own_text() -> None:
    text = ["Dockerfile:13", "--------------------", "  12 | x", "  13 | >>> RUN false", "--------------------"]
    events, _ = feed(*text, "ERROR: failed to solve: exit code: 1")
    assert events.failed_line == 13
    assert events.final_error == "failed to solve: exit code: 1"


def test_a_parse_error_names_its_line() -> None:
    events, _ = feed("ERROR: failed to solve: dockerfile parse error on line 4: unknown instruction: X")
    assert events.failed_line == 4


def test_a_client_that_dies_without_a_word_leaves_an_empty_error() -> None:
    assert Events().final_error == ""


@pytest.mark.parametrize("line", ["{not json", "[1, 2]", "", "null"])
def test_lines_that_are_no_events_are_kept_as_text(line: str) -> None:
    events, text = feed(line)
    assert text == [line]
    assert events.error_lines == [line]


def test_a_clipped_log_is_noticed() -> None:
    events, _ = feed(vertex("a", "[1/1] RUN x"), log("a", b"[output clipped, log limit 2MiB reached]\n"))
    assert events.is_clipped


def test_cache_hits_count_instructions_and_no_bookkeeping() -> None:
    done = {"started": STARTED, "completed": COMPLETED}
    events, _ = feed(
        vertex("a", "[internal] load build definition", **done),
        vertex("b", "[1/3] FROM debian", cached=True, **done),
        vertex("c", "[2/3] RUN x", cached=True, **done),
        vertex("d", "[base 3/3] RUN y", **done),
        vertex("e", "exporting to image", **done),
    )
    assert events.cache_hits == (1, 2)


def test_the_running_step_is_the_instruction_that_began_last() -> None:
    events, _ = feed(
        vertex("a", "[1/2] RUN x", started=STARTED),
        vertex("b", "[2/2] RUN y", started=STARTED),
        vertex("c", "[internal] load metadata", started=STARTED),
    )
    assert events.running is not None
    assert events.running.name == "[2/2] RUN y"


def test_warnings_of_the_builder_reach_the_log() -> None:
    short, detail = (b64encode(text).decode() for text in (b"StageNameCasing", b"Stage name 'A'"))
    _, text = feed(json.dumps({"warnings": [{"short": short, "detail": [detail]}]}))
    assert text == ["WARNING: StageNameCasing", "  Stage name 'A'"]
