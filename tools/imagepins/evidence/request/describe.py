"""A bump, with what was verified and measured → the body of its pull request.

Everything that comes from outside (subjects, authors, tags, file names, found values) passes through ``markup``.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from imagepins.bump.impact import Impact, impact
from imagepins.bump.move import Move, Side
from imagepins.bump.run import Outcome
from imagepins.columns import counted
from imagepins.errors import UsageError
from imagepins.evidence.request.sections import Part, fit
from imagepins.markup import code, fenced, folded, inert, markdown_table
from imagepins.pins.model import GitPin, PinSet

BODY_LIMIT = 60_000
"""Bytes of a body. GitHub takes 65,536 characters; the difference leaves room for what people add by hand."""

_SUBJECT_LENGTH = 160


@dataclass(frozen=True)
class Attached:
    """Evidence beside the bump: a comparison as Markdown, and documents that ``image verify --json`` printed."""

    comparison: str = ""
    verified: tuple[dict[str, Any], ...] = ()


def describe(outcome: Outcome, attached: Attached) -> str:
    """The body as Markdown that GitHub renders, at most BODY_LIMIT bytes; logs give way first."""
    proposal = outcome.proposal
    moves = [move for move in proposal.moves if not move.is_noop]
    found = impact(proposal.before, proposal.after, proposal.moves, proposal.also_moved)
    parts = [
        Part(_moves_table(moves), rank=0),
        *(Part(text, rank=1) for text in _reasons(proposal.after, moves)),
        *(Part(_log(move), rank=5) for move in moves if move.log),
        Part(_list("Submodules that move", _submodules(moves)), rank=4),
        Part(_images(found), rank=0),
        Part(_verification(attached.verified, found), rank=2),
        Part(_comparison(attached.comparison), rank=2),
        Part(_list("Provisional, or an exception", _provisional(proposal.after, moves)), rank=1),
        Part(_list("Found on the way", _notes(moves)), rank=3),
        Part(_list("Not checked", _unchecked(moves)), rank=1),
        Part(_list("Not moved", (f"{name}: {error}" for name, error in outcome.failed)), rank=1),
    ]
    return fit([part for part in parts if part.text], BODY_LIMIT)


def read_verified(path: Path) -> dict[str, Any]:
    """What ``image verify --json`` printed into a file. Raises UsageError where it is something else."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        images = document["images"]
        checks = [check for image in images for check in image["checks"]]
        if not all(isinstance(check, dict) for check in checks):
            raise TypeError("checks of another kind")
        if not all(isinstance(image["target"], str) for image in images):
            raise TypeError("images without a target")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(f"{path}: not what 'image verify --json' prints ({error})") from None
    return dict(document)


def _moves_table(moves: Sequence[Move]) -> str:
    rows = [[inert(move.pin), _side(move.old), _side(move.new), _way(move), _link(move)] for move in moves]
    return markdown_table(["pin", "from", "to", "commits", "compare"], rows, left=5)


def _side(side: Side) -> str:
    if side.id is None:
        return "nothing yet"
    short = side.id[:12] if len(side.id) == 40 else side.id[:19] if side.id.startswith("sha256:") else side.id
    words = [word for word in (side.version, side.tag, (side.date or "")[:10]) if word]
    return code(short) + (f" {inert(', '.join(words))}" if words else "")


def _way(move: Move) -> str:
    if not move.relation:
        return "-"
    under = "" if move.under_path is None else f", {move.under_path} under its path"
    return inert(move.relation.words + under)


def _link(move: Move) -> str:
    # The address is the tool's own, made of the pin's URL and two commits; anything else is shown as words.
    url = move.compare_url or ""
    is_plain = url.startswith("https://") and not set(url) & set(" <>()[]\\`|\"'")
    return f"[changes]({url})" if is_plain else inert(url) or "-"


def _reasons(pinset: PinSet, moves: Sequence[Move]) -> Iterable[str]:
    for move in moves:
        if note := pinset.pin(move.pin).note:
            yield f"**{inert(move.pin)}**: {inert(note)}"


