"""Result files → sides of a comparison: which runs are averaged together, which are dropped, and why.

A side is a file, a folder of files (``vllm bench serve --save-result`` writes one per run) or, with ``by``, all runs
that agree in a recorded field such as ``tag``.
"""

import fnmatch
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from imagepins.errors import UsageError
from imagepins.evidence.figures.records import Parsed, Run, parse_runs

BY_FILE = "file"


@dataclass(frozen=True)
class Source:
    """The files of one side, each with its text. They are read once: a pipe gives its content only once."""

    name: str
    texts: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Side:
    """Runs that are averaged together; ``notes`` tell what was left out or looks odd."""

    name: str
    runs: tuple[Run, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rule:
    """Which runs to leave out: those with a field that matches its glob in ``drop``, those with one that does not match
    its glob in ``keep``, and of the rest the first ``warmup`` of each side.
    """

    warmup: int = 0
    drop: tuple[tuple[str, str], ...] = ()
    keep: tuple[tuple[str, str], ...] = ()


def locate(argument: str) -> tuple[str, list[Path]]:
    """The name and files of one side as typed: ``FILE``, ``FOLDER`` or ``NAME=FILE``. Raises UsageError."""
    name, path = "", Path(argument)
    if not path.exists() and "=" in argument:
        name, _, rest = argument.partition("=")
        path = Path(rest)
    paths = sorted(each for each in path.iterdir() if each.suffix in {".json", ".jsonl"}) if path.is_dir() else [path]
    if not paths:
        raise UsageError(f"{path}: the folder holds no .json or .jsonl file")
    return name or path.stem, paths


def open_source(argument: str) -> Source:
    """Read the files of one side as typed (see ``locate``). Raises UsageError."""
    name, paths = locate(argument)
    return Source(name, tuple((str(path), read_text(path)) for path in paths))


def parse_source(source: Source) -> tuple[str, Parsed]:
    """The name and the runs of one side."""
    parsed = [parse_runs(text, file=file) for file, text in source.texts]
    runs = [run for one in parsed for run in one.runs]
    if len(source.texts) > 1:
        # Files of --save-result are named by load first and time last, so their names do not give the order of runs.
        runs.sort(key=lambda run: str(run.fields.get("date", "")))
    return source.name, Parsed(tuple(runs), tuple(flaw for one in parsed for flaw in one.flaws))


def read_text(path: Path) -> str:
    """The text of a result file. Raises UsageError where it cannot be read or is no text."""
    try:
        return path.read_bytes().decode()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{path}:{line}: not UTF-8 text; a result file of the benchmark is expected") from error


def make_sides(
    sources: Sequence[tuple[str, Parsed]], *, by: str | None, rule: Rule, least: int = 2
) -> tuple[list[Side], list[str]]:
    """Group runs into at least ``least`` sides, the first being the base, and list what was broken.

    ``by`` is ``file``, a recorded field, or None: by tag where only one source is given, by file otherwise. Raises
    UsageError when fewer sides, or a side without runs, come out.
    """
    by = by or (BY_FILE if len(sources) > 1 else "tag")
    flaws = [flaw for _, parsed in sources for flaw in parsed.flaws]
    groups = _by_source(sources) if by == BY_FILE else _by_field(sources, by)
    sides = [_side(name, runs, rule, tags_mix=by == BY_FILE) for name, runs in groups]
    empty = [side.name for side in sides if not side.runs]
    if empty or len(sides) < least:
        reason = f"{' and '.join(empty)}: no run is left" if empty else _one_side(sides, by)
        notes = [note for side in sides for note in side.notes]
        raise UsageError("\n".join([f"nothing to compare: {reason}", *flaws, *notes]))
    return sides, flaws


def _by_source(sources: Sequence[tuple[str, Parsed]]) -> list[tuple[str, tuple[Run, ...]]]:
    """One side a source. Sources of one name get their folder's before it, and a number where that is one as well."""
    names = [name for name, _ in sources]
    longer = [_with_folder(name, parsed) if names.count(name) > 1 else name for name, parsed in sources]
    return [
        (name if longer.count(name) == 1 else f"{name} ({at})", parsed.runs)
        for at, (name, (_, parsed)) in enumerate(zip(longer, sources, strict=True), start=1)
    ]


def _with_folder(name: str, parsed: Parsed) -> str:
    folder = Path(parsed.runs[0].file).parent.name if parsed.runs else ""
    return f"{folder}/{name}" if folder else name


def _by_field(sources: Sequence[tuple[str, Parsed]], by: str) -> list[tuple[str, tuple[Run, ...]]]:
    groups: dict[str, list[Run]] = {}
    for _, parsed in sources:
        for run in parsed.runs:
            # vLLM has no tag; its --label is the same thing under another name.
            value = run.fields.get(by, run.fields.get("label") if by == "tag" else None)
            groups.setdefault(str(value) if value not in (None, "") else f"no {by}", []).append(run)
    return [(name, tuple(runs)) for name, runs in groups.items()]


def _side(name: str, runs: Sequence[Run], rule: Rule, *, tags_mix: bool) -> Side:
    notes: list[str] = []
    kept: list[Run] = []
    warmups = 0
    for run in runs:
        reason = _dropped(run, rule)
        if not reason and warmups < rule.warmup:
            warmups += 1
            reason = f"warm-up run {warmups} of {rule.warmup}"
        if reason:
            notes.append(f"{run.place}: left out ({reason})")
        else:
            kept.append(run)
    unique, repeats = _without_repeats(kept)
    notes += repeats
    tags = {str(run.fields["tag"]) for run in unique if run.fields.get("tag")}
    if tags_mix and len(tags) > 1:
        notes.append(f"{name}: runs of {len(tags)} tags are averaged ({_list(tags)}); --by tag keeps them apart")
    return Side(name, tuple(unique), tuple(notes))


def _dropped(run: Run, rule: Rule) -> str | None:
    for field, pattern in rule.drop:
        if field in run.fields and fnmatch.fnmatchcase(str(run.fields[field]), pattern):
            return f"{field} matches {pattern}"
    for field, pattern in rule.keep:
        if not fnmatch.fnmatchcase(str(run.fields.get(field, "")), pattern):
            return f"{field} does not match {pattern}"
    return None


def _without_repeats(runs: Sequence[Run]) -> tuple[list[Run], list[str]]:
    """The same record twice is no second measurement: counted twice, it would make noise look small."""
    seen: dict[str, Run] = {}
    notes = []
    for run in runs:
        key = json.dumps(run.fields, sort_keys=True)
        if key in seen:
            notes.append(f"{run.place}: left out (the same record as {seen[key].place})")
        seen.setdefault(key, run)
    return list(seen.values()), notes


def _one_side(sides: Sequence[Side], by: str) -> str:
    found = f"only {sides[0].name!r}" if sides else "none"
    hint = "give a second file, or --by FIELD to split one file"
    return f"two sides are needed, and by {by} there is {found}; {hint}"


def _list(names: Iterable[str], most: int = 5) -> str:
    """The first names; a sweep may have hundreds of them."""
    shown = sorted(names)
    return ", ".join(shown[:most]) + (f" and {len(shown) - most} more" if len(shown) > most else "")
