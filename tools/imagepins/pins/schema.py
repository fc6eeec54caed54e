"""Types that say what pins.yaml may hold: one description, used to check a file and to print a JSON Schema."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from imagepins.pins import text as yaml
from imagepins.pins.text import Finding, Text, Value


@dataclass(frozen=True)
class Scalar:
    """Text that matches ``pattern`` as a whole; ``expected`` says so in words, ``hint`` tells a likely slip."""

    expected: str
    pattern: str
    hint: Callable[[str], str | None] = lambda _: None


@dataclass(frozen=True)
class ListOf:
    """A list of ``item``; with ``single``, one item may stand without the list around it."""

    item: "Type"
    single: bool = False


@dataclass(frozen=True)
class MapOf:
    """A mapping whose keys are names of the file's own and whose values are all of one type."""

    key: Scalar
    value: "Type"


@dataclass(frozen=True)
class Field:
    """One key of a Record: its type, whether it must be there, and what it means."""

    type: "Type"
    doc: str
    required: bool = False


@dataclass(frozen=True)
class Record:
    """A mapping with known keys, exactly one of ``one_of`` among them. ``short``: the key a bare text stands for."""

    name: str
    fields: Mapping[str, Field]
    one_of: tuple[str, ...] = ()
    short: str | None = None


@dataclass(frozen=True)
class Kinds:
    """A mapping that is one of several records, told apart by which of their first keys it has."""

    name: str
    records: Mapping[str, Record] = field(default_factory=dict)


Type = Scalar | ListOf | MapOf | Record | Kinds


def check(value: Value, expected: Type, key: str = "") -> Iterator[Finding]:
    """Everything in ``value`` that is not as ``expected``, with its place and dotted key."""
    match expected:
        case Scalar():
            yield from _check_scalar(value, expected, key)
        case ListOf():
            yield from _check_list(value, expected, key)
        case MapOf():
            yield from _check_map(value, expected, key)
        case Record():
            yield from _check_record(value, expected, key)
        case Kinds():
            yield from _check_kinds(value, expected, key)


def nearest(name: str, known: Iterator[str] | Mapping[str, Any] | list[str] | tuple[str, ...]) -> str:
    """``; did you mean 'x'?`` for the nearest known name, or the known names where none is near and they are few."""
    from difflib import get_close_matches

    names = [str(item) for item in known]
    if close := get_close_matches(name, names, n=1):
        return f"; did you mean '{close[0]}'?"
    return f"; known: {', '.join(sorted(names))}" if 0 < len(names) <= 30 else ""


def _finding(value: Value, key: str, message: str) -> Finding:
    return Finding(value.line, value.column, key, message)


def _check_scalar(value: Value, expected: Scalar, key: str) -> Iterator[Finding]:
    if not isinstance(value, Text):
        yield _finding(value, key, f"expected {expected.expected}, found {yaml.describe(value)}")
    elif not re.fullmatch(expected.pattern, value.strip() if value.style in {"|", ">"} else value, re.ASCII):
        hint = (expected.hint(value) or "").replace(" NAME ", f" {_pin_of(key)} ")
        suffix = f" ({hint})" if hint else ""
        yield _finding(value, key, f"expected {expected.expected}, found {yaml.describe(value)}{suffix}")


def _pin_of(key: str) -> str:
    """The pin whose id stands at ``key``, as commands are to name it; NAME for what is no pin's id."""
    found = re.fullmatch(r"pins\.([a-z0-9._-]+)\.\w+", key)
    return found[1] if found else "NAME"


def _check_list(value: Value, expected: ListOf, key: str) -> Iterator[Finding]:
    if expected.single and not isinstance(value, yaml.Sequence):
        yield from check(value, expected.item, key)
    elif not isinstance(value, yaml.Sequence):
        yield _finding(value, key, f"expected a list, found {yaml.describe(value)}")
    else:
        for index, item in enumerate(value.items):
            yield from check(item, expected.item, f"{key}[{index}]")


