"""Target → text of its Dockerfile, with header, ARG lines and exactly one newline at the end."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment

from imagepins.errors import CheckFailed, PinsError
from imagepins.pins.model import Pin, PinSet, Target, UrlPin
from imagepins.plan.dockerfile import parse
from imagepins.render.environment import dquote, environment, render
from imagepins.render.page import render_page
from imagepins.render.workflows import render_workflows

DIRECTIVE = re.compile(r"#\s*(?:syntax|escape|check)\s*=\s*\S.*", re.IGNORECASE)
RECIPES = "images/_recipes/"
"""Where the recipes of components lie. An image that is made of them must have one for each of its pins."""

_NAME = re.compile(r"\b[A-Z][A-Z0-9_]*\b")


def render_all(pinset: PinSet, root: Path, targets: tuple[Target, ...] | None = None) -> dict[str, str]:
    """Texts of the Dockerfiles of ``targets``, by path relative to ``root``, the directory of pins.yaml.

    Without ``targets`` it is everything that is rendered: all Dockerfiles, the workflows and docs/images.md.
    Raises PinsError for a wrong template, CheckFailed where pins break a constraint.
    """
    chosen = tuple(pinset.targets.values()) if targets is None else targets
    check_constraints(pinset, chosen)
    env = environment(root)
    texts = {target.dockerfile: _rendered(pinset, root, env, target) for target in chosen}
    if targets is not None:
        return texts
    return texts | render_workflows(pinset, root, env) | render_page(pinset, root, env, texts)


def _rendered(pinset: PinSet, root: Path, env: Environment, target: Target) -> str:
    try:
        text = render(env, target.template, context(target))
    except PinsError as error:
        raise PinsError(f"{error}; the template of {target.name}, {pinset.place(target.template)}") from None
    known = _read_names(text)
    unused = [pin for pin in target.pins.values() if pin.arg not in known]
    if unused and RECIPES in (root / target.template).read_text():
        lines = (
            f"{pinset.place(pin.name)}: {target.template} has no recipe that reads pin '{pin.name}' ({pin.arg}),"
            f" which {target.image} lists"
            for pin in unused
        )
        raise PinsError("\n".join(lines))
    return _finish(text, target)


def _read_names(text: str) -> set[str]:
    """Words that could be the name of an ARG, outside comments and ARGs themselves."""
    lines = (line for line in text.splitlines() if not line.startswith(("#", "ARG ")))
    return set(_NAME.findall("\n".join(lines)))


def broken_constraints(pinset: PinSet, targets: tuple[Target, ...]) -> list[str]:
    """A message for each constraint that the pins of a target break."""
    broken: dict[str, list[str]] = {}
    for target in targets:
        pins = tuple(target.all_pins.values())
        for constraint in pinset.constraints:
            if not constraint.require.concerns(pins) or (constraint.when and not constraint.when.holds(pins)):
                continue
            if not constraint.require.holds(pins):
                condition = f" (while {constraint.when.text})" if constraint.when else ""
                place = pinset.place(constraint.reason)
                message = f"{place}: '{constraint.require.text}'{condition} does not hold: {constraint.reason}"
                broken.setdefault(message, []).append(target.name)
    return [f"{message}; in {', '.join(names)}" for message, names in broken.items()]


def check_constraints(pinset: PinSet, targets: tuple[Target, ...]) -> None:
    """Raise CheckFailed with every constraint that the pins of ``targets`` break."""
    if broken := broken_constraints(pinset, targets):
        raise CheckFailed("\n".join(broken))


def context(target: Target) -> Mapping[str, Any]:
    """What a template can use."""
    return {
        "image": target.image,
        "variant": target.variant,
        "target": target,
        "parent": target.parent,
        "pins": target.pins,
        "all_pins": target.all_pins,
        "args": target.args,
        "archs": target.archs,
        "env": target.env,
        "gates": {gate.name: gate for gate in target.gates},
        "pin_args": pin_args(target),
        "plain_args": "\n".join(f"ARG {name}={dquote(value)}" for name, value in target.args.items()),
        "env_lines": env_lines(target),
    }


def pin_args(target: Target) -> str:
    """One ``ARG NAME=value`` line per pin, unindented: upstream's tests and scanners read the first such line."""
    lines = (line for pin in target.pins.values() for line in _pin_lines(pin))
    return "\n".join(lines)


def env_lines(target: Target) -> str:
    """One ``ENV NAME="value"`` line per environment value, its reason as a comment above."""
    lines = []
    for name, var in target.env.items():
        if var.reason:
            lines.append(f"# {var.reason}")
        lines.append(f"ENV {name}={dquote(var.value)}")
    return "\n".join(lines)


def _pin_lines(pin: Pin) -> list[str]:
    lines = [f"# {pin.name}: {pin.note}"] if pin.note else []
    if not pin.is_complete:
        missing = "commits of its picks and reverts are not known whole" if pin.id else f"tools/bump_pin {pin.name}"
        lines.append(f"# {pin.name} is not known yet: {missing}")
    if isinstance(pin, UrlPin):
        lines.append(f"ARG {pin.url_arg}={_bare(pin.url)}")
    return [*lines, f"ARG {pin.arg}={_bare(pin.value)}"]


def _bare(value: str) -> str:
    return value if re.fullmatch(r"[A-Za-z0-9@%+=:,./_~-]*", value) else dquote(value)


def _finish(text: str, target: Target) -> str:
    """Parser directives first, then the header, then the rest, which ends in one newline."""
    if "\ufeff" in text:
        raise PinsError(f"{target.template}: it or a part of it begins with a byte order mark; save it as plain UTF-8")
    lines = text.lstrip().splitlines()
    count = 0
    while count < len(lines) and DIRECTIVE.fullmatch(lines[count].strip()):
        count += 1
    header = [
        f"# Generated from pins.yaml and {target.template} by 'tools/image render'. Do not edit:",
        "# change those and render again.",
    ]
    whole = [*lines[:count], *header, *lines[count:]]
    return "\n".join(_separate_heredocs(whole, target.dockerfile)).rstrip("\n") + "\n"


def _separate_heredocs(lines: list[str], path: str) -> Iterator[str]:
    """An empty line after each heredoc (hadolint cannot read on without one, hadolint/hadolint#960)."""
    ends = {each.end for each in parse("\n".join(lines), path).instructions if each.bodies}
    for number, line in enumerate(lines, start=1):
        yield line
        if number in ends and number < len(lines) and lines[number].strip():
            yield ""
