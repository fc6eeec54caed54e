"""What a bisection found → text for people, JSON for machines."""

from typing import Any

from imagepins.columns import counted
from imagepins.evidence.bisection.history import Described, History, describe_commit
from imagepins.evidence.bisection.search import Found, Verdict, trials_left
from imagepins.evidence.bisection.trials import Trials


def bisect_text(history: History, found: Found, trials: Trials) -> str:
    """The first bad commit with its message and pull request, or the suspects; then what was skipped and why."""
    described = [describe_commit(history, commit) for commit in reversed(found.suspects)]
    if len(described) == 1:
        lines = ["first bad commit:", *_lines(described[0])]
    else:
        lines = [f"the first bad commit is one of these {len(described)}; those before the last could not be tried:"]
        lines += [f"  {each.commit.sha} {each.commit.date[:10]} {each.commit.subject}" for each in described]
    skipped = [(commit, trial) for commit, trial in trials.found.items() if trial.verdict is Verdict.SKIP]
    lines += [f"skipped {commit[:12]}: {trial.why}" for commit, trial in skipped]
    counts = f"{counted(len(trials.found), 'commit')} tried, {len(skipped)} of them skipped"
    lines.append(f"{counts}; {len(history.span.commits)} touch the path, of {history.all_count}")
    return "".join(f"{line}\n" for line in lines)


def bisect_json(history: History, found: Found, trials: Trials) -> dict[str, Any]:
    """The same as a JSON value; ``suspects`` holds one commit unless some could not be tried."""
    described = [describe_commit(history, commit) for commit in found.suspects]
    return {
        "schema": 1,
        "suspects": [
            {"commit": each.commit.sha, "date": each.commit.date, "author": each.commit.author}
            | {"message": each.message, "pull": each.pull or None}
            for each in described
        ],
        "trials": {sha: {"verdict": str(trial.verdict), "why": trial.why} for sha, trial in trials.found.items()},
        "commits": len(history.span.commits),
    }


def forecast_text(history: History, trials: Trials) -> str:
    """What a bisection is going to take, in one line."""
    found = forecast_json(history, trials)
    return (
        f"{counted(found['commits'], 'commit')} under the path, of {found['all_commits']}; "
        f"at most {counted(found['builds'], 'build')}, {found['ends']} of them the ends\n"
    )


def forecast_json(history: History, trials: Trials) -> dict[str, int]:
    """The same as a JSON value: commits to choose from, and ``builds`` at most, ``ends`` of them of good and bad."""
    left = trials_left(history.span, trials.verdicts)
    ends = sum(commit not in trials.found for commit in (history.good, history.span.commits[-1]))
    count = len(history.span.commits)
    return {"schema": 1, "commits": count, "all_commits": history.all_count, "builds": left + ends, "ends": ends}


def _lines(found: Described) -> list[str]:
    commit = found.commit
    lines = [f"  {commit.sha}", f"  {commit.date}  {commit.author}"]
    lines += [f"  pull request: {found.pull}"] if found.pull else []
    return [*lines, "", *(f"    {line}".rstrip() for line in found.message.splitlines()), ""]
