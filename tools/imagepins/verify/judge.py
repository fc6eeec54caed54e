"""Expected value + claims → checks.

The best rank that knows an answer decides; worse evidence that disagrees is a finding of its own.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from imagepins import versions
from imagepins.pins.model import GitPin, Pin, PinSet
from imagepins.pins.text import Text
from imagepins.verify.findings import Aspect, Check, Claim, Rank, Status

SHORTEST_COMMIT = 7
DIRTY = "built from a tree with changed files"


def commits_match(expected: str, found: str) -> bool:
    """Whether two commits are the same as far as the shorter one goes; at least 7 digits decide."""
    length = min(len(expected), len(found))
    return length >= SHORTEST_COMMIT and expected[:length].lower() == found[:length].lower()


def versions_match(expected: str, found: str) -> bool:
    """Whether ``found`` is the expected version; parts that ``expected`` leaves out may be anything.

    A local part that begins with the expected one matches too: builds append to it (+git669b31ac.rocm10.0.0).
    """
    if versions.matches(expected, found):
        return True
    public, _, local = expected.partition("+")
    found_public, _, found_local = found.partition("+")
    return bool(local) and found_local.startswith(local) and versions.matches(public, found_public)


@dataclass(frozen=True)
class Question:
    """What is asked of the claims: does this aspect of the pin have the expected value?"""

    pin: Pin
    aspect: Aspect
    expected: Text
    place: str
    match: Callable[[str, str], bool]

    def check(self, status: Status, claim: Claim | None, *, found: str, cause: str = "", name: str = "") -> Check:
        """An answer, with the evidence of ``claim``."""
        return Check(
            name=f"{self.pin.name} {self.aspect}{name}",
            subject=self.pin.name,
            status=status,
            expected=self.expected,
            found=found,
            rank=claim.rank if claim else None,
            file=claim.file if claim else "",
            how=claim.how if claim else "",
            place=self.place,
            cause=cause,
        )


def judge(pin: Pin, pins: PinSet, claims: list[Claim]) -> Iterator[Check]:
    """Checks of the pin's commit and of its component's version."""
    if isinstance(pin, GitPin) and pin.commit:
        place = pins.place(pin.commit)
        yield from _judge(Question(pin, Aspect.COMMIT, pin.commit, place, commits_match), claims)
    version = pin.component_version
    if version:
        yield from _judge(Question(pin, Aspect.VERSION, version, pins.place(version), versions_match), claims)


def _judge(question: Question, claims: list[Claim]) -> Iterator[Check]:
    mine = [claim for claim in claims if claim.aspect is question.aspect]
    deciding = _deciding(mine)
    yield _decide(question, deciding) if deciding else _undecided(question, mine)
    for claim in mine:
        if claim.value and claim not in deciding and not _agrees(question, claim):
            says = "a statement" if claim.rank is Rank.STATED else f"the {claim.how.split(',')[0]}"
            cause = f"{says} disagrees with better evidence; do not go by it"
            yield question.check(Status.FINDING, claim, found=claim.value, cause=cause, name=f" ({claim.how})")
        elif claim.is_dirty and claim not in deciding and not _is_patched(question.pin):
            # A record of the very bytes is no hearsay: what it says of its tree holds for what is mapped.
            status = Status.FAILED if claim.is_proof else Status.FINDING
            found = f"{claim.value} with changed files"
            yield question.check(status, claim, found=found, cause=DIRTY, name=f" ({claim.how})")


def _deciding(claims: list[Claim]) -> list[Claim]:
    """The known claims of the best rank, unless evidence of a better rank denies them; statements decide nothing."""
    denied = min((claim.rank for claim in claims if claim.denies), default=Rank.STATED)
    able = [claim for claim in claims if claim.value and (claim.rank < denied or claim.is_proof)]
    rank = min((claim.rank for claim in able), default=Rank.STATED)
    return [claim for claim in able if claim.rank is rank]


def _decide(question: Question, deciding: list[Claim]) -> Check:
    pin = question.pin
    wrong = [claim for claim in deciding if not question.match(question.expected, claim.value)]
    dirty = [claim for claim in deciding if claim.is_dirty and not _is_patched(pin)]
    shown = (wrong or dirty or deciding)[0]
    found = shown.value + (" with changed files" if shown.is_dirty else "")
    if not wrong and not dirty:
        return question.check(Status.PASSED, shown, found=found)
    cause = _wrong_cause(deciding, wrong) if wrong else DIRTY
    return question.check(Status.FAILED, shown, found=found, cause=cause)


def _is_patched(pin: Pin) -> bool:
    """Whether the pin itself asks for changed files."""
    return isinstance(pin, GitPin) and bool(pin.picks or pin.reverts)


def _wrong_cause(deciding: list[Claim], wrong: list[Claim]) -> str:
    if len(wrong) < len(deciding):
        return "evidence of one rank disagrees: several copies, or a file made up of two builds"
    if wrong[0].rank is Rank.MAPPED:
        return "the process loads another build than the pinned one: not rebuilt since the pin moved, or not swapped in"
    return "another build than the pinned one is installed: not rebuilt since the pin moved, or replaced later"


def _undecided(question: Question, claims: list[Claim]) -> Check:
    blank = next((claim for claim in claims if not claim.value), None)
    told = next((claim for claim in claims if claim.value and claim.rank is Rank.STATED), None)
    # Evidence that ought to know and does not is a failure where a commit was promised: a stock build looks so.
    if blank is not None and blank.rank <= Rank.FILE:
        return question.check(Status.FAILED, blank, found="unknown", cause=blank.note)
    if told is not None:
        cause = "only a statement tells, which repeats a request and proves nothing"
        return question.check(Status.UNPROVEN, told, found=told.value, cause=cause)
    cause = blank.note if blank else "nothing in the image tells"
    return question.check(Status.UNPROVEN, blank, found="unknown", cause=cause)


def _agrees(question: Question, claim: Claim) -> bool:
    """Whether worse evidence agrees; a statement may give the pin's own version instead of the component's."""
    pin, match = question.pin, question.match
    if claim.aspect is Aspect.COMMIT:
        return match(question.expected, claim.value)
    wanted = [question.expected]
    if claim.rank is Rank.STATED:
        wanted += [value for value in (pin.id, getattr(pin, "version", None)) if value]
    # A source that gives fewer numbers (5.7 for 5.7.31921) agrees as far as it goes.
    return any(match(value, claim.value) or match(claim.value, value) for value in wanted)
