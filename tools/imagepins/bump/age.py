"""A commit and a minimum age → leave to take it, or the reason why not yet.

Who can push can also backdate: so the committer's date and the day this machine's cache first saw the commit must both
lie that far back. Where the cache has not been looking for that long, the date alone decides, and that is said.
"""

from datetime import UTC, datetime, timedelta

from imagepins.bump.move import Options, Stays
from imagepins.bump.seen import was_seen_by
from imagepins.gitrepo.cache import Repository, read
from imagepins.gitrepo.history import Commit
from imagepins.pins.model import GitPin


def check_age(pin: GitPin, commit: Commit, repository: Repository, options: Options) -> tuple[str, ...]:
    """What could not be checked of the age that the pin or the command line asks for. Raises Stays."""
    days = options.min_age_days if options.min_age_days is not None else int(pin.min_age_days or 0)
    if not days:
        return ()
    limit = datetime.now(UTC) - timedelta(days=days)
    if datetime.fromisoformat(commit.date) > limit:
        raise Stays(_too_young(f"was committed on {commit.date[:10]}", pin, commit, repository, days))
    seen = was_seen_by(repository, commit.sha, limit)
    if seen is False:
        raise Stays(_too_young(f"is dated {commit.date[:10]}, but appeared later", pin, commit, repository, days))
    return () if seen else (f"when it appeared: the cache is younger than {days} days, its date decided",)


def _too_young(said: str, pin: GitPin, commit: Commit, repository: Repository, days: int) -> str:
    before = f"--before={(datetime.now(UTC) - timedelta(days=days)).isoformat()}"
    older = read(repository, "rev-list", "--max-count=1", "--first-parent", before, commit.sha).strip()
    instead = f"tools/bump_pin {pin.name} {older[:12]} is older; " if older else ""
    asked = f"{pin.name} takes nothing younger than {days} days"
    return f"{commit.sha[:12]} {said}, and {asked}; {instead}wait, or say --min-age 0"
