"""pins.yaml, templates and rendered files → everything that is not as it should be, without asking anybody."""

import datetime
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from imagepins.bump.review import GRACE_DAYS, days_overdue
from imagepins.errors import PinsError
from imagepins.files import shared
from imagepins.lint.hidden import Hidden, hidden_literals, pinned_values
from imagepins.pins.load import load
from imagepins.pins.model import PinSet
from imagepins.plan.arguments import read_args
from imagepins.render.dockerfile import broken_constraints, render_all
from imagepins.render.freshness import difference, read, stale, strays


@dataclass(frozen=True)
class Problem:
    """One finding; ``place`` is a file, or file:line. A problem that is no failure is a warning."""

    kind: str
    place: str
    message: str
    is_failure: bool = True
    diff: str = ""


def check(pins_path: Path, today: datetime.date) -> tuple[Problem, ...]:
    """All findings. Raises PinsError where pins.yaml itself is wrong."""
    root = pins_path.parent
    with shared(pins_path):
        pinset = load(pins_path)
        found = [*_constraints(pinset), *_rendered(pinset, root), *_hidden(pinset, root)]
    return (*found, *_reviews(pinset, today), *_incomplete(pinset))


def _constraints(pinset: PinSet) -> Iterator[Problem]:
    for message in broken_constraints(pinset, tuple(pinset.targets.values())):
        place, _, rest = message.partition(": ")
        yield Problem("constraint", place, rest)


def _rendered(pinset: PinSet, root: Path) -> Iterator[Problem]:
    try:
        # Broken constraints are a finding of their own.
        texts = render_all(replace(pinset, constraints=()), root)
    except PinsError as error:
        yield Problem("template", pinset.path, str(error))
        return
    for path in stale(texts, root):
        yield Problem("stale", path, _why_stale(pinset, root, path), diff=difference(root, path, texts[path]))
    for path in strays(pinset, root):
        yield Problem("stray", path, "no image renders to it; remove it")


def _why_stale(pinset: PinSet, root: Path, path: str) -> str:
    text = read(root, path)
    if text is None:
        return "is missing; run tools/image render"
    target = next((each for each in pinset.targets.values() if each.dockerfile == path), None)
    by_arg = {pin.arg: pin for pin in target.pins.values()} if target else {}
    try:
        args = read_args(text, path)
    except PinsError as error:
        return f"{error}; run tools/image render"
    edited = [
        f"line {arg.line} sets {arg.name} to '{arg.value}', pin '{by_arg[arg.name].name}' is '{by_arg[arg.name].value}'"
        for arg in args
        if arg.name in by_arg and arg.value != by_arg[arg.name].value
    ]
    return "; ".join(edited or ["is not what pins.yaml and the template give now"]) + "; run tools/image render"


def _hidden(pinset: PinSet, root: Path) -> Iterator[Problem]:
    """Literals in templates; in rendered files only those no template accounts for."""
    values = pinned_values(pinset)
    seen: set[str] = set()
    templates = sorted({*root.glob("*.j2"), *root.glob("images/**/*.j2")})
    for path in templates:
        for hidden in hidden_literals(_text(path), frozenset()):
            seen.add(hidden.literal)
            yield _hidden_problem(path.relative_to(root).as_posix(), hidden)
    for target in pinset.targets.values():
        for hidden in hidden_literals(read(root, target.dockerfile) or "", values):
            if hidden.literal not in seen:
                yield _hidden_problem(target.dockerfile, hidden)


def _hidden_problem(path: str, hidden: Hidden) -> Problem:
    said = "stands here and not in pins.yaml, where a bump would see it; make it a pin"
    return Problem("hidden", f"{path}:{hidden.line}", f"{hidden.what}, {hidden.literal}, {said}")


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _reviews(pinset: PinSet, today: datetime.date) -> Iterator[Problem]:
    for pin in pinset.pins.values():
        if (overdue := days_overdue(pin, today)) is not None:
            place = pinset.place(pin.review_by or pin.name)
            message = f"pin '{pin.name}' was to be reviewed by {pin.review_by}, {overdue} days ago"
            yield Problem("review", place, message, is_failure=overdue > GRACE_DAYS)


def _incomplete(pinset: PinSet) -> Iterator[Problem]:
    for pin in pinset.pins.values():
        if not pin.is_complete:
            message = f"pin '{pin.name}' {pin.gap}"
            yield Problem("incomplete", pinset.place(pin.name), message, is_failure=False)
