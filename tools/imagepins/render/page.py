"""PinSet and rendered Dockerfiles → docs/images.md: what each image is made of, and how its stages hang together."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment

from imagepins.pins.model import Pin, PinSet, Target
from imagepins.render.environment import render

TEMPLATE = "docs/images.md.j2"
_FROM = re.compile(r"FROM (\S+) AS (\S+)")
_USE = re.compile(r"\bfrom=(\w+)")
# Every stage mounts the helpers, which have nothing to do with what is built.
_HELPERS = "recipe_tools"


def render_page(pinset: PinSet, root: Path, env: Environment, dockerfiles: Mapping[str, str]) -> dict[str, str]:
    """Text of the page by its path, or nothing where there is no template. Raises PinsError for a wrong one."""
    if not (root / TEMPLATE).is_file():
        return {}
    targets = list(pinset.targets.values())
    values: dict[str, Any] = {
        "images_table": "\n".join(_images(targets)),
        "pin_tables": {image: "\n".join(_pins(_of_image(targets, image))) for image in _names(targets)},
        "graph": {target.name: "\n".join(_graph(dockerfiles[target.dockerfile])) for target in targets},
        "unknown": [str(pin.name) for pin in pinset.pins.values() if not pin.is_complete],
    }
    header = f"<!-- Generated from pins.yaml and {TEMPLATE} by 'tools/image render'. Do not edit. -->\n\n"
    return {TEMPLATE.removesuffix(".j2"): header + render(env, TEMPLATE, values).rstrip("\n") + "\n"}


def _names(targets: list[Target]) -> list[str]:
    return list(dict.fromkeys(str(target.image) for target in targets))


def _of_image(targets: list[Target], image: str) -> list[Target]:
    return [target for target in targets if target.image == image]


def _images(targets: list[Target]) -> Iterator[str]:
    yield "| image | built from | architectures | tags |\n|---|---|---|---|"
    for target in targets:
        base = f"`{target.parent.name}`" if target.parent else ", ".join(_bases(target)) or "-"
        tags = ", ".join(f"`{tag}`" for tag in target.tags)
        yield f"| `{target.name}` | {base} | {', '.join(target.archs) or '-'} | {tags} |"


def _bases(target: Target) -> Iterator[str]:
    return (f"`{pin.source}:{getattr(pin, 'tag', '')}`" for pin in target.pins.values() if pin.kind == "image")


def _pins(variants: list[Target]) -> Iterator[str]:
    """A row for each role: the value once where all variants agree, else one for each of them."""
    roles = list(dict.fromkeys(role for target in variants for role in target.pins))
    columns = [str(target.variant) for target in variants]
    yield f"| pin | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}"
    for role in roles:
        cells = [_short(target.pins.get(role)) for target in variants]
        yield f"| {role} | {' | '.join(cells)} |"


def _short(pin: Pin | None) -> str:
    if pin is None:
        return "-"
    if not pin.is_complete:
        return "not known yet"
    value = str(getattr(pin, "tag", "")) if pin.kind == "image" else str(pin.value)
    return f"`{value[:12]}`" if pin.kind in ("git", "url") else f"`{value}`"


def _graph(dockerfile: str) -> Iterator[str]:
    """Stages as a Mermaid graph: an arrow from each to what is built of it."""
    yield "graph LR"
    stage, seen = "", set[str]()
    for line in dockerfile.splitlines():
        if match := _FROM.match(line):
            base, stage = match.groups()
            if stage != _HELPERS and base in seen:
                yield f"  {base} --> {stage}"
            seen.add(stage)
        uses = (name for name in _USE.findall(line) if name in seen - {_HELPERS, stage})
        yield from (f"  {name} --> {stage}" for name in dict.fromkeys(uses) if not line.startswith("#"))
