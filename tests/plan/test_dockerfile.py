"""What BuildKit sees of a Dockerfile."""

import pytest

from imagepins.errors import PinsError
from imagepins.plan.dockerfile import parse


def test_continuation_lines_are_joined_without_comments_and_blank_lines_between() -> None:
    parsed = parse("FROM a\nRUN one \\\n  # a comment\n\n  && two\nRUN three\n", "D")
    assert [(each.rest, each.line, each.end) for each in parsed.instructions] == [
        ("a", 1, 1),
        ("one   && two", 2, 5),
        ("three", 6, 6),
    ]


@pytest.mark.parametrize(
    ("text", "bodies", "end"),
    [
        ("RUN <<EOF\na\n# kept\nEOF\nUSER x\n", ("a\n# kept\nEOF",), 4),
        ("RUN <<'EOF' cat\na\nEOF\n", ("a\nEOF",), 3),
        ("RUN <<-EOF\n\ta\n\tEOF\n", ("\ta\nEOF",), 3),
        ("COPY <<A <<B /x/\n1\nA\n2\nB\n", ("1\nA", "2\nB"), 5),
        ("RUN 3<<EOF cat\na\nEOF\n", ("a\nEOF",), 3),
        ("RUN --mount=type=cache,target=/c \\\n  <<EOF\na\nEOF\n", ("a\nEOF",), 4),
    ],
    ids=["plain", "quoted", "tabs", "two", "numbered", "after-a-flag"],
)
def test_here_documents_belong_to_their_instruction(text: str, bodies: tuple[str, ...], end: int) -> None:
    first = parse(text, "D").instructions[0]
    assert (first.bodies, first.end) == (bodies, end)


@pytest.mark.parametrize(
    "line", ["RUN cat <<<word", "RUN echo $((a<<b))", 'RUN echo "see <<EOF here"', "RUN echo $((1<<2))", "ENV A=<<EOF"]
)
def test_what_only_looks_like_a_here_document_is_none(line: str) -> None:
    assert len(parse(f"{line}\nUSER x\n", "D").instructions) == 2


def test_a_here_document_without_end_is_an_error_with_its_line() -> None:
    with pytest.raises(PinsError, match=r"D:2: the here-document <<EOF has no end"):
        parse("FROM a\nRUN <<EOF\nx\n", "D")


def test_the_escape_directive_changes_what_continues_a_line() -> None:
    parsed = parse("# escape=`\nFROM a\nRUN one `\n two\nRUN c:\\\nUSER x\n", "D")
    assert [each.rest for each in parsed.instructions] == ["a", "one  two", "c:\\", "x"]


def test_an_escape_that_is_escaped_continues_no_line() -> None:
    parsed = parse("FROM a\nCOPY x /y\\\\\nRUN b\n", "D")
    assert [each.rest for each in parsed.instructions] == ["a", "x /y\\\\", "b"]


def test_a_directive_may_hold_blanks() -> None:
    assert parse("# check=skip=A, B\n# escape=`\nFROM a\n", "D").directives == (("check", "skip=A, B"), ("escape", "`"))


def test_a_directive_below_the_first_comment_is_a_comment() -> None:
    assert parse("# note\n# syntax=evil\nFROM a\n", "D").directives == ()


def test_flags_are_told_from_the_rest() -> None:
    instruction = parse('COPY --link --chown=1:2 --from="x" a b\n', "D").instructions[0]
    assert instruction.flags == (("link", ""), ("chown", "1:2"), ("from", "x"))
    assert instruction.rest == "a b"


@pytest.mark.parametrize(
    ("text", "flags", "rest"),
    [
        ('RUN --mount=type=bind,source="x y",target=/z a', [("mount", "type=bind,source=x y,target=/z")], "a"),
        ("RUN --mount='source=x y' --network=none a", [("mount", "source=x y"), ("network", "none")], "a"),
        (r"RUN --mount=source=x\ y a", [("mount", "source=x y")], "a"),
        (r"RUN --mount=source=x,\"target=/a,b\" a", [("mount", 'source=x,"target=/a,b"')], "a"),
        ("COPY --link a b --last", [("link", "")], "a b --last"),
        ("RUN --x", [("x", "")], ""),
        ("RUN -- a", [], "-- a"),
    ],
)
def test_values_of_flags_are_read_without_their_quotes(text: str, flags: list[tuple[str, str]], rest: str) -> None:
    instruction = parse(f"{text}\n", "D").instructions[0]
    assert (list(instruction.flags), instruction.rest) == (flags, rest)


@pytest.mark.parametrize(
    ("one", "other", "is_equal"),
    [
        ("FROM a\n# note\nRUN b\n", "FROM a\n\nRUN b\n", True),
        ("FROM a\nRUN b && \\\n c\n", "FROM a\nRUN b &&  c\n", True),
        ("FROM a\r\nRUN b\r\n", "FROM a\nRUN b\n", True),
        ("from a\nrun b\n", "FROM a\nRUN b\n", True),
        ("FROM a\nRUN <<E\n# x\nE\n", "FROM a\nRUN <<E\n# y\nE\n", False),
        ("# check=error=true\nFROM a\n", "FROM a\n", False),
        ("FROM a\nRUN b\n", "FROM a\nRUN c\n", False),
        ("FROM a\nRUN --network=none b\n", "FROM a\nRUN b\n", False),
        ("FROM a\nRUN printf 'x\ty'\n", "FROM a\nRUN printf 'x y'\n", False),
        ("FROM\ta\nRUN\tb\n", "FROM a\nRUN b\n", True),
    ],
    ids=[
        "comment",
        "continuation",
        "line-ends",
        "case",
        "in-heredoc",
        "directive",
        "command",
        "flag",
        "tab-in-quotes",
        "tab-before",
    ],
)
def test_the_meaning_of_a_file_changes_only_with_what_buildkit_sees(one: str, other: str, *, is_equal: bool) -> None:
    assert (parse(one, "D").meaning == parse(other, "D").meaning) is is_equal
