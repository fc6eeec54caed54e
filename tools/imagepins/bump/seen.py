"""What a repository's cache saw when: the day it was last asked for, and whether a commit was there by some moment.

A line for each tip, with the second it was first seen, stands in a file of the cache; the file's own time is that of
the last look-up. The oldest of very many are forgotten: an age that reaches further back is then not known.
"""

import os
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from imagepins.gitrepo.cache import Repository, commits_of, read
from imagepins.writing import replace_text

LIMIT = 5000
"""Lines kept. A look-up adds one for each ref that has moved."""


def note_seen(repository: Repository, refs: Iterable[str]) -> None:
    """Note the tips of ``refs``, which were asked for just now."""
    path = _file(repository)
    tips = [tip for tip in commits_of(repository, refs).values() if tip]
    lines = _lines(path)
    if len(lines) > LIMIT:
        newest = sorted(lines, key=lambda line: line[1])[-(LIMIT // 2) :]
        # A tag may stand where it stood when the cache began.
        lines = [*(line for line in lines if line[0] in tips and line not in newest), *newest]
        replace_text(path, "".join(f"{tip} {second}\n" for tip, second in lines))
    known = {tip for tip, _ in lines}
    new = [tip for tip in dict.fromkeys(tips) if tip not in known]
    with path.open("a") as stream:
        # One write, so that lines of two runs do not mix.
        stream.write("".join(f"{tip} {int(time.time())}\n" for tip in new))
    os.utime(path)


def last_asked(repository: Repository) -> str | None:
    """Day of the last look-up (YYYY-MM-DD), or None where there was none."""
    try:
        return datetime.fromtimestamp(_file(repository).stat().st_mtime, UTC).date().isoformat()
    except OSError:
        return None


def was_seen_by(repository: Repository, commit: str, moment: datetime) -> bool | None:
    """Whether a tip seen by ``moment`` contained ``commit``; None where nothing was looked at that early."""
    tips = [tip for tip, second in _lines(_file(repository)) if second <= moment.timestamp()]
    if not tips:
        return None
    lines = "".join(f"{line}\n" for line in (commit, *(f"^{tip}" for tip in tips)))
    return not read(repository, "rev-list", "--ignore-missing", "--max-count=1", "--stdin", stdin=lines).strip()


def _file(repository: Repository) -> Path:
    return repository.path / "seen"


def _lines(path: Path) -> list[tuple[str, int]]:
    try:
        rows = [line.split() for line in path.read_text(errors="replace").splitlines()]
    except OSError:
        return []
    return [(row[0], int(row[1])) for row in rows if len(row) == 2 and len(row[0]) == 40 and row[1].isdecimal()]
