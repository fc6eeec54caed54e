"""Targets → findings of all linters, with the line of the template or of pins.yaml that each comes from."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from imagepins.errors import CheckFailed, PinsError
from imagepins.lint import linters, rules
from imagepins.lint.rules import Problem
from imagepins.parallel import parallel
from imagepins.pins.model import PinSet, Target
from imagepins.plan.dockerfile import Parsed, parse
from imagepins.render.dockerfile import render_all
from imagepins.render.freshness import read
from imagepins.render.places import places

TOOLS = ("own", "hadolint", "buildkit")
AT_ONCE = 4
"""Linters that run at a time; each is a process of its own."""


@dataclass(frozen=True, order=True)
class Finding:
    """What ``rule`` has against a line that ``place`` gives; ``targets`` are the Dockerfiles it shows in."""

    place: str
    rule: str
    message: str
    targets: tuple[str, ...]


@dataclass(frozen=True)
class Report:
    """All findings, and the reasons of what was not linted."""

    findings: tuple[Finding, ...]
    not_linted: tuple[str, ...]


def lint(pinset: PinSet, root: Path, targets: Iterable[Target], tools: Iterable[str] = TOOLS) -> Report:
    """Lint the rendered Dockerfiles of ``targets``; one finding that many of them show is told once.

    Raises CheckFailed where a rendered file is stale: its lines would be blamed on templates that do not give them.
    """
    chosen = tuple(targets)
    texts = render_all(pinset, root, chosen)
    stale = [path for path, text in texts.items() if read(root, path) != text]
    if stale:
        raise CheckFailed(f"{', '.join(stale)}: not what pins.yaml and the template give; run tools/image render")
    subjects = [_Subject(pinset, root, target, texts[target.dockerfile]) for target in chosen]
    jobs = [(subject, tool) for subject in subjects for tool in tools]
    answers = parallel(lambda job: _ask(*job), jobs, at_once=AT_ONCE)
    found: dict[tuple[str, str, str], list[str]] = {}
    not_linted: list[str] = []
    for (subject, tool), answer in zip(jobs, answers, strict=True):
        if isinstance(answer, str):
            not_linted.append(f"{subject.target.dockerfile}: not linted by {tool}: {answer}")
            continue
        for each in answer:
            key = (subject.origins[max(each.line, 1) - 1], each.rule, each.message)
            found.setdefault(key, []).append(subject.target.name)
    findings = sorted(Finding(*key, tuple(names)) for key, names in found.items())
    return Report(tuple(findings), tuple(not_linted))


@dataclass(frozen=True)
class _Subject:
    """One rendered Dockerfile, ready to be looked at."""

    pinset: PinSet
    root: Path
    target: Target
    text: str

    @cached_property
    def parsed(self) -> Parsed:
        return parse(self.text, self.target.dockerfile)

    @cached_property
    def origins(self) -> list[str]:
        return places(self.pinset, self.root, self.target, self.text)


def _ask(subject: _Subject, tool: str) -> list[Problem] | str:
    """Problems that a tool finds, or why it has nothing to say."""
    path = subject.root / subject.target.dockerfile
    try:
        if tool == "own":
            return rules.check(subject.parsed, subject.text, subject.pinset, str(subject.target.platform))
        if tool == "hadolint":
            return linters.hadolint(path, subject.root / ".hadolint.yaml")
        return linters.buildkit(path, subject.parsed, subject.target.platform)
    except (linters.NotLinted, PinsError) as reason:
        return str(reason)
