"""A pin and what an image showed → every claim about it: of its component, its build record, checkouts, statements."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from imagepins.labels import PINS
from imagepins.pins.model import GitPin, Pin, PypiPin
from imagepins.verify.components import Component, component_of, package_of
from imagepins.verify.findings import Aspect, Claim, Rank

if TYPE_CHECKING:
    from imagepins.verify.observed import Library, Observed, Record

VERSION_WORDS = frozenset({"version", "ver", "release", "tag", "branch"})
COMMIT_WORDS = frozenset({"commit", "sha", "revision", "ref", "hash", "branch"})
LINE = r"^\s*(?:export\s+|ARG\s+|ENV\s+)?[\"']?([A-Za-z][\w .-]*?)[\"']?\s*[:=]\s*[\"']?([^\"'\s,]+)"


def gather(pin: Pin, observed: Observed) -> list[Claim]:
    """All claims about the pin's component, best rank first."""
    component = component_of(pin) or (package_of(pin) if isinstance(pin, PypiPin) else None)
    claims = list(component.probe(observed, component)) if component else []
    claims += _recorded(pin, observed)
    if isinstance(pin, GitPin):
        claims += _checked_out(pin, observed)
    claims += stated(pin, observed)
    return sorted(claims, key=lambda claim: claim.rank)


def record_of(pin: Pin, observed: Observed) -> Record | None:
    """What the build stage recorded of the pin."""
    return next((record for record in observed.records if record.name == pin.name), None)


def changed(record: Record) -> list[str]:
    """Recorded files that are gone or no longer what was recorded."""
    return [path for path, sums in record.files.items() if sums["recorded"] != sums["present"]]


def unrecorded(record: Record, component: Component | None, observed: Observed) -> list[str]:
    """Files of the component that processes map and that the build did not install, by any name or by their bytes."""
    mapped = [each for family in (component.libraries if component else ()) for _, each in observed.mapped(family)]
    return [each.path for each in mapped if not is_recorded(record, each.path, observed.library_of(each))]


def is_recorded(record: Record, path: str, library: Library | None) -> bool:
    """Whether the build recorded a file. Layers may turn hard links into equal copies, so equal bytes count."""
    names = (path, *(library.names if library else ()))
    digests = {sums["recorded"] for sums in record.files.values()}
    return any(name in record.files for name in names) or bool(library and library.sha256 in digests)


@dataclass(frozen=True)
class Statement:
    """A name and a value that an image states somewhere, and where."""

    key: str
    value: str
    file: str
    how: str


def stated(pin: Pin, observed: Observed) -> Iterator[Claim]:
    """What labels, environment and version files say. They repeat a request, so they prove nothing."""
    for statement in statements(observed):
        yield from _statement(pin, statement)


def statements(observed: Observed) -> Iterator[Statement]:
    """Everything an image states by name and value, the pins it carries as a label left out."""
    for key, value in observed.image.labels.items():
        if key != PINS:
            yield Statement(key, value, key, "label")
    for key, value in observed.env.items():
        yield Statement(key, value, key, "ENV")
    for path, text in observed.texts.items():
        for key, value in _lines(path, text):
            yield Statement(key, value, path, f"version file, {key}")


def _recorded(pin: Pin, observed: Observed) -> Iterator[Claim]:
    record = record_of(pin, observed)
    if record and record.fields.get("commit") and record.files and not changed(record):
        yield Claim(
            aspect=Aspect.COMMIT,
            value=record.fields["commit"],
            rank=Rank.FILE,
            file=record.path,
            how=f"build record, {len(record.files)} files unchanged",
            is_dirty=record.fields.get("dirty", "").lower() not in ("no", "0", "false"),
            is_proof=not unrecorded(record, component_of(pin), observed),
        )


def _checked_out(pin: GitPin, observed: Observed) -> Iterator[Claim]:
    for checkout in observed.checkouts:
        if repository(pin.git) not in map(repository, checkout.remotes):
            continue
        yield Claim(
            aspect=Aspect.COMMIT,
            value=checkout.head,
            rank=Rank.FILE,
            file=checkout.path,
            how="HEAD of the checkout" + (", changed files unknown" if checkout.dirty is None else ""),
            note="" if checkout.head else "HEAD cannot be read",
            is_dirty=bool(checkout.dirty),
        )


def repository(url: str) -> str:
    """A git URL as far as two spellings of it are the same: host and path in lower case, no scheme, no .git."""
    plain = re.sub(r"^(?:[a-z+]+://)?(?:[^@/]*@)?", "", url.strip().lower()).replace(":", "/", 1)
    return plain.rstrip("/").removesuffix(".git")


def _names(pin: Pin) -> list[frozenset[str]]:
    spellings = [pin.name, *([pin.component] if pin.component else [])]
    return [frozenset(re.split(r"[^a-z0-9]+", spelling.lower())) for spelling in spellings]


def _statement(pin: Pin, statement: Statement) -> Iterator[Claim]:
    component = component_of(pin)
    words = frozenset(re.split(r"[^a-z0-9]+", statement.key.lower()))
    is_own = statement.key == pin.arg or bool(component and statement.key in component.stated)
    if not is_own and not any(name <= words for name in _names(pin)):
        return
    text = statement.value.strip()
    if re.fullmatch(r"[0-9a-f]{7,40}", text) and (is_own or words & COMMIT_WORDS):
        yield Claim(aspect=Aspect.COMMIT, value=text, rank=Rank.STATED, file=statement.file, how=statement.how)
    elif re.fullmatch(r"v?\d+(\.\d+)+\S*", text) and (is_own or words & VERSION_WORDS):
        yield Claim(aspect=Aspect.VERSION, value=text, rank=Rank.STATED, file=statement.file, how=statement.how)


def _lines(path: str, text: str) -> Iterator[tuple[str, str]]:
    stripped = text.strip()
    if stripped.startswith("{"):
        yield from _flat(stripped)
        return
    if "\n" not in stripped and re.fullmatch(r"v?\d+(\.\d+)+\S*|[0-9a-f]{7,40}", stripped):
        # A file that holds one version speaks of what its name says.
        yield path.rpartition("/")[2] + " version", stripped
        return
    for line in stripped.splitlines()[:500]:
        match = re.match(LINE, line)
        if match:
            yield match.group(1), match.group(2)


def _flat(text: str) -> Iterator[tuple[str, str]]:
    try:
        value = json.loads(text)
    except ValueError:
        return
    items: Mapping[str, object] = value if isinstance(value, dict) else {}
    for key, item in items.items():
        if isinstance(item, str):
            yield key, item
