"""Rows of words → lines with aligned columns, for a terminal, a log or a pipe."""

from collections.abc import Sequence


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """One line for each row, every column but the last as wide as its widest cell; rows are of one length."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
