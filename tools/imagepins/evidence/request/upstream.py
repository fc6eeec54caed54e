"""An upstream Dockerfile beside pins.yaml → which pins agree, which differ, and what upstream pins that we do not.

Upstream writes ``ARG TRITON_BRANCH="669b31ac" # release/3.8`` where pins.yaml holds the full commit; short commits,
tags and full commits of one thing are compared as what they name, as far as that can be told without a network.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from imagepins.evidence.request.hidden import Hidden, read_hidden
from imagepins.markup import code, inert, markdown_table
from imagepins.pins.model import GitPin, ImagePin, Pin, PinSet, UrlPin
from imagepins.plan.arguments import Arg, read_args

# How upstream ends the ARG of a pin of each kind, where it is not called as the pin's own ARG is.
_SUFFIXES: Mapping[str, tuple[str, ...]] = {
    "git": ("_COMMIT", "_BRANCH", "_REF", "_SHA", "_TAG", "_COMMIT_DEFAULT"),
    "image": ("_IMAGE",),
    "url": ("_SHA256",),
    "pypi": ("_VERSION",),
    "apt": ("_VERSION",),
}


class State(StrEnum):
    """How a pin of ours stands to upstream's value."""

    SAME = "same"
    DIFFERS = "differs"
    UNKNOWN = "ours is not known yet"
    CONFLICT = "upstream has several values"
    NO_VALUE = "upstream gives no value"


@dataclass(frozen=True)
class Row:
    """One pin that upstream has an ARG for. ``args`` are its declarations with a default, the first one counting."""

    pin: Pin
    args: tuple[Arg, ...]
    state: State
    note: str = ""

    @property
    def ref(self) -> str:
        """What to hand to a bump."""
        return self.args[0].value

    @property
    def can_apply(self) -> bool:
        return self.state in {State.DIFFERS, State.UNKNOWN}


@dataclass(frozen=True)
class Upstream:
    """Everything an upstream Dockerfile pins: rows of our pins, ARGs no pin knows, commits hidden in instructions."""

    file: str
    rows: tuple[Row, ...]
    unknown_args: tuple[Arg, ...]
    hidden: tuple[Hidden, ...]


def compare_dockerfile(pinset: PinSet, text: str, *, file: str = "Dockerfile") -> Upstream:
    """Compare the ARG defaults of ``text`` with the pins. Reads no network and changes nothing."""
    declared: dict[str, list[Arg]] = {}
    for arg in read_args(text, file):
        declared.setdefault(arg.name, []).append(arg)
    owners = {name: pin for name, args in declared.items() if (pin := _owner(pinset.pins.values(), args))}
    rows = [_row(pin, declared[name], declared) for name, pin in owners.items()]
    plain = {name for target in pinset.targets.values() for name in target.args}
    plain |= {pin.url_arg for pin in pinset.pins.values() if isinstance(pin, UrlPin)}
    plain |= {_repository_arg(name) for name in owners}
    sources = {_repository(pin.source) for pin in pinset.pins.values() if isinstance(pin, GitPin)}
    unknown = [
        args[0]
        for name, args in declared.items()
        if name not in owners and name not in plain and args[0].value and _repository(args[0].value) not in sources
    ]
    return Upstream(file, tuple(rows), tuple(unknown), tuple(read_hidden(text, file)))


def upstream_markdown(found: Upstream) -> str:
    """The table pin / ours / upstream's, then what no pin knows and what hides in instructions."""
    rows = [
        [inert(row.pin.name), code(row.pin.value or "-"), code(_values(row)), inert(_state(row)), str(row.args[0].line)]
        for row in found.rows
    ]
    parts = [markdown_table(["pin", "ours", "upstream's", "state", "line"], rows, left=4)]
    if found.unknown_args:
        parts.append(f"ARGs that no pin knows ({len(found.unknown_args)}):")
        parts.append(
            "\n".join(f"- {found.file}:{arg.line}: {code(f'{arg.name}={arg.value}')}" for arg in found.unknown_args)
        )
    if found.hidden:
        parts.append(f"Pinned outside any ARG ({len(found.hidden)}):")
        parts.append(
            "\n".join(f"- {found.file}:{each.line}: {code(each.ref)} in {code(each.context)}" for each in found.hidden)
        )
    return "\n\n".join(parts) + "\n"


