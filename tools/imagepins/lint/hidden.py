"""Texts of templates and Dockerfiles → commits, checksums and addresses that stand there instead of in pins.yaml."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from imagepins.lint.gitwords import git_refs
from imagepins.pins.model import GitPin, PinSet, Track

# What a template fills in is no literal.
_FILLED_IN = re.compile(r"\[\[\[.*?\]\]\]|(?P<statement>\[\[%.*?%\]\]|\[\[#.*?#\]\])", re.DOTALL)
_HEX = re.compile(r"(?<![\w.$/-])(?:sha256:)?(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])(?:[0-9a-f]{64}|[0-9a-f]{7,40})(?![\w-])")
_URL = re.compile(r"(?:git\+)?(?:https?|ssh|git)://[^\s\"'$\\;|&)<>]+|git@[\w.-]+:[^\s\"'$\\;|&)<>]+")
_FETCHES = re.compile(r"^\s*ADD\s|\b(?:curl|wget|git\s+clone|git\s+fetch|git\s+remote\s+add|git\+)", re.IGNORECASE)
_EXEC_FORM = re.compile(r"\s*\w+\s+\[.*\]\s*")


@dataclass(frozen=True)
class Hidden:
    """A literal on ``line`` that ought to be a pin, and what it looks like."""

    line: int
    literal: str
    what: str


def hidden_literals(text: str, pinned: frozenset[str]) -> Iterator[Hidden]:
    """Literals of ``text`` that are not among ``pinned``, nor the beginning of one of those."""
    blanked = _FILLED_IN.sub(_blank, text)
    for pieces in _logical_lines(blanked):
        seen: set[str] = set()
        for literal, what in _literals(" ".join(piece for _, piece in pieces)):
            if literal in seen or any(value.startswith(literal.removeprefix("sha256:")) for value in pinned):
                continue
            seen.add(literal)
            yield Hidden(next(number for number, piece in pieces if literal in piece), literal, what)


def pinned_values(pinset: PinSet) -> frozenset[str]:
    """Everything in pins.yaml that may stand in a rendered Dockerfile."""
    return frozenset(_pinned_values(pinset))


def _pinned_values(pinset: PinSet) -> Iterator[str]:
    for pin in pinset.pins.values():
        known = [pin.id, pin.source, pin.value, pin.component_version, getattr(pin, "index", None)]
        if isinstance(pin, GitPin):
            known += [patch.commit for patch in (*pin.picks, *pin.reverts)]
            known += [pin.track.branch, pin.track.tag, _tracked_ref(pin.track)] if pin.track else []
        for value in known:
            if value:
                yield str(value)
                yield str(value).removeprefix("sha256:")
    for target in pinset.targets.values():
        yield from (str(value) for value in target.args.values())


def _tracked_ref(track: Track) -> str:
    if track.pull:
        return f"refs/pull/{track.pull}/head"
    return f"refs/heads/{track.branch}" if track.branch else f"refs/tags/{track.tag}"


def _blank(match: re.Match[str]) -> str:
    return (" " if match["statement"] else "$") + "\n" * match[0].count("\n")


def _literals(line: str) -> Iterator[tuple[str, str]]:
    for match in _HEX.finditer(line):
        length = len(match[0].removeprefix("sha256:"))
        yield match[0], "a checksum" if length == 64 else "a commit"
    shell = re.sub(r"[\[\],]", " ", line) if _EXEC_FORM.fullmatch(line) else line
    yield from ((ref, f"a ref of git {command}") for command, ref in git_refs(shell))
    if _FETCHES.search(line):
        for match in _URL.finditer(line):
            # An address that goes on in a variable is filled from an ARG.
            if not line[match.end() :].startswith("$"):
                yield match[0].rstrip("/.,"), "an address"


def _logical_lines(text: str) -> Iterator[list[tuple[int, str]]]:
    """Lines that a backslash joins, each with its number, without comments."""
    pieces: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("#"):
            continue
        told = re.sub(r"\s#\s.*", "", line).rstrip()
        pieces.append((number, told.removesuffix("\\")))
        if not told.endswith("\\"):
            yield pieces
            pieces = []
    yield pieces
