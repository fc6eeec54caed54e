"""Instruction of a rendered Dockerfile → the place in the templates that its text comes from.

Jinja keeps no map from its output to its input, so the texts are compared: the instruction of a template that gives
most of the rendered lines is the one, and a line counts for more the fewer lines of all templates could have given it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from imagepins.plan.dockerfile import Instruction

_INCLUDE = re.compile(r"\[\[%-?\s*(?:include|import|from|extends)\s+['\"]([^'\"]+)['\"]")
_BLOCK = re.compile(r"\[\[\[.*?\]\]\]|\[\[%.*?%\]\]|\[\[#.*?#\]\]")
_KEYWORD = re.compile(
    r"(?:ADD|ARG|CMD|COPY|ENTRYPOINT|ENV|EXPOSE|FROM|HEALTHCHECK|LABEL|RUN|SHELL|USER|VOLUME|WORKDIR)\b"
)


@dataclass(frozen=True)
class Line:
    """One line of a template: where it stands, and what it can render to.

    ``text`` is its own, without blocks; ``prefix`` what comes before the first block, after which it may go on with
    lines that a macro gives.
    """

    path: str
    number: int
    text: str
    pattern: re.Pattern[str]
    prefix: str

    @property
    def is_start(self) -> bool:
        """Whether an instruction begins here."""
        return _KEYWORD.match(self.text) is not None

    def gives(self, line: str) -> bool:
        """Whether it can render to ``line``, and has text of its own."""
        return bool(self.text) and self.pattern.fullmatch(line) is not None

    def begins(self, line: str) -> bool:
        """Whether it can render to an instruction that begins with ``line``."""
        return self.is_start and (self.gives(line) or (self.prefix != self.text and line.startswith(self.prefix)))


def find_place(root: Path, template: str, dockerfile: str, instruction: Instruction) -> str | None:
    """``path:line`` of the instruction in ``template`` or in what that takes in.

    None where nothing is like it, or more than one place is.
    """
    rendered = dockerfile.split("\n")[instruction.line - 1 : instruction.end]
    lines = [line for path in _templates(root, template) for line in _read(root, path)]
    starts = [at for at, line in enumerate(lines) if line.begins(rendered[0])]
    common = [max(sum(line.gives(each) for line in lines), 1) for each in rendered]
    ranked = sorted(((_likeness(lines, start, rendered, common), start) for start in starts), reverse=True)
    # Two that are equally like it: a wrong place would cost more time than none.
    if not ranked or (len(ranked) > 1 and ranked[0][0] <= ranked[1][0]):
        return None
    best = lines[ranked[0][1]]
    return f"{best.path}:{best.number}"


def _likeness(lines: list[Line], start: int, rendered: list[str], common: list[int]) -> float:
    """How much of ``rendered`` the instruction at ``start`` gives, in characters, shared ones counting in part.

    A macro or a loop gives lines that stand elsewhere, so lines may be passed over on both sides.
    """
    score, at = (len(lines[start].text) / common[0] if lines[start].gives(rendered[0]) else 0.0), 1
    for line in lines[start + 1 :]:
        if line.is_start or line.path != lines[start].path:
            break
        found = next((i for i in range(at, len(rendered)) if line.gives(rendered[i])), None)
        if found is not None:
            score, at = score + len(line.text) / common[found], found + 1
    return score


def _templates(root: Path, template: str) -> Iterator[str]:
    """The template and all that it takes in, each once."""
    seen: list[str] = []
    queue = [template]
    while queue:
        path = queue.pop(0)
        if path not in seen and (root / path).is_file():
            seen.append(path)
            yield path
            queue.extend(_INCLUDE.findall((root / path).read_text(encoding="utf-8")))


def _read(root: Path, path: str) -> Iterator[Line]:
    for number, line in enumerate((root / path).read_text(encoding="utf-8").split("\n"), 1):
        parts = _BLOCK.split(line)
        pattern = re.compile(".*".join(re.escape(part) for part in parts))
        yield Line(path, number, "".join(parts).strip(), pattern, parts[0])
