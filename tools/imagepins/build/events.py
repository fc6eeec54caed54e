"""Lines of ``buildx --progress=rawjson`` → what happened: steps, their output, warnings, and the final error."""

import json
import re
from base64 import b64decode
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from imagepins.terminal import colourless

TAIL_LINES = 40
"""Lines of a failed step that its report shows."""

CLIPPED = "[output clipped, log limit"
"""What BuildKit writes where it stopped passing on a step's output (docker/buildx#484)."""


@dataclass
class Step:
    """One vertex of the build graph."""

    number: int
    name: str
    started: str = ""
    completed: str = ""
    is_cached: bool = False
    error: str = ""
    partial: str = ""
    tail: deque[str] = field(default_factory=lambda: deque(maxlen=TAIL_LINES))

    @property
    def is_internal(self) -> bool:
        """Whether the step is bookkeeping of the builder rather than an instruction."""
        return re.match(r"\[[^\]]*\d+/\d+\] (?!FROM )", self.name) is None

    @property
    def seconds(self) -> float:
        """Time between start and end."""
        if not (self.started and self.completed):
            return 0.0
        return (_time(self.completed) - _time(self.started)).total_seconds()


@dataclass
class Events:
    """Gathers one build. ``feed`` takes a line and yields what a complete log should say about it.

    ``begun`` holds the instructions that have started, in the order in which that became known.
    """

    steps: dict[str, Step] = field(default_factory=dict)
    begun: list[Step] = field(default_factory=list)
    error_lines: list[str] = field(default_factory=list)
    is_clipped: bool = False

    def feed(self, line: str) -> Iterator[str]:
        """Take one line; yield log lines. What is no JSON is the client's own text, at the end its error."""
        try:
            event = json.loads(line) if line.startswith("{") else None
        except ValueError:
            event = None
        if not isinstance(event, dict):
            self.error_lines.append(line)
            yield line
            return
        for vertex in event.get("vertexes") or ():
            yield from self._vertex(vertex)
        for log in event.get("logs") or ():
            yield from self._log(log)
        for warning in event.get("warnings") or ():
            yield f"WARNING: {_decode(warning.get('short'))}"
            yield from (f"  {_decode(detail)}" for detail in warning.get("detail") or ())

    def instructions(self) -> list[Step]:
        """Steps that stand in a Dockerfile."""
        return [step for step in self.steps.values() if not step.is_internal]

    @property
    def running(self) -> Step | None:
        """The instruction that started last and has not ended, else any such step."""
        # A display asks from another thread than the one that feeds.
        open_steps = [step for step in list(self.steps.values()) if step.started and not step.completed]
        return next(
            (step for step in reversed(open_steps) if not step.is_internal), open_steps[-1] if open_steps else None
        )

    @property
    def failed(self) -> Step | None:
        """The step whose error ended the build."""
        errors = (step for step in self.steps.values() if step.error and "context canceled" not in step.error)
        return next(errors, None)

    @property
    def cache_hits(self) -> tuple[int, int]:
        """Instructions that were cached, and all instructions."""
        done = [step for step in self.instructions() if step.completed]
        return sum(step.is_cached for step in done), len(done)

    @property
    def final_error(self) -> str:
        """The client's last ``ERROR:`` with what follows; before that, the whole of what it said last."""
        for number in range(len(self.error_lines) - 1, -1, -1):
            if self.error_lines[number].startswith("ERROR: "):
                return "\n".join(self.error_lines[number:]).removeprefix("ERROR: ")
        return self.failed.error if self.failed else "\n".join(self.error_lines[-TAIL_LINES:])

    @property
    def failed_line(self) -> int | None:
        """Line of the Dockerfile the client points at."""
        for line, following in zip(self.error_lines, self.error_lines[1:], strict=False):
            match = re.fullmatch(r"\S+:(\d+)", line)
            if match and following.startswith("-----"):
                return int(match[1])
        match = re.search(r"parse error on line (\d+)", self.final_error)
        return int(match[1]) if match else None

    def _vertex(self, vertex: dict[str, Any]) -> Iterator[str]:
        step = self.steps.get(vertex["digest"])
        if step is None:
            step = self.steps[vertex["digest"]] = Step(len(self.steps) + 1, vertex.get("name", ""))
            yield f"#{step.number} {step.name}"
        was_completed = step.completed
        # A step may run in several parts; each announces itself with a new start and no end.
        if not step.started and vertex.get("started") and not step.is_internal:
            self.begun.append(step)
        step.started = step.started or vertex.get("started", "")
        step.completed = vertex.get("completed", "") if vertex.get("started") else step.completed
        step.is_cached = step.is_cached or bool(vertex.get("cached"))
        step.error = vertex.get("error", "") or step.error
        if step.completed and not was_completed:
            yield from self._flush(step)
            yield f"#{step.number} {_outcome(step)}"

    def _log(self, log: dict[str, Any]) -> Iterator[str]:
        step = self.steps.get(log.get("vertex", ""))
        if step is None:
            return
        text = step.partial + _decode(log.get("data"))
        *lines, step.partial = text.split("\n")
        for line in lines:
            yield self._output(step, line)

    def _flush(self, step: Step) -> Iterator[str]:
        if step.partial:
            yield self._output(step, step.partial)
            step.partial = ""

    def _output(self, step: Step, line: str) -> str:
        # Progress bars overwrite themselves; what stands there in the end is what counts.
        shown = line.rstrip("\r").rpartition("\r")[2]
        self.is_clipped = self.is_clipped or CLIPPED in shown
        step.tail.append(colourless(shown))
        return f"#{step.number} {shown}"


def _outcome(step: Step) -> str:
    if step.error:
        return f"ERROR {step.error}"
    return "CACHED" if step.is_cached else f"DONE {step.seconds:.1f}s"


def _decode(data: object) -> str:
    return b64decode(str(data or "")).decode(errors="replace")


def _time(text: str) -> datetime:
    # Nanoseconds are more than fromisoformat takes.
    return datetime.fromisoformat(re.sub(r"(\.\d{6})\d*", r"\1", text).replace("Z", "+00:00"))