def upstream_json(found: Upstream) -> dict[str, Any]:
    """The same as a JSON value."""
    return {
        "schema": 1,
        "file": found.file,
        "pins": [
            {"pin": row.pin.name, "arg": row.args[0].name, "line": row.args[0].line, "ours": row.pin.value}
            | {"upstream": row.ref, "state": str(row.state), "note": row.note}
            for row in found.rows
        ],
        "unknown_args": [{"name": arg.name, "value": arg.value, "line": arg.line} for arg in found.unknown_args],
        "hidden": [{"ref": each.ref, "line": each.line, "context": each.context} for each in found.hidden],
    }


def _owner(pins: Iterable[Pin], args: Sequence[Arg]) -> Pin | None:
    """The pin an ARG belongs to: by the pin's own ARG, else by the pin's name with an ending of its kind.

    Where several pins share the ARG (one a variant), the one that upstream's value fits, and of those the first.
    """
    name, value = args[0].name, next((arg.value for arg in args if arg.value), "")
    candidates = list(pins)
    exact = [pin for pin in candidates if pin.arg == name]
    alike = [pin for pin in candidates if name in {_stem(pin) + suffix for suffix in _SUFFIXES[pin.kind]}]
    fitting = [pin for pin in exact if _fits(pin, value)]
    if exact:
        return fitting[0] if fitting else None
    return alike[0] if len(alike) == 1 and _fits(alike[0], value) else None


def _fits(pin: Pin, value: str) -> bool:
    """Whether ``value`` can be a value of ``pin`` at all: BASE_IMAGE=ubuntu:22.04 is none of a pin of debian."""
    if not value or "$" in value:
        return True
    if isinstance(pin, ImagePin):
        return re.split(r"[:@]", value.removeprefix("docker.io/").removeprefix("library/"))[0] == pin.image
    if isinstance(pin, UrlPin):
        return bool(re.fullmatch(r"[0-9a-f]{64}", value))
    return not isinstance(pin, GitPin) or "://" not in value


def _stem(pin: Pin) -> str:
    return re.sub(r"[^A-Z0-9]", "_", pin.name.upper())


def _row(pin: Pin, args: Sequence[Arg], declared: Mapping[str, Sequence[Arg]]) -> Row:
    given = tuple(arg for arg in args if arg.value)
    if not given or "$" in given[0].value:
        return Row(pin, tuple(args), State.NO_VALUE, "it depends on other values" if given else "")
    note = _repository_note(pin, given[0], declared)
    if len({arg.value for arg in given}) > 1:
        return Row(pin, given, State.CONFLICT, note)
    if not pin.is_complete:
        return Row(pin, given, State.UNKNOWN, note)
    return Row(pin, given, State.SAME if _is_same(pin, given[0].value) else State.DIFFERS, note)


def _is_same(pin: Pin, value: str) -> bool:
    match pin:
        case GitPin(commit=str(commit)) if re.fullmatch(r"[0-9a-fA-F]{7,40}", value):
            return commit.startswith(value.lower())
        case GitPin(track=track) if track is not None and track.tag is not None:
            return value in {track.tag, f"refs/tags/{track.tag}"}
        case ImagePin():
            return value in {pin.value, f"{pin.image}@{pin.digest}", f"docker.io/{pin.value}"}
    return value == pin.value


def _repository_note(pin: Pin, arg: Arg, declared: Mapping[str, Sequence[Arg]]) -> str:
    """Upstream may take a commit from a fork; the commit alone would then not be found in our repository."""
    repository = next((each.value for each in declared.get(_repository_arg(arg.name), ()) if each.value), "")
    if not isinstance(pin, GitPin) or not repository or _repository(repository) == _repository(pin.git):
        return ""
    return f"upstream takes it from {repository}"


def _repository_arg(name: str) -> str:
    return re.sub(r"_(?:COMMIT|BRANCH|REF|SHA|TAG)$", "", name) + "_REPO"


def _repository(source: str) -> str:
    """``owner/name`` in lower case of any spelling of a repository's URL; what is none stays as it is."""
    path = re.sub(r"^(?:[a-z+]+://[^/]+/|[\w.-]+@[\w.-]+:)", "", source.lower())
    return path.removesuffix("/").removesuffix(".git")


def _values(row: Row) -> str:
    return ", ".join(dict.fromkeys(arg.value for arg in row.args)) or "-"


def _state(row: Row) -> str:
    return f"{row.state} ({row.note})" if row.note else str(row.state)
