"""What was asked on the command line → proposal → files; one round for each attempt, so that no update is lost."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from imagepins.bump.aliases import alias_refusal
from imagepins.bump.compose import Proposal, compose
from imagepins.bump.frozen import with_old_tag
from imagepins.bump.gitpin import propose_git
from imagepins.bump.lookup import GitRequest, git_request, repositories, with_repository
from imagepins.bump.move import Move, Options, Side, Stays, Unreadable, known_id
from imagepins.bump.move import Request as Request
from imagepins.bump.others import propose_other
from imagepins.bump.source import read_pins
from imagepins.errors import ImagePinsError, PinsError, RefError
from imagepins.files import exclusive, replace_all, shared
from imagepins.gitrepo.cache import Repository
from imagepins.parallel import parallel
from imagepins.pins.model import GitPin, Pin, PinSet

ROUNDS = 5


@dataclass(frozen=True)
class Outcome:
    """The proposal, what was written, and what could not be moved (with ``is_lenient``)."""

    proposal: Proposal
    written: tuple[Path, ...] = ()
    failed: tuple[tuple[str, ImagePinsError], ...] = ()


def bump(
    pins_path: Path,
    request: Request,
    options: Options,
    *,
    dry_run: bool = False,
    before_write: Callable[[Proposal], None] = lambda _: None,
) -> Outcome:
    """Look everything up, then write all files or none.

    Looking up takes long and needs no lock. If another run moved one of the same pins meanwhile, it is done again
    from what stands there now. ``before_write`` may raise to refuse what is about to be written, or would be. Raises
    whatever stands in the way; nothing is written then.
    """
    for _ in range(ROUNDS):
        with shared(pins_path):
            pinset = read_pins(pins_path, tuple(request.refs))
        moves, failed = propose(pinset, request, options)
        if dry_run or all(move.is_noop for move in moves):
            proposal = compose(pinset, moves, pins_path)
            if proposal.contents:
                before_write(proposal)
            return Outcome(proposal, (), failed)
        with exclusive(pins_path):
            current = read_pins(pins_path, tuple(request.refs))
            if any(_differs(pinset.pin(move.pin), current.pin(move.pin)) for move in moves):
                continue
            proposal = compose(current, moves, pins_path)
            before_write(proposal)
            return Outcome(proposal, replace_all(pins_path, proposal.contents), failed)
    raise PinsError(f"{pins_path}: other runs keep changing the same pins; try again when they are done")


def propose(
    pinset: PinSet, request: Request, options: Options
) -> tuple[tuple[Move, ...], tuple[tuple[str, ImagePinsError], ...]]:
    """The move of every pin asked for. Without ``is_lenient`` the first that cannot move raises."""
    options = options.with_mirrors_of(pinset)
    pins = {name: pinset.pin(name) for name in request.refs}
    moves = [_held(pinset, pin, is_lenient=request.is_lenient) for pin in pins.values() if pin.hold]
    todo = [name for name, pin in pins.items() if not pin.hold]
    free = ((name, pins[name]) for name in todo)
    git = {name: _asked(pinset, pin, request.refs[name]) for name, pin in free if isinstance(pin, GitPin)}
    known = repositories([each for each in git.values() if not each.is_settled], options)
    failed: list[tuple[str, ImagePinsError]] = []

    def attempt(name: str) -> Move | ImagePinsError:
        try:
            move = _propose(pins[name], request.refs[name], git.get(name), known, options)
            return with_old_tag(move, pinset, pins[name], options)
        except ImagePinsError as error:
            is_told_in_place = request.is_lenient and isinstance(error, Stays)
            return error if is_told_in_place else located(error, pinset, pins[name])

    for name, found in zip(todo, parallel(attempt, todo, options.stop), strict=True):
        if isinstance(found, Move):
            moves.append(replace(found, breaks_alias=options.break_alias))
        elif not request.is_lenient or isinstance(pins[name].id, Unreadable):
            # The file would stay unreadable, so nothing can be rendered from it.
            raise found
        elif isinstance(found, Stays):
            moves.append(_skipped(pins[name], f"stays: {found}"))
        else:
            failed.append((name, found))
    in_order = sorted(moves, key=lambda move: [*request.refs].index(str(move.pin)))
    return _settle_aliases(pinset, in_order, is_lenient=request.is_lenient), tuple(failed)


def located(error: ImagePinsError, pinset: PinSet, pin: Pin) -> ImagePinsError:
    """The same error, saying which pin it is about and where that stands."""
    kind = type(error)
    told = kind.__new__(kind)
    told.__dict__.update(vars(error))
    told.__cause__ = error
    told.args = (f"{pinset.place(pin.name)}: pin '{pin.name}': {error}",)
    return told


def _asked(pinset: PinSet, pin: GitPin, ref: str | None) -> GitRequest:
    try:
        return git_request(pin, ref)
    except ImagePinsError as error:
        raise located(error, pinset, pin) from error


def _settle_aliases(pinset: PinSet, moves: list[Move], *, is_lenient: bool) -> tuple[Move, ...]:
    """With ``is_lenient`` a pin whose value is another's stays, instead of stopping all."""
    if not is_lenient:
        return tuple(moves)
    refusals = {move.pin: alias_refusal(pinset, move, moves) for move in moves}
    return tuple(
        _skipped(pinset.pin(move.pin), f"stays: {reason}") if (reason := refusals[move.pin]) else move for move in moves
    )


def _propose(
    pin: Pin,
    ref: str | None,
    request: GitRequest | None,
    known: Mapping[str, Repository | ImagePinsError],
    options: Options,
) -> Move:
    if request is None:
        return propose_other(pin, ref, options)
    if request.is_settled:
        side = Side(pin.id, version=pin.component_version)
        return Move(pin=pin.name, kind=pin.kind, old=side, new=side)
    repository = known[request.pin.git]
    if isinstance(repository, ImagePinsError):
        raise repository
    return with_repository(repository, request.asked, options, lambda found: propose_git(request, found, options))


def _differs(before: Pin, now: Pin) -> bool:
    # Stand-ins are all alike; what stands in the file is not.
    return before != now or getattr(before.id, "written", None) != getattr(now.id, "written", None)


def _held(pinset: PinSet, pin: Pin, *, is_lenient: bool) -> Move:
    held = f"is held: {pin.hold} ({pinset.place(pin.hold or pin.name)})"
    if not is_lenient or isinstance(pin.id, Unreadable):
        raise RefError(f"pin '{pin.name}' {held}")
    return _skipped(pin, held)


def _skipped(pin: Pin, reason: str) -> Move:
    side = Side(known_id(pin))
    return Move(pin=pin.name, kind=pin.kind, old=side, new=side, skipped=reason)
