"""What a bisection has found out → a file below build/, written after every trial, so that nothing is tried twice."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from imagepins.evidence.bisection.search import Verdict
from imagepins.writing import write_text


@dataclass(frozen=True)
class Trial:
    """What one commit gave, and why."""

    verdict: Verdict
    why: str = ""


@dataclass(frozen=True)
class Trials:
    """All trials of one bisection, by commit, and the file they are kept in."""

    path: Path
    found: Mapping[str, Trial] = field(default_factory=dict)

    @property
    def verdicts(self) -> dict[str, Verdict]:
        return {commit: trial.verdict for commit, trial in self.found.items()}

    def add(self, commit: str, trial: Trial) -> "Trials":
        """With one more trial, which is on disk when this returns. Raises UsageError where it cannot be written."""
        found = {**self.found, commit: trial}
        document = {sha: {"verdict": str(each.verdict), "why": each.why} for sha, each in found.items()}
        write_text(self.path, json.dumps({"schema": 1, "trials": document}, indent=1) + "\n")
        return Trials(self.path, found)


def read_trials(folder: Path, question: Sequence[str]) -> Trials:
    """Trials of the same ``question`` (everything a verdict depends on) that an earlier run has made."""
    name = hashlib.sha256(json.dumps(list(question)).encode()).hexdigest()[:16]
    path = folder / f"{name}.json"
    try:
        trials = json.loads(path.read_text(encoding="utf-8"))["trials"]
        found = {str(sha): Trial(Verdict(each["verdict"]), str(each["why"])) for sha, each in trials.items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        # A file that is missing or cut off in the middle costs trials, never a wrong verdict.
        found = {}
    return Trials(path, found)
