"""Target → where each line of its Dockerfile comes from.

The templates are rendered once more with a mark at the beginning of every line that gives output; what comes out then
tells its origin, through includes, macros and loops.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from jinja2.ext import Extension

from imagepins.pins.model import PinSet, Target
from imagepins.render.dockerfile import context
from imagepins.render.environment import dquote, environment, render

_MARK = re.compile("\x02([^\x03]*)\x03")
_TAG = re.compile(r"\[\[[%#]|\[\[\[|[%#]\]\]|\]\]\]")
_NO_OUTPUT = re.compile(r"\s*(?:\[\[[%#]|$)")


class _Marks(Extension):
    """Puts ``\\x02TEMPLATE:LINE\\x03`` before every line that gives output."""

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        return "".join(_marked(source, name or str(filename)))


def places(pinset: PinSet, root: Path, target: Target, dockerfile: str) -> list[str]:
    """``file:line`` of the origin of each line of ``dockerfile``, the target's rendered text.

    ARGs come from pins.yaml, what the renderer adds itself from the line before it.
    """
    env = environment(root)
    env.add_extension(_Marks)
    marked = render(env, target.template, context(target)).splitlines()
    origins = list(_origins(marked, target.template))
    in_pins = {f"ARG {pin.arg}={pin.value}": pinset.place(pin.name) for pin in target.pins.values()}
    in_pins |= {f"ARG {name}={dquote(value)}": pinset.place(value) for name, value in target.args.items()}
    found: list[str] = []
    number = 0
    for line in dockerfile.splitlines():
        while line.strip() and number < len(origins) and not origins[number][0].strip():
            number += 1
        is_there = number < len(origins) and origins[number][0] == line
        before = found[-1] if found else f"{target.template}:1"
        found.append(in_pins.get(line) or (origins[number][1] if is_there else before))
        number += is_there
    return found


def _origins(marked: list[str], template: str) -> Iterator[tuple[str, str]]:
    """Each line without its marks, and the innermost mark that counts for it."""
    place = f"{template}:1"
    for line in marked:
        place = (_MARK.findall(line) or [place])[-1]
        yield _MARK.sub("", line), place


def _marked(source: str, name: str) -> Iterator[str]:
    is_open = False
    for number, line in enumerate(source.splitlines(keepends=True), start=1):
        yield line if is_open or _NO_OUTPUT.match(line) else f"\x02{name}:{number}\x03{line}"
        for tag in _TAG.findall(line):
            is_open = tag.startswith("[")