def _log(move: Move) -> str:
    lines = [f"{commit.sha[:12]} {commit.date[:10]} {commit.subject[:_SUBJECT_LENGTH]}" for commit in move.log]
    total = move.under_path if move.under_path is not None else _total(move)
    if total > len(move.log):
        lines.append(f"... and {total - len(move.log)} more")
    return folded(f"{move.pin}: {counted(max(total, len(move.log)), 'commit')}", fenced(lines))


def _total(move: Move) -> int:
    return (move.relation.ahead or move.relation.behind) if move.relation else 0


def _submodules(moves: Sequence[Move]) -> Iterable[str]:
    for move in moves:
        for each in move.submodules:
            yield f"{move.pin}: {each.path} {(each.old or 'none')[:12]} → {(each.new or 'none')[:12]}"


def _images(found: Impact) -> str:
    lines = [f"Images touched: {', '.join(code(target) for target in found.targets) or 'none'}"]
    lines += [f"{inert(flip.what)}: {inert(flip.now)} in {inert(', '.join(flip.targets))}" for flip in found.flips]
    lines += [f"{inert(mate)} of group {inert(group)} stays where it is" for mate, group in found.group_mates]
    return "\n".join(f"- {line}" for line in lines)


def _verification(documents: Sequence[dict[str, Any]], found: Impact) -> str:
    images = [image for document in documents for image in document["images"]]
    missing = [target for target in found.targets if target not in {image["target"] for image in images}]
    rows = [
        [
            inert(str(image["target"])),
            *(inert(str(check.get(key, ""))) for key in ("name", "expected", "found", "status")),
        ]
        for image in images
        for check in image["checks"]
        if check.get("status") != "skipped"
    ]
    parts = ["### Verification"]
    if rows:
        failed = sum(row[-1] == "failed" for row in rows)
        table = markdown_table(["image", "check", "expected", "found", "result"], rows, left=5)
        parts.append(folded(f"{len(rows)} checks, {failed} failed", table) if not failed else table)
    parts += [f"- {inert(image['target'])}: {inert(str(image['message']))}" for image in images if image.get("message")]
    if missing:
        parts.append(f"Not verified: {', '.join(code(target) for target in missing)}.")
    return "\n\n".join(parts)


def _comparison(text: str) -> str:
    return f"### Comparison\n\n{text.strip()}" if text else ""


def _provisional(pinset: PinSet, moves: Sequence[Move]) -> Iterable[str]:
    for move in moves:
        pin = pinset.pin(move.pin)
        review = f", to be reviewed by {pin.review_by}" if pin.review_by else ""
        if isinstance(pin, GitPin):
            if move.track_branch:
                state = f" ({move.pull.words})" if move.pull else ""
                yield f"{move.pin} follows {move.track_branch} from now on{state}{review}"
            elif pin.track and pin.track.pull:
                then = f"; then it follows {pin.track.then}" if pin.track.then else ""
                state = f" ({move.pull.words})" if move.pull else ""
                yield f"{move.pin} comes from pull request {pin.track.pull} until that is merged{then}{state}{review}"
            elif review:
                yield f"{move.pin}{review}"
            if pin.allow_unreachable:
                yield f"{move.pin} is on no branch or tag it tracks: {pin.allow_unreachable}"
            for word, patches in (("plus", pin.picks), ("minus", pin.reverts)):
                yield from (f"{move.pin} {word} {patch.commit[:12]}: {patch.reason}" for patch in patches)
        elif review:
            yield f"{move.pin}{review}"


def _notes(moves: Sequence[Move]) -> Iterable[str]:
    return (f"{move.pin}: {note}" for move in moves for note in move.notes)


def _unchecked(moves: Sequence[Move]) -> Iterable[str]:
    return (f"{move.pin}: {each}" for move in moves for each in move.unchecked)


def _list(title: str, lines: Iterable[str]) -> str:
    items = [f"- {inert(line)}" for line in lines]
    return "\n".join([f"### {title}", "", *items]) if items else ""
