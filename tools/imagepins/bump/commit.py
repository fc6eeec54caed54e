"""Moves → the message of the commit that makes them: subject and body."""

from collections.abc import Sequence
from dataclasses import dataclass

from imagepins.bump.move import Move
from imagepins.gitrepo.resolve import short_name
from imagepins.markup import defuse


@dataclass(frozen=True)
class BumpCommit:
    """The commit of a bump, on ``branch`` where a new one was asked for; without ``sha`` it would be made."""

    message: str
    branch: str | None = None
    sha: str | None = None


def message(moves: Sequence[Move]) -> str:
    """Subject and body, as git takes them."""
    return f"{subject(moves)}\n\n{body(moves)}"


def subject(moves: Sequence[Move]) -> str:
    """``Update rccl to 1c0ab425abda (v2.32.3)``; without a tag the commit's date."""
    moved = [move for move in moves if not move.is_noop]
    if len(moved) == 1:
        return f"Update {moved[0].pin} to {_identity(moved[0])}"
    named = f"Update {', '.join(move.pin for move in moved)}"
    return named if len(named) <= 72 else f"Update {len(moved)} pins"


def body(moves: Sequence[Move]) -> str:
    """What moved from where to where, and the log, whose subjects must neither mention nor close anything of ours."""
    return "\n\n".join("\n".join(_lines(move)) for move in moves if not move.is_noop) + "\n"


def _lines(move: Move) -> list[str]:
    lines = [f"{move.pin}: {move.old.id or 'nothing'} -> {move.new.id}"]
    if move.old.version != move.new.version and move.kind == "git":
        lines.append(f"version {move.old.version or 'unknown'} -> {move.new.version or 'unknown'}")
    if move.relation:
        under = "" if move.under_path is None else f", {move.under_path} under the pin's path"
        lines.append(move.relation.words + under)
    if move.reached_from:
        lines.append(f"part of {short_name(move.reached_from)}")
    lines += [move.pull.words] if move.pull else []
    lines += [f"tracks branch {move.track_branch} from now on"] if move.track_branch else []
    lines += ["", *(f"* {commit.sha[:12]} {defuse(commit.subject)}" for commit in move.log)] if move.log else []
    lines += ["", move.compare_url] if move.compare_url else []
    return lines


def _identity(move: Move) -> str:
    identity = move.new.id or ""
    if move.kind == "git":
        return f"{identity[:12]} ({move.new.tag or (move.new.date or '')[:10] or 'date unknown'})"
    if move.kind == "image":
        return f"{move.new.tag} ({identity.removeprefix('sha256:')[:12]})"
    return identity[:12] if move.kind == "url" else identity