def _check_map(value: Value, expected: MapOf, key: str) -> Iterator[Finding]:
    if not isinstance(value, yaml.Mapping):
        yield _finding(value, key, f"expected a mapping, found {yaml.describe(value)}")
        return
    for name, item in value.entries.items():
        yield from _check_scalar(name, expected.key, f"{key}.{name}")
        yield from check(item, expected.value, f"{key}.{name}")


def _check_record(value: Value, expected: Record, key: str) -> Iterator[Finding]:
    if expected.short and isinstance(value, Text):
        yield from check(value, expected.fields[expected.short].type, key)
        return
    if not isinstance(value, yaml.Mapping):
        yield _finding(value, key, f"expected {expected.name}, found {yaml.describe(value)}")
        return
    for name, item in value.entries.items():
        dotted = f"{key}.{name}" if key else name
        if name in expected.fields:
            yield from check(item, expected.fields[name].type, dotted)
        else:
            yield _finding(name, dotted, f"{expected.name} has no key '{name}'{nearest(name, [*expected.fields])}")
    missing = [name for name, each in expected.fields.items() if each.required and name not in value.entries]
    if missing:
        yield _finding(value, key, f"{expected.name} lacks {', '.join(missing)}")
    if expected.one_of:
        yield from _check_one_of(value, expected, key)


def _check_one_of(value: yaml.Mapping, expected: Record, key: str) -> Iterator[Finding]:
    found = [name for name in expected.one_of if name in value.entries]
    if len(found) != 1:
        told = f"found {' and '.join(found)}" if found else "found none of them"
        yield _finding(value, key, f"{expected.name} has exactly one of {', '.join(expected.one_of)}; {told}")


def _check_kinds(value: Value, expected: Kinds, key: str) -> Iterator[Finding]:
    if not isinstance(value, yaml.Mapping):
        yield _finding(value, key, f"expected {expected.name}, found {yaml.describe(value)}")
        return
    found = [name for name in expected.records if name in value.entries]
    if len(found) == 1:
        yield from _check_record(value, expected.records[found[0]], key)
        return
    told = f"found {' and '.join(found)}" if found else "found none of them"
    unknown = [nearest(name, [*expected.records]) for name in value.entries]
    slip = next((hint for hint in unknown if "did you mean" in hint), "") if not found else ""
    yield _finding(value, key, f"{expected.name} has exactly one of {', '.join(expected.records)}; {told}{slip}")


def json_schema(expected: Type) -> dict[str, Any]:
    """``expected`` as a JSON Schema (draft 2020-12). Text is always a string: quote what looks like a number."""
    match expected:
        case Scalar():
            return {"type": "string", "pattern": f"^(?:{expected.pattern})$", "description": expected.expected}
        case ListOf():
            item = json_schema(expected.item)
            whole = {"type": "array", "items": item}
            return {"anyOf": [item, whole]} if expected.single else whole
        case MapOf():
            names = {"pattern": f"^(?:{expected.key.pattern})$"}
            return {"type": "object", "propertyNames": names, "additionalProperties": json_schema(expected.value)}
        case Record():
            return _record_schema(expected)
        case Kinds():
            return {"oneOf": [_record_schema(record) for record in expected.records.values()]}


def _record_schema(record: Record) -> dict[str, Any]:
    properties = {name: {**json_schema(each.type), "description": each.doc} for name, each in record.fields.items()}
    schema: dict[str, Any] = {
        "type": "object",
        "title": record.name,
        "properties": properties,
        "additionalProperties": False,
    }
    if required := [name for name, each in record.fields.items() if each.required]:
        schema["required"] = required
    if record.one_of:
        schema["oneOf"] = [{"required": [name]} for name in record.one_of]
    return {"anyOf": [json_schema(record.fields[record.short].type), schema]} if record.short else schema
