"""Answers about commits, kept beside them: what lies between two commits never changes."""

import hashlib
import shutil
from contextlib import suppress
from pathlib import Path

from imagepins.gitrepo.store import Repository
from imagepins.writing import replace_text

LIMIT = 5000
"""Answers kept; beyond, all are thrown away, since most are about commits of long ago."""
_END = "."
"""Behind the last word: a file that was cut off, as when a machine loses its power, is no answer."""


def recall(repository: Repository, *question: str) -> list[str] | None:
    """The words of an answer given before, or None."""
    try:
        *words, end = _place(repository, question).read_text(errors="replace").split()
    except (OSError, ValueError):
        return None
    return words if end == _END else None


def remember(repository: Repository, answer: list[str], *question: str) -> None:
    """Keep an answer. That it cannot be kept is no error: it is found again the next time."""
    place = _place(repository, question)
    with suppress(OSError):
        place.parent.mkdir(exist_ok=True)
        if len(list(place.parent.iterdir())) > LIMIT:
            shutil.rmtree(place.parent)
            place.parent.mkdir()
        replace_text(place, " ".join([*answer, _END]))


def _place(repository: Repository, question: tuple[str, ...]) -> Path:
    return repository.path / "answers" / hashlib.sha256("\0".join(question).encode()).hexdigest()[:32]
