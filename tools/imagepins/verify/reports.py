"""Report → table, JSON, JUnit and Markdown. All four carry the same checks."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from imagepins.columns import aligned
from imagepins.terminal import printable
from imagepins.verify.findings import Check, Report, Status

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from rich.table import Table

MARKS = {
    Status.PASSED: "ok",
    Status.FAILED: "FAILED",
    Status.OTHER_PINS: "other pins",
    Status.UNPROVEN: "unproven",
    Status.FINDING: "finding",
    Status.SKIPPED: "skipped",
}
STYLES = {Status.PASSED: "green", Status.FAILED: "bold red", Status.OTHER_PINS: "bold red", Status.SKIPPED: "dim"}
HEADINGS = ("check", "expected", "found", "evidence", "result")
MARKDOWN_HEADINGS = (*HEADINGS[:-1], "pinned at", HEADINGS[-1])
# XML 1.0 has no way to write these, not even escaped; a report with one is refused whole.
NOT_XML = "[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"


def as_json(reports: Sequence[Report], *, strict: bool) -> str:
    """One JSON document for all reports."""
    value = {
        "schema": 1,
        "ok": all(each.is_good(strict=strict) for each in reports),
        "images": list(map(_plain, reports)),
    }
    return json.dumps(value, indent=2, default=str)


def _plain(report: Report) -> dict[str, Any]:
    checks = [
        {**asdict(check), "rank": check.rank.word if check.rank else None, "status": check.status.value}
        for check in report.checks
    ]
    return {**asdict(report), "checks": checks, "counts": {status.value: report.count(status) for status in Status}}


def evidence(check: Check) -> str:
    """Rank, file and probe of a check in one phrase: ``mapped: /opt/rocm/lib/librccl.so.1.0 (ncclGetVersion)``."""
    rank = f"{check.rank.word}: " if check.rank else ""
    if not check.file:
        return rank + check.how
    return f"{rank}{check.file}" + (f" ({check.how})" if check.how else "")


def found(check: Check) -> str:
    """What was found; of a skipped check why it was skipped, as nothing else tells it."""
    return check.cause if check.status is Status.SKIPPED and not check.found else check.found


def explain(report: Report, check: Check) -> str:
    """A check that is not fine, in full: image, pin, expected, found, evidence, place and likely cause."""
    lines = [
        f"{MARKS[check.status]}: {report.target}: {check.name}: expected {check.expected}, found {check.found}",
        f"  evidence: {check.rank.label}" if check.rank else "",
        f"  seen in: {check.file}" if check.file else "",
        f"  by: {check.how}" if check.how else "",
        f"  pinned at: {check.place}" if check.place else "",
        f"  likely cause: {check.cause}" if check.cause else "",
    ]
    return "\n".join(visible(line) for line in lines if line)


def headline(report: Report) -> str:
    """Counts of a report in one line."""
    if report.outcome != "checked":
        return visible(f"{report.target}: {report.outcome}: {report.message}")
    counts = [f"{report.count(status)} {MARKS[status]}" for status in Status if report.count(status)]
    return f"{report.target} ({report.ref}): {', '.join(counts)}"


def table(report: Report) -> Table:
    """The checks as a table for a terminal."""
    from rich.table import Table
    from rich.text import Text

    grid = Table(title=report.target, title_justify="left", box=None, pad_edge=False)
    for heading in HEADINGS:
        grid.add_column(heading, overflow="fold")
    for check in report.checks:
        cells = map(visible, (check.name, check.expected, found(check), evidence(check)))
        grid.add_row(*map(Text, cells), Text(MARKS[check.status], style=STYLES.get(check.status, "yellow")))
    return grid


def plain_table(report: Report) -> str:
    """The same table as plain lines, for logs."""
    rows = [(c.name, c.expected, found(c), evidence(c), MARKS[c.status]) for c in report.checks]
    return "\n".join([report.target, *aligned([HEADINGS, *([visible(cell) for cell in row] for row in rows)])])


def visible(text: str) -> str:
    """One line of text from an image that steers no terminal and can be written in any encoding's place."""
    return printable(re.sub("[\x00-\x1f\x7f-\x9f\ud800-\udfff]+", " ", text))


def as_junit(reports: Sequence[Report], *, strict: bool) -> str:
    """JUnit XML: one suite per image, one case per check. Findings are output, failures only with ``strict``."""
    from xml.etree import ElementTree

    root = ElementTree.Element("testsuites")
    root.extend(_suite(report, strict=strict) for report in reports)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _suite(report: Report, *, strict: bool) -> Element:
    bad = {Status.FAILED, Status.OTHER_PINS} | ({Status.FINDING, Status.UNPROVEN} if strict else set())
    cases = [_case(report, check, is_bad=check.status in bad) for check in report.checks]
    is_error = report.outcome != "checked"
    if is_error:
        message = f"{report.outcome}: {report.message}"
        cases.append(_testcase(report, "collect", _element("error", message=message)))
    counts = {
        "tests": len(cases),
        "failures": sum(check.status in bad for check in report.checks),
        "errors": int(is_error),
        "skipped": report.count(Status.SKIPPED),
    }
    figures = {name: str(count) for name, count in counts.items()}
    return _element("testsuite", *cases, name=report.target, **figures, time=f"{report.seconds:.3f}")


def _case(report: Report, check: Check, *, is_bad: bool) -> Element:
    if is_bad:
        message = f"expected {check.expected}, found {check.found}"
        inside = _element("failure", message=message, text=explain(report, check))
    elif check.status is Status.SKIPPED:
        inside = _element("skipped", message=check.cause)
    else:
        inside = _element("system-out", text=explain(report, check))
    return _testcase(report, check.name, inside, time="0")


def _testcase(report: Report, name: str, inside: Element, **attributes: str) -> Element:
    # CI systems group cases by the parts of this between dots.
    return _element("testcase", inside, classname=report.target.replace("/", "."), name=name, **attributes)


def _element(tag: str, *children: Element, text: str = "", **attributes: str) -> Element:
    from xml.etree.ElementTree import Element

    made = Element(tag, {name: re.sub(NOT_XML, "\ufffd", value) for name, value in attributes.items()})
    made.text = re.sub(NOT_XML, "\ufffd", text) or None
    made.extend(children)
    return made


def as_markdown(reports: Sequence[Report]) -> str:
    """Markdown for the summary of a CI step; failures come first."""
    return "\n".join(line for report in reports for line in _section(report)) + "\n"


def _section(report: Report) -> list[str]:
    from imagepins.markup import inert, markdown_table

    rows = []
    for check in sorted(report.checks, key=lambda each: each.status is not Status.FAILED):
        result = MARKS[check.status] + (f": {check.cause}" if check.cause else "")
        cells = (check.name, check.expected, check.found, evidence(check), check.place, result)
        rows.append([inert(cell) for cell in cells])
    table = [markdown_table(MARKDOWN_HEADINGS, rows, left=len(MARKDOWN_HEADINGS))] if rows else []
    lines = [f"- {inert(each)}" for each in (*report.differences, *report.notes)]
    return [f"### {inert(headline(report))}", "", *table, *lines, ""]
