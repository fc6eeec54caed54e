"""Outcome of a bump → one screen for people, JSON for programs."""

from collections.abc import Iterable
from dataclasses import asdict
from difflib import unified_diff
from pathlib import Path
from textwrap import indent
from typing import Any

from imagepins.bump.commit import BumpCommit
from imagepins.bump.impact import Impact, impact
from imagepins.bump.move import Move, Side, identity
from imagepins.bump.run import Outcome
from imagepins.gitrepo.resolve import short_name

Lines = Iterable[tuple[str, str]]


def as_json(outcome: Outcome, root: Path, *, dry_run: bool, commit: BumpCommit | None) -> dict[str, Any]:
    """Everything the text report says, and more, as plain values."""
    proposal = outcome.proposal
    found = impact(proposal.before, proposal.after, proposal.moves, proposal.also_moved)
    moves = [
        {**asdict(move), "relation": move.relation and {**asdict(move.relation), "words": move.relation.words}}
        for move in proposal.moves
    ]
    for move, record in zip(proposal.moves, moves, strict=True):
        record["state"] = "skipped" if move.skipped else "already there" if move.is_noop else "moved"
        record["pull"] = move.pull and {**asdict(move.pull), "words": move.pull.words}
    return {
        "dry_run": dry_run,
        "moves": moves,
        "also_moved": list(proposal.also_moved),
        "files": [shown(path, root) for path in proposal.contents],
        "stale_before": [shown(path, root) for path in proposal.stale],
        "images": list(found.targets),
        "flips": [asdict(flip) for flip in found.flips],
        "group_mates": [{"pin": pin, "group": group} for pin, group in found.group_mates],
        "failed": [{"pin": name, "error": str(error), "exit_code": error.exit_code} for name, error in outcome.failed],
        "commit": commit and commit.sha,
        "commit_message": commit and commit.message,
    }


def as_text(outcome: Outcome, root: Path, *, dry_run: bool) -> str:
    """One screen: what moves, by how much, what that touches, and what was not checked."""
    proposal = outcome.proposal
    found = impact(proposal.before, proposal.after, proposal.moves, proposal.also_moved)
    blocks = [_table(_headline(move, dry_run=dry_run), _move_lines(move)) for move in proposal.moves]
    if proposal.contents:
        blocks.append(_table("", _impact_lines(outcome, found, root)))
    blocks += [f"not moved: {error}" for _, error in outcome.failed]
    return "\n".join(block for block in blocks if block) or "there is no pin to move"


def diff(outcome: Outcome, root: Path) -> str:
    """Unified diff of every file the bump would write."""
    parts = []
    for path, content in outcome.proposal.contents.items():
        before = path.read_bytes().decode() if path.exists() else ""
        name = shown(path, root)
        old, new = before.splitlines(keepends=True), content.decode().splitlines(keepends=True)
        lines = unified_diff(old, new, f"a/{name}" if path.exists() else "/dev/null", f"b/{name}")
        parts += [line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines]
    return "".join(parts)


def committed(commit: BumpCommit) -> str:
    """The commit that was made, or the one that a dry run would make, with its message."""
    if commit.sha:
        return f"committed as {commit.sha[:12]}\n"
    branch = f" on the new branch {commit.branch}" if commit.branch else ""
    return f"would be committed{branch} with this message:\n\n" + indent(commit.message, "    ")


def shown(path: Path, root: Path) -> str:
    """A path as the report names it, relative to the directory of pins.yaml."""
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def _headline(move: Move, *, dry_run: bool) -> str:
    if move.skipped:
        return f"{move.pin} {move.skipped}"
    if move.is_noop or not move.changes:
        return f"{move.pin} is already at {identity(move.new)}"
    return f"{move.pin} {'would move' if dry_run else 'moved'} to {identity(move.new)}"


def _move_lines(move: Move) -> Lines:
    if move.skipped:
        return
    if not move.is_noop:
        yield from _sides(move)
        yield from _way_lines(move)
    if move.pull:
        yield "pull", move.pull.words
    if move.track_branch:
        yield "tracks", f"branch {move.track_branch} from now on"
    for submodule in move.submodules:
        before, after = (submodule.old or "none")[:12], (submodule.new or "none")[:12]
        yield "submodule", f"{submodule.path} {before} -> {after}"
    yield from (("note", note) for note in move.notes)
    yield from (("NOT checked", each) for each in move.unchecked)


def _sides(move: Move) -> Lines:
    yield "old", _described(move.old)
    yield "new", _described(move.new)
    if move.old.version != move.new.version and move.kind == "git":
        yield "version", f"{move.old.version or 'unknown'} -> {move.new.version or 'unknown'}"


def _way_lines(move: Move) -> Lines:
    """What lies between the two commits."""
    if move.relation:
        under = "" if move.under_path is None else f", {move.under_path} of them under the pin's path"
        yield "commits", move.relation.words + under
    if move.reached_from:
        yield "part of", short_name(move.reached_from)
    for commit in move.log:
        yield "log", f"{commit.sha[:12]} {commit.date[:10]} {commit.subject}"
    hidden = (move.under_path if move.under_path is not None else _way(move)) - len(move.log)
    if move.log and hidden > 0:
        yield "", f"... and {hidden} more"
    if move.compare_url:
        yield "compare", move.compare_url


def _impact_lines(outcome: Outcome, found: Impact, root: Path) -> Lines:
    proposal = outcome.proposal
    if proposal.also_moved:
        yield "moves along", ", ".join(proposal.also_moved) + " (same anchor)"
    yield "images", ", ".join(found.targets) or "none"
    for flip in found.flips:
        yield "now", f"{flip.what}: {flip.now} in {', '.join(flip.targets)}"
    for mate, group in found.group_mates:
        yield "group", f"{mate} of group {group} stays where it is"
    yield "files", ", ".join(shown(path, root) for path in proposal.contents)
    if proposal.stale:
        yield "not ours", ", ".join(shown(path, root) for path in proposal.stale) + " changes more than the bump does"
        yield "", "it was not what pins.yaml and the templates gave before"


def _way(move: Move) -> int:
    return 0 if not move.relation else move.relation.ahead or move.relation.behind


def _described(side: Side) -> str:
    if side.id is None:
        return "nothing yet"
    parts = [side.id, side.tag, (side.date or "")[:10], side.author, side.subject]
    return "  ".join(part for part in parts if part)


def _table(headline: str, lines: Lines) -> str:
    rows = list(lines)
    width = max((len(label) for label, _ in rows), default=0)
    shown_label = ""
    out = [headline] if headline else []
    for label, text in rows:
        out.append(f"  {'' if label == shown_label else label:<{width}}  {text}")
        shown_label = label
    return "\n".join(out)
