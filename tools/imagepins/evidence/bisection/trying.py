"""A good and a bad commit of a pin, and a command → the first commit whose image makes the command fail."""

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass

from imagepins.errors import CheckFailed, UsageError
from imagepins.evidence.bench.container import CANNOT_RUN, Setup, run_once
from imagepins.evidence.bisection.build import Project, Unbuildable, build_at
from imagepins.evidence.bisection.history import History
from imagepins.evidence.bisection.search import Found, Verdict, next_commit, trials_left
from imagepins.evidence.bisection.trials import Trial, Trials
from imagepins.process import Completed, ProcessFailed, run

CANNOT_TELL = 125
"""Exit code by which a command says that this commit cannot be judged, as for ``git bisect run``."""


@dataclass(frozen=True)
class Command:
    """What tells good from bad: run in the image, or on the host with the image's ref for ``{ref}``."""

    argv: tuple[str, ...]
    on_host: bool = False
    seconds: float = 3600.0
    network: str = "none"


def bisect(
    project: Project, history: History, command: Command, trials: Trials, *, tell: Callable[[str], None]
) -> tuple[Found, Trials]:
    """Try commits until the first bad one is known; every trial is kept in ``trials`` at once.

    Raises CheckFailed where the good commit fails the command or the bad one passes it, UsageError where the command
    cannot be run, BuildFailed and EngineError where a build fails for reasons of the machine.
    """
    try:
        trials = _with_ends(project, history, command, trials, tell)
        while isinstance(commit := next_commit(history.span, trials.verdicts), str):
            tell(f"at most {trials_left(history.span, trials.verdicts)} more to try")
            trials = _tried(project, commit, command, trials, tell)
    except KeyboardInterrupt:
        tell("interrupted; the same command goes on from here")
        raise
    return commit, trials


def _with_ends(
    project: Project, history: History, command: Command, trials: Trials, tell: Callable[[str], None]
) -> Trials:
    for end, wanted in ((history.good, Verdict.GOOD), (history.span.commits[-1], Verdict.BAD)):
        trials = _tried(project, end, command, trials, tell)
        if (trial := trials.found[end]).verdict is not wanted:
            why = f" ({trial.why})" if trial.why else ""
            raise CheckFailed(f"{end[:12]} should be {wanted}, but is {trial.verdict}{why}; there is nothing to find")
    return trials


def _tried(project: Project, commit: str, command: Command, trials: Trials, tell: Callable[[str], None]) -> Trials:
    if commit in trials.found:
        trial = trials.found[commit]
        tell(f"{commit[:12]}: {trial.verdict} (tried before)")
        return trials
    tell(f"{commit[:12]}: trying")
    ref = build_at(project, commit)
    trial = Trial(Verdict.SKIP, ref.why) if isinstance(ref, Unbuildable) else judge(ref, command)
    tell(f"{commit[:12]}: {trial.verdict}" + (f" ({trial.why})" if trial.why else ""))
    return trials.add(commit, trial)


def judge(ref: str, command: Command) -> Trial:
    """Run the command for an image. Exit code 0 is good, 125 skips, any other is bad, and so is no end in time.

    Raises UsageError where the command cannot be run, EngineError where its container cannot: neither is a verdict.
    """
    done = _on_host(ref, command) if command.on_host else _in_image(ref, command)
    if done is None:
        return Trial(Verdict.BAD, f"no end within {command.seconds:g} s")
    why = f"exit code {done.code}" if done.code >= 0 else signal.Signals(-done.code).name
    last = (done.stderr.strip() or done.stdout.strip()).splitlines()
    if done.code in CANNOT_RUN:
        raise UsageError(f"the command cannot be run for {ref} ({why}): {last[-1] if last else 'no output'}")
    if done.code == 0:
        return Trial(Verdict.GOOD)
    verdict = Verdict.SKIP if done.code == CANNOT_TELL else Verdict.BAD
    return Trial(verdict, ": ".join([why, *last[-1:]]))


def _in_image(ref: str, command: Command) -> Completed | None:
    setup = Setup(ref, command.argv, network=command.network, options=("--log-driver", "none"))
    return run_once(setup, purpose="bisect", timeout=command.seconds)


def _on_host(ref: str, command: Command) -> Completed | None:
    argv = [word.replace("{ref}", ref) for word in command.argv]
    try:
        return run(argv, env={**os.environ, "IMAGEPINS_REF": ref}, timeout=command.seconds, check=False)
    except ProcessFailed as error:
        if error.is_timeout:
            return None
        raise UsageError(str(error)) from error
