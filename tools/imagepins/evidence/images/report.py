"""Difference of two images → Markdown for people, JSON for machines."""

from typing import Any

from imagepins.evidence.images.difference import Difference, Row, Section, count_kinds
from imagepins.markup import code, inert, markdown_table

MOST_ROWS = 40
"""Rows of a section that are shown; the rest are counted, and JSON has them all."""


def difference_markdown(found: Difference, *, most: int = MOST_ROWS) -> str:
    """One table per section that differs, one line for all that are alike, and what was not compared and why."""
    parts = [f"{code(found.base)} → {code(found.other)}"]
    parts += [_section(section, found, most) for section in found.sections if section.rows]
    alike = [section.title for section in found.sections if not section.rows and not section.why_not]
    if alike:
        parts.append(f"No difference in {', '.join(alike)}.")
    open_points = [f"{section.title}: {section.why_not}" for section in found.sections if section.why_not]
    if open_points or found.notes:
        parts.append("\n".join(f"- {inert(text)}" for text in (*open_points, *found.notes)))
    return "\n\n".join(parts) + "\n"


def difference_json(found: Difference) -> dict[str, Any]:
    """The same as a JSON value, with every row."""
    return {
        "schema": 1,
        "base": found.base,
        "other": found.other,
        "differs": not found.is_empty,
        "sections": [
            {"title": section.title, "compared": not section.why_not, "rows": [_row_json(row) for row in section.rows]}
            for section in found.sections
        ],
        "notes": list(found.notes),
    }


def _section(section: Section, found: Difference, most: int) -> str:
    counts = ", ".join(f"{count} {kind}" for kind, count in count_kinds(section.rows).items() if count)
    rows = [[code(name), _cell(one), _cell(two)] for name, one, two in section.rows[:most]]
    table = markdown_table(["name", inert(found.base), inert(found.other)], rows, left=3)
    more = len(section.rows) - most
    return f"### {section.title} ({counts})\n\n{table}" + (f"\n\nand {more} more; --json lists all" if more > 0 else "")


def _cell(text: str | None) -> str:
    return "-" if text is None else inert(text) or "(empty)"


def _row_json(row: Row) -> dict[str, str | None]:
    return dict(zip(("name", "base", "other"), row, strict=True))
