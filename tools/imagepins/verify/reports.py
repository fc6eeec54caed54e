"""Report → table, JSON, JUnit and Markdown. All four carry the same checks."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from imagepins.verify.findings import Check, Report, Status

if TYPE_CHECKING:
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
    return "\n".join(line for line in lines if line)


def headline(report: Report) -> str:
    """Counts of a report in one line."""
    if report.outcome != "checked":
        return f"{report.target}: {report.outcome}: {report.message}"
    counts = [f"{report.count(status)} {MARKS[status]}" for status in Status if report.count(status)]
    return f"{report.target} ({report.ref}): {', '.join(counts)}"


def table(report: Report) -> Table:
    """The checks as a table for a terminal."""
    from rich.table import Table
    from rich.text import Text

    grid = Table(title=report.target, title_justify="left", box=None, pad_edge=False)
    for heading in ("check", "expected", "found", "evidence", "result"):
        grid.add_column(heading, overflow="fold")
    for check in report.checks:
        cells = [check.name, check.expected, found(check), evidence(check)]
        grid.add_row(*map(Text, cells), Text(MARKS[check.status], style=STYLES.get(check.status, "yellow")))
    return grid


def plain_table(report: Report) -> str:
    """The same table as plain lines, for logs."""
    rows = [("check", "expected", "found", "evidence", "result")]
    rows += [(c.name, c.expected, found(c), evidence(c), MARKS[c.status]) for c in report.checks]
    widths = [max(len(_line(row[i])) for row in rows) for i in range(4)]
    lines = ["  ".join([*(_line(row[i]).ljust(widths[i]) for i in range(4)), row[4]]) for row in rows]
    return "\n".join([report.target, *lines])


def _line(text: str) -> str:
    return re.sub(r"[\x00-\x1f\x7f]+", " ", text)


def as_junit(reports: Sequence[Report], *, strict: bool) -> str:
    """JUnit XML: one suite per image, one case per check. Findings are output, failures only with ``strict``."""
    bad = {Status.FAILED, Status.OTHER_PINS} | ({Status.FINDING, Status.UNPROVEN} if strict else set())
    body = "".join(_suite(report, bad) for report in reports)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n{body}</testsuites>\n'


def _suite(report: Report, bad: set[Status]) -> str:
    cases = [_case(report, check, bad) for check in report.checks]
    errors = 0
    if report.outcome != "checked":
        errors = 1
        text = _attribute(f"{report.outcome}: {report.message}")
        cases.append(f"<testcase classname={_class(report)} name='collect'><error message={text}/></testcase>\n")
    failed = sum(check.status in bad for check in report.checks)
    counts = f"tests='{len(cases)}' failures='{failed}' errors='{errors}' skipped='{report.count(Status.SKIPPED)}'"
    head = f"<testsuite name={_attribute(report.target)} {counts} time='{report.seconds:.3f}'>\n"
    return head + "".join(cases) + "</testsuite>\n"


def _case(report: Report, check: Check, bad: set[Status]) -> str:
    head = f"<testcase classname={_class(report)} name={_attribute(check.name)} time='0'>"
    if check.status in bad:
        message = _attribute(f"expected {check.expected}, found {check.found}")
        inside = f"<failure message={message}>{_text(explain(report, check))}</failure>"
    elif check.status is Status.SKIPPED:
        inside = f"<skipped message={_attribute(check.cause)}/>"
    else:
        inside = f"<system-out>{_text(explain(report, check))}</system-out>"
    return f"{head}{inside}</testcase>\n"


def _class(report: Report) -> str:
    """The target as JUnit groups cases: by parts between dots."""
    return _attribute(report.target.replace("/", "."))


def _text(value: str) -> str:
    from html import escape

    return escape(re.sub(NOT_XML, "\ufffd", value), quote=False)


def _attribute(value: str) -> str:
    from html import escape

    text = escape(re.sub(NOT_XML, "\ufffd", value))
    # A line break in an attribute would be read back as a blank.
    return '"' + text.replace("\n", "&#10;") + '"'


def as_markdown(reports: Sequence[Report]) -> str:
    """Markdown for the summary of a CI step; failures come first."""
    return "\n".join(line for report in reports for line in _section(report)) + "\n"


def _section(report: Report) -> list[str]:
    lines = [f"### {_cell(headline(report))}", ""]
    if report.checks:
        lines += ["| check | expected | found | evidence | pinned at | result |", "|---|---|---|---|---|---|"]
    for check in sorted(report.checks, key=lambda each: each.status is not Status.FAILED):
        result = MARKS[check.status] + (f": {check.cause}" if check.cause else "")
        cells = (check.name, check.expected, check.found, evidence(check), check.place, result)
        lines.append("| " + " | ".join(map(_cell, cells)) + " |")
    return [*lines, *(f"- {_cell(each)}" for each in (*report.differences, *report.notes)), ""]


def _cell(text: str) -> str:
    return re.sub(r"([\\|`*_<>\[\]])", r"\\\1", _line(text))
