"""Pins + refs → their repositories, with everything that is going to be read fetched: one look-up per repository."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from imagepins.bump.move import Options, Unreadable
from imagepins.bump.seen import note_seen
from imagepins.errors import ImagePinsError, RefError
from imagepins.gitrepo.cache import Damaged, Repository, fetch_refs, open_repository
from imagepins.gitrepo.resolve import pull_refs, refs_asked
from imagepins.gitrepo.wanted import Wanted, parse_wanted
from imagepins.parallel import parallel
from imagepins.pins.model import GitPin

Found = TypeVar("Found")


@dataclass(frozen=True)
class GitRequest:
    """A git pin and what is asked for it; None follows its track. ``written`` stands in pins.yaml for the commit."""

    pin: GitPin
    wanted: Wanted | None
    written: Wanted | None = None

    @property
    def is_settled(self) -> bool:
        """Whether the very commit that is pinned was asked for: nothing is left to look up."""
        return self.wanted is not None and self.wanted.kind == "sha" and self.wanted.value == self.pin.commit

    @property
    def tracked(self) -> tuple[str, ...]:
        """Full names of the refs of which one must contain the commit."""
        track = self.pin.track
        if track is None:
            return ("HEAD",)
        if track.branch:
            return (f"refs/heads/{track.branch}",)
        if track.tag:
            return (f"refs/tags/{track.tag}",)
        return (*pull_refs(track.pull or "", self.pin.git), f"refs/heads/{track.then}")

    @property
    def asked(self) -> tuple[str, ...]:
        """Full names of the refs to look up. A pull request taken for the first time is decided by its head alone."""
        named = [each for each in (self.wanted, self.written) if each]
        refs = tuple(ref for each in named for ref in refs_asked(each, self.pin.git))
        is_provisional = self.pin.track is not None and self.pin.track.pull is not None
        is_decided = self.wanted is not None and self.wanted.kind == "pull" and not is_provisional
        return refs if is_decided else (*self.tracked, *refs)


def git_request(pin: GitPin, ref: str | None) -> GitRequest:
    """Raises RefError for a ref that can name nothing in the pin's repository."""
    return GitRequest(pin, None if ref is None else parse_wanted(ref, pin.git), _written(pin))


def _written(pin: GitPin) -> Wanted | None:
    if not isinstance(pin.commit, Unreadable):
        return None
    try:
        return parse_wanted(pin.commit.written, pin.git)
    except RefError:
        return None


def repositories(requests: Iterable[GitRequest], options: Options) -> Mapping[str, Repository | ImagePinsError]:
    """The repository of each URL, its refs in the cache, or the error that stood in the way; asked in parallel."""
    refs: dict[str, set[str]] = {}
    for request in requests:
        refs.setdefault(request.pin.git, set()).update(request.asked)
    if len(refs) == 1:
        return {url: look_up_repository(url, refs[url], options) for url in refs}
    found = parallel(lambda url: look_up_repository(url, refs[url], options), list(refs), options.stop)
    return dict(zip(refs, found, strict=True))


def look_up_repository(url: str, refs: Iterable[str], options: Options) -> Repository | ImagePinsError:
    """One repository with ``refs`` in its cache, or the error that stood in the way."""
    try:
        repository = open_repository(url, options.mirrors, options.cache, is_offline=options.offline, stop=options.stop)
        asked = sorted(refs)
        fetch_refs(repository, asked)
        if not repository.is_offline:
            note_seen(repository, asked)
    except ImagePinsError as error:
        return error
    return repository


def with_repository(
    repository: Repository, refs: Iterable[str], options: Options, use: Callable[[Repository], Found]
) -> Found:
    """What ``use`` finds in a repository; asked again, with a new cache, where the cache turns out to be damaged."""
    try:
        return use(repository)
    except Damaged as damage:
        anew = look_up_repository(repository.url, refs, options)
        if isinstance(anew, ImagePinsError):
            raise anew from damage
        return use(anew)
