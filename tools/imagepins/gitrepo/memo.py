"""Answers about commits, kept beside them: what lies between two commits never changes."""

import hashlib
import shutil
from contextlib import suppress
from pathlib import Path

from imagepins.gitrepo.store import Repository, write_note

LIMIT = 5000
"""Answers kept; beyond, all are thrown away, since most are about commits of long ago."""


def recall(repository: Repository, *question: str) -> list[str] | None:
    """The words of an answer given before, or None."""
    try:
        return _place(repository, question).read_text().split()
    except OSError:
        return None


def remember(repository: Repository, answer: list[str], *question: str) -> None:
    """Keep an answer. That it cannot be kept is no error: it is found again the next time."""
    place = _place(repository, question)
    with suppress(OSError):
        place.parent.mkdir(exist_ok=True)
        if len(list(place.parent.iterdir())) > LIMIT:
            shutil.rmtree(place.parent)
            place.parent.mkdir()
        write_note(place, " ".join(answer))


def _place(repository: Repository, question: tuple[str, ...]) -> Path:
    return repository.path / "answers" / hashlib.sha256("\0".join(question).encode()).hexdigest()[:32]
