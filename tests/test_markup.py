import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from imagepins.markup import code, defuse, fenced, folded, inert, markdown_table

HOSTILE = [
    "fixes #12",
    "Closes ROCm/rccl#7, resolves GH-3",
    "closes https://github.com/ROCm/rccl/issues/7",
    "ping @octocat and @ROCm/team",
    "<script>alert(1)</script><details>",
    "</details></summary>",
    "`code` ```` fence",
    "[link](http://evil.example) ![img](x)",
    "**bold** _em_ ~~gone~~ $x$",
    "a | b \\| c",
    "# heading",
    "1. list",
    "- item",
    "> quote",
    "&lt;b&gt; &#64;octocat",
    "tab\tand\x1b[31mcolour\u202eflip",
    "line\nbreak\r\n\n# two",
]
LIVE = re.compile(r"@\w|#\d|GH-\d|/(issues|pull)/\w|https?://|\x1b|\u202e|[\n\r]")


@pytest.mark.parametrize("text", HOSTILE)
def test_inert_text_shows_its_words_and_does_nothing(text: str) -> None:
    result = inert(text)
    assert not LIVE.search(result)
    html = MarkdownIt("gfm-like", {"linkify": False}).render(f"x {result}")
    assert not re.search(r"<(?!/?p>)", html)


@pytest.mark.parametrize("text", HOSTILE)
def test_inert_text_in_a_list_or_alone_makes_no_block(text: str) -> None:
    html = MarkdownIt("gfm-like", {"linkify": False}).render(inert(text))
    assert not re.search(r"<(?!/?p>)", html)


@pytest.mark.parametrize("text", ["p99_itl_ms", "runs/base-1.jsonl:3", "rccl < 2.32".replace("<", "is")])
def test_ordinary_words_stay_readable_in_a_terminal(text: str) -> None:
    assert inert(text) == text


@given(st.lists(st.text(max_size=80), min_size=1, max_size=5))
def test_no_line_closes_a_fence_or_mentions_anyone(lines: list[str]) -> None:
    tokens = MarkdownIt().parse(fenced(lines))
    assert [token.type for token in tokens] == ["fence"]
    assert not LIVE.search(tokens[0].content.replace("\n", " "))


@given(st.text(max_size=60))
def test_a_cell_never_changes_the_number_of_columns(text: str) -> None:
    table = markdown_table(["name", "value"], [[inert(text), code(text)]])
    html = MarkdownIt("gfm-like", {"linkify": False}).render(table)
    assert html.count("<td") == 2


@given(st.text())
def test_defusing_twice_changes_nothing_more(text: str) -> None:
    assert defuse(defuse(text)) == defuse(text)


def test_a_summary_cannot_close_its_fold() -> None:
    assert folded("</summary></details>", "body").count("</details>") == 1
