"""A build that failed → what to tell: target, Dockerfile and template line, pins, last lines, log."""

import re
from collections.abc import Iterator
from pathlib import Path

from imagepins.build.causes import OTHER
from imagepins.build.one import Outcome
from imagepins.errors import CheckFailed, PinsError
from imagepins.pins.model import Pin, PinSet, UrlPin
from imagepins.plan.dockerfile import Instruction
from imagepins.plan.graph import Node
from imagepins.render.dockerfile import render_all
from imagepins.render.places import places

_ERROR_LINE = re.compile(
    r"^\s*(?:E:|ERROR\b|error:|fatal:|remote:.*not our ref|curl:|.*FAILED$|.*digest mismatch)", re.IGNORECASE
)


def describe_failure(pinset: PinSet, root: Path, node: Node, outcome: Outcome, log: Path) -> str:
    """The message of a failed build; ``root`` is the directory of pins.yaml."""
    events, cause = outcome.events, outcome.cause or OTHER
    line = events.failed_line
    instruction = node.parsed.at(line) if line else None
    step = events.failed
    tail = list(step.tail) if step else []
    lines = [f"{node.name}: {cause.name}: {_shortened(events.final_error)}"]
    if step is None:
        lines += [f"  {each.strip()}" for each in events.final_error.splitlines()[1:]]
    if line:
        lines.append(f"  at {node.target.dockerfile}:{line}{_from_template(pinset, root, node, line)}")
    lines += [f"  {each}" for each in _pin_lines(pinset, node, instruction, [*tail, events.final_error])]
    if cause.hint:
        lines.append(f"  {cause.hint}")
    # Blanks alone would leave a line that begins with :: a command to GitHub's runner.
    if tail:
        lines += [f"  last {len(tail)} lines of {step.name if step else ''}:", *(f"    | {each}" for each in tail)]
    if events.is_clipped:
        lines.append("  the builder clipped the log; give it BUILDKIT_STEP_LOG_MAX_SIZE=-1 to see all of it")
    return "\n".join([*lines, f"  log: {log}"])


def _from_template(pinset: PinSet, root: Path, node: Node, line: int) -> str:
    """Where the line comes from; nothing where the templates give something else by now."""
    try:
        if render_all(pinset, root, (node.target,))[node.target.dockerfile] != node.dockerfile:
            return ""
        return f", from {places(pinset, root, node.target, node.dockerfile)[line - 1]}"
    except (PinsError, CheckFailed):
        return ""


def _pin_lines(pinset: PinSet, node: Node, instruction: Instruction | None, said: list[str]) -> Iterator[str]:
    """Pins that the error lines name, else pins that the failed step uses."""
    pins = list({str(pin.name): pin for pin in node.target.all_pins.values()}.values())
    errors = "\n".join(line for line in said if _ERROR_LINE.search(line))
    blamed = [pin for pin in pins if _is_blamed(pin, errors)]
    for pin in blamed:
        place, named = _place(pinset, pin)
        yield f"{place}: the error is about the {named}; tools/bump_pin {pin.name} finds one that exists"
    if blamed or instruction is None:
        return
    used = [pin for pin in pins if _is_used(pin, instruction.text)]
    yield from (f"{place}: the step uses the {named}" for place, named in (_place(pinset, pin) for pin in used))


def _is_blamed(pin: Pin, errors: str) -> bool:
    """Whether error lines name the pin's id, beside its source for versions, which alone are too common."""
    identity = str(pin.id or "")
    if not identity or not re.search(rf"(?<![\w.]){re.escape(identity)}(?![\w])", errors):
        return False
    return (
        pin.kind not in ("apt", "pypi") or re.search(rf"\b{re.escape(pin.source)}\b", errors, re.IGNORECASE) is not None
    )


def _is_used(pin: Pin, text: str) -> bool:
    names = [pin.arg, *([pin.url_arg] if isinstance(pin, UrlPin) else [])]
    return any(re.search(rf"\$\{{?{re.escape(name)}\b", text) for name in names) or bool(pin.id and pin.id in text)


def _place(pinset: PinSet, pin: Pin) -> tuple[str, str]:
    identity = pin.id if pin.id is not None else pin.name
    return pinset.place(identity), f"{pin.kind} pin {pin.name} = {identity}"


def _shortened(error: str) -> str:
    """The error without the text of the command, which its line in the Dockerfile shows better."""
    short = re.sub(r'process ".*" did not complete', "the command did not complete", error, flags=re.DOTALL)
    lines = [each for each in short.splitlines() if each.strip()]
    return lines[0].removeprefix("failed to solve: ") if lines else "no error was given"
