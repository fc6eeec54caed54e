"""The project's own rules, for what neither hadolint nor BuildKit sees in a Dockerfile.

Each rule is a function from a parsed Dockerfile to findings with lines of that file; the reason is in its docstring.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from imagepins.lint import shell
from imagepins.lint.hidden import hidden_literals, pinned_values
from imagepins.lint.stages import Stage, global_args, is_read_from_environment, stages
from imagepins.pins.model import DEFAULT_PLATFORM, ImagePin, PinSet
from imagepins.plan.dockerfile import Instruction, Parsed
from imagepins.plan.graph import normal
from imagepins.plan.stages import Sources, sources

_NAME = re.compile(r"\$\{?([A-Za-z_]\w*)")
_SHA = re.compile(r"(?<![0-9a-f])(?:[0-9a-f]{64}|[0-9a-f]{40})(?![0-9a-f])")
_DIRECTIVE = re.compile(r"#\s*(?:syntax|escape|check)\s*=\s*\S+", re.IGNORECASE)
_PATHS = re.compile(r"\bLD_LIBRARY_PATH=(\"[^\"]*\"|'[^']*'|\S*)")


@dataclass(frozen=True)
class Problem:
    """What ``rule`` has against ``line`` of a Dockerfile."""

    line: int
    rule: str
    message: str


def check(parsed: Parsed, text: str, pinset: PinSet, platform: str = DEFAULT_PLATFORM) -> list[Problem]:
    """All problems of one Dockerfile for a platform, by line."""
    outside = sources(parsed, "Dockerfile", platform)
    found = [
        *arg_outside_its_scope(parsed),
        *arg_unused_or_undeclared(parsed),
        *heredoc_goes_on_after_a_failure(parsed),
        *pipe_hides_a_failure(parsed),
        *bare_list_of_architectures(parsed),
        *empty_search_path(parsed),
        *late_directive(parsed, text),
        *literal_from_elsewhere(text, pinset),
        *image_from_elsewhere(outside, pinset),
        *unchecked_download(outside),
    ]
    return sorted(found, key=lambda problem: (problem.line, problem.rule))


def arg_outside_its_scope(parsed: Parsed) -> Iterator[Problem]:
    """A stage sees no ARG that it, or the stage it is built on, does not declare: the value is empty there."""
    everywhere = {name for stage in stages(parsed) for name in stage.own_args} | set(global_args(parsed))
    for stage in stages(parsed):
        known = set(stage.inherited)
        for each in stage.instructions:
            if each.keyword == "ARG":
                known |= {name for name, _ in stage.declared(each)}
            if each.keyword == "ENV":
                known |= stage.set_by(each)
            for name in dict.fromkeys(_NAME.findall(each.text)):
                if name in everywhere and name not in known and not _is_assigned(name, each.text):
                    yield Problem(each.line, "arg-scope", f"{name} is not declared in this stage, so it is empty here")


def arg_unused_or_undeclared(parsed: Parsed) -> Iterator[Problem]:
    """A build argument that nothing reads, or one that has no value, is a slip in its name (moby/buildkit#2128)."""
    first, later = global_args(parsed), list(stages(parsed))
    bases = " ".join(each.rest for each in parsed.instructions if each.keyword == "FROM")
    redeclared = {name for stage in later for name in stage.own_args}
    for name, line in first.items():
        if name not in redeclared and name not in _NAME.findall(bases):
            yield Problem(line, "arg-unused", f"nothing reads {name}")
    for stage in later:
        for each in (each for each in stage.instructions if each.keyword == "ARG"):
            for name, has_value in stage.declared(each):
                if not has_value and name not in first and not is_read_from_environment(name):
                    yield Problem(each.line, "arg-undeclared", f"{name} has no value: no ARG before FROM gives one")
                elif not is_read_from_environment(name) and not _is_read(name, stage, later):
                    yield Problem(each.line, "arg-unused", f"nothing in this stage, or built on it, reads {name}")


def heredoc_goes_on_after_a_failure(parsed: Parsed) -> Iterator[Problem]:
    """A here-document's commands go on after one that fails, unless it says otherwise (moby/buildkit#2722)."""
    for stage in stages(parsed):
        for each in stage.runs:
            if not stage.shell_has(each, "-e") and any(not shell.stops_at_failures(body) for body in scripts(each)):
                yield Problem(
                    each.line, "heredoc-errexit", "the first command is not `set -e`; a failure is passed over"
                )


def pipe_hides_a_failure(parsed: Parsed) -> Iterator[Problem]:
    """Of a pipe only the last command's failure counts: a checksum that did not match has been passed over."""
    for stage in stages(parsed):
        for each in stage.runs:
            text = "\n".join(scripts(each)) or each.rest
            if shell.has_pipe(text) and "pipefail" not in text and not stage.shell_has(each, "pipefail"):
                yield Problem(each.line, "pipe-pipefail", "a pipe without `set -o pipefail` hides failures")


def bare_list_of_architectures(parsed: Parsed) -> Iterator[Problem]:
    """The shell ends a command at a semicolon: of gfx942;gfx950 one is left (microsoft/onnxruntime#8990)."""
    for each in parsed.instructions:
        if each.keyword == "RUN" and shell.has_bare_archs("\n".join(scripts(each)) or each.rest):
            yield Problem(
                each.line, "arch-quotes", "a list of architectures outside quotes ends at its first semicolon"
            )


def empty_search_path(parsed: Parsed) -> Iterator[Problem]:
    """An empty element of LD_LIBRARY_PATH is the working directory: whoever can write there chooses the libraries."""
    for stage in stages(parsed):
        is_set = "LD_LIBRARY_PATH" in stage.inherited
        for each in stage.instructions:
            for match in _PATHS.finditer(each.text):
                value = re.sub(r"\$\{LD_LIBRARY_PATH:\+:[^}]*\}+", "", match[1].strip("\"'"))
                if not is_set:
                    value = re.sub(r"\$(?:LD_LIBRARY_PATH\b|\{LD_LIBRARY_PATH\})", "", value)
                if value.startswith(":") or value.endswith(":") or "::" in value:
                    yield Problem(each.line, "empty-path", f"LD_LIBRARY_PATH has an empty element: {match[1]}")
            is_set = is_set or (each.keyword == "ENV" and "LD_LIBRARY_PATH" in stage.set_by(each))


def late_directive(parsed: Parsed, text: str) -> Iterator[Problem]:
    """Directives count at the top only; below anything else they are comments (google/addlicense#88)."""
    inside = {line for each in parsed.instructions for line in range(each.line, each.end + 1)}
    for number, line in enumerate(text.splitlines(), start=1):
        if _DIRECTIVE.fullmatch(line.strip()) and number > len(parsed.directives) and number not in inside:
            yield Problem(number, "late-directive", f"{line.strip()} is a comment here; it belongs on the first line")


def literal_from_elsewhere(text: str, pinset: PinSet) -> Iterator[Problem]:
    """A commit, ref, checksum or address that is not in pins.yaml is moved by no bump and checked by nothing."""
    for each in hidden_literals(text, pinned_values(pinset)):
        yield Problem(
            each.line, "foreign-literal", f"{each.what}, {each.literal}, is not from pins.yaml; make it a pin"
        )


def image_from_elsewhere(outside: Sources, pinset: PinSet) -> Iterator[Problem]:
    """An outside image that is no pin is moved by no bump, and one without digest by anybody: no hash sees either."""
    known = {normal(str(pin.value)) for pin in pinset.pins.values() if isinstance(pin, ImagePin)}
    known |= {normal(tag) for target in pinset.targets.values() for tag in target.tags}
    for use in outside.images:
        # Docker refuses what it cannot expand, such as the value of a pin that is not known yet.
        if "$" not in use.name and normal(use.name) not in known:
            yield Problem(use.line, "foreign-image", f"{use.name} is no pin and no image of pins.yaml; make it a pin")


def unchecked_download(outside: Sources) -> Iterator[Problem]:
    """ADD takes what an address has today, and its cache what it had once (moby/buildkit#7108)."""
    for use in outside.unchecked:
        if not _SHA.search(use.name):
            yield Problem(use.line, "unchecked-add", f"{use.name}: give ADD its --checksum, or a commit")


def scripts(run: Instruction) -> list[str]:
    """Bodies of here-documents that a shell runs: those of a RUN that says nothing else, or calls a shell."""
    command = re.sub(r"<<-?\s*['\"]?\w+['\"]?", "", run.rest).strip()
    if command and not re.fullmatch(r"(?:/\S*/)?(?:ba|da)?sh", command):
        return []
    return [body.rpartition("\n")[0] for body in run.bodies]


def _is_assigned(name: str, text: str) -> bool:
    return re.search(rf"(?:^|[\s;&|(]){name}=|\b(?:read|for)\b[^\n;]*\b{name}\b", text) is not None


def _is_read(name: str, stage: Stage, later: list[Stage]) -> bool:
    names = {stage.name}
    for each in later:
        if each.name in names or each.base in names:
            names.add(each.name)
            text = "\n".join(one.text for one in each.instructions if one.keyword != "ARG" or "=" in one.rest)
            if re.search(rf"\$\{{?{name}\b", text):
                return True
    return False
