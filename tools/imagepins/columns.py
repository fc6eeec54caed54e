"""Rows of words → lines with aligned columns, for a terminal, a log or a pipe; numbers with their nouns."""

from collections.abc import Sequence


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """One line for each row, every column but the last as wide as its widest cell; rows are of one length."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def counted(number: int, noun: str) -> str:
    """``1 commit``, ``2 commits``."""
    return f"{number} {noun}" + ("" if number == 1 else "s")
