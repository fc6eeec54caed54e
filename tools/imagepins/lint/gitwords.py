"""Words of a shell line → the branches, tags and commits that git commands among them name."""

import re
from collections.abc import Iterator, Sequence

from imagepins.lint.shell import words

_OPERATOR = re.compile(r"[();<>|&\n]+")
# Options whose value is the next word, by what is asked of git; others stand alone or carry theirs behind a "=".
_GLOBAL = {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env"}
_FETCH = {"--depth", "--deepen", "--shallow-since", "--shallow-exclude", "-j", "--jobs", "--filter", "-o", "--refmap"}
_FETCH |= {"--server-option", "--upload-pack", "--negotiation-tip"}
_PICK = {"-m", "--mainline", "-X", "--strategy-option", "--strategy", "--cleanup"}
_NAMES_REF = {"-b", "--branch", "--revision"}
_VALUED = {
    "checkout": {"-b", "-B", "--orphan", "--conflict", "--pathspec-from-file"},
    "switch": {"-c", "-C", "--create", "--force-create", "--orphan", "--conflict"},
    "fetch": _FETCH,
    "pull": _FETCH | {"-s", *_PICK},
    "clone": _NAMES_REF | {"-o", "--origin", "-c", "--config", "-u", "--reference", "--template", *_FETCH},
    "cherry-pick": _PICK,
    "revert": _PICK,
    "merge": {"-m", "-F", "--file", "-s", "-X", "--strategy", "--strategy-option", "--cleanup", "--into-name"},
    "reset": {"--pathspec-from-file"},
}
_NO_NAME = re.compile(r"(?:HEAD|FETCH_HEAD|ORIG_HEAD|MERGE_HEAD|origin)$|\.")


def git_refs(line: str) -> Iterator[tuple[str, str]]:
    """``(git command, ref)`` for every ref that stands literally in ``line``, also in quoted commands within it."""
    found = words(line) or line.replace('"', " ").replace("'", " ").split()
    for command in _commands(found):
        start = next((number for number, word in enumerate(command) if re.fullmatch(r"(\S*/)?git", word)), None)
        if start is not None:
            yield from _of_command(command[start + 1 :])
        for word in command:
            if " " in word and "git" in word and word != line:
                yield from git_refs(word)


def _commands(found: Sequence[str]) -> Iterator[list[str]]:
    command: list[str] = []
    for word in found:
        if _OPERATOR.fullmatch(word):
            yield command
            command = []
        else:
            command.append(word)
    yield command


def _of_command(arguments: list[str]) -> Iterator[tuple[str, str]]:
    _, asked = _parted(arguments, _GLOBAL, stop_at_first=True)
    if not asked or asked[0] not in _VALUED:
        return
    options, plain = _parted(asked[1:], _VALUED[asked[0]])
    for word in _named(asked[0], options, plain):
        ref = word.removeprefix("+").partition(":")[0]
        if re.fullmatch(r"[\w./+-]+", ref) and not _NO_NAME.match(ref):
            yield asked[0], ref


def _named(command: str, options: list[tuple[str, str]], plain: list[str]) -> list[str]:
    """The words that stand where ``command`` takes refs."""
    match command:
        case "clone":
            return [value for name, value in options if name in _NAMES_REF]
        case "fetch" | "pull":
            return [word for word in plain[1:] if "://" not in word]
        case "cherry-pick" | "revert" | "merge":
            return plain
        case _:
            # What follows the first are paths.
            return plain[:1]


def _parted(
    arguments: list[str], valued: set[str], *, stop_at_first: bool = False
) -> tuple[list[tuple[str, str]], list[str]]:
    """Options with their values, and the plain words before a ``--``."""
    options: list[tuple[str, str]] = []
    plain: list[str] = []
    rest = iter(arguments)
    for word in rest:
        if word == "--":
            break
        if not word.startswith("-"):
            plain.append(word)
            if stop_at_first:
                return options, [*plain, *rest]
            continue
        name, equals, value = word.partition("=")
        if not word.startswith("--") and len(word) > 2:
            is_attached = word[:2] in valued
            name, value = (word[:2], word[2:].removeprefix("=")) if is_attached else (f"-{word[-1]}", "")
            equals = "=" if is_attached else ""
        options.append((name, value if equals or name not in valued else next(rest, "")))
    return options, plain
