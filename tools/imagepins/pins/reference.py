"""The types of pins.yaml → the tables of docs/pins.md."""

from collections.abc import Iterator

from imagepins.pins.schema import Field, Kinds, ListOf, MapOf, Record, Scalar, Type


def markdown(root: Record) -> str:
    """One table per record, in the order in which the file's keys lead to them."""
    parts = []
    for record in _records(root, {}):
        parts.append(f"### {record.name.capitalize() if record is not root else record.name}\n")
        if record.one_of:
            parts.append(f"Exactly one of {', '.join(f'`{key}`' for key in record.one_of)}.\n")
        if record.short:
            parts.append(f"A bare text stands for `{record.short}`.\n")
        parts.append("| key | value | meaning |\n|---|---|---|")
        parts.append("\n".join(_row(name, each) for name, each in record.fields.items()) + "\n")
    return "\n".join(parts)


def _row(name: str, each: Field) -> str:
    required = " (required)" if each.required else ""
    return f"| `{name}`{required} | {_words(each.type)} | {each.doc} |"


def _words(type_: Type) -> str:
    match type_:
        case Scalar():
            return type_.expected
        case ListOf():
            return f"a list: {_words(type_.item)}" + (" (or one alone)" if type_.single else "")
        case MapOf():
            return f"a mapping: {_words(type_.value)}"
        case Record() | Kinds():
            return type_.name
    return ""


def _records(type_: Type, seen: dict[str, None]) -> Iterator[Record]:
    match type_:
        case ListOf():
            yield from _records(type_.item, seen)
        case MapOf():
            yield from _records(type_.value, seen)
        case Kinds():
            for record in type_.records.values():
                yield from _records(record, seen)
        case Record() if type_.name not in seen:
            seen[type_.name] = None
            yield type_
            for each in type_.fields.values():
                yield from _records(each.type, seen)
