"""Packages wanted and what apt offers → a suite to install them from."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from imagepins.engine import apt
from imagepins.engine.client import MIN_BUILDX, version_tuple
from imagepins.engine.host import Host
from imagepins.engine.progress import Say
from imagepins.errors import EngineError

WANTED = {"docker.io": (27, 0), "docker-cli": (27, 0), "docker-buildx": MIN_BUILDX}
"""First versions that will do: the engine answers ``build --check``. What an own suite has older than these is taken
from NEWER_SUITE."""
NEWER_SUITE = "forky"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


@dataclass(frozen=True)
class Layout:
    """Files that ``up`` may write, and the data root it looks at."""

    etc: Path = Path("/etc")
    data_root: Path = Path("/var/lib/docker")

    @property
    def source(self) -> Path:
        """The apt source of the newer suite."""
        return self.etc / "apt/sources.list.d/imagepins-engine.sources"

    @property
    def preferences(self) -> Path:
        """The apt pins that keep everything but the engine's packages out of the newer suite."""
        return self.etc / "apt/preferences.d/imagepins-engine"

    @property
    def configuration(self) -> Path:
        """dockerd's configuration."""
        return self.etc / "docker/daemon.json"


def choose_source(packages: list[str], host: Host, layout: Layout, say: Say) -> tuple[list[str], bool]:
    """Make ``packages`` available to apt in versions that will do.

    Return those to install, and whether the newer suite's Release file is past its Valid-Until. The distribution's
    own packages come first. Debian's are joined by a newer suite where they are too old, at a priority at which
    nothing but the packages named here comes from it. Raises EngineError where apt has none that will do.
    """
    remove_newer_suite(layout)  # what a killed run left; a source that is past its Valid-Until shows only when added
    updated = apt.update(say)
    offered = apt.candidates(packages)
    is_expired = False
    if _too_old(packages, offered) and host.is_debian:
        mirror = apt.debian_mirror(apt.targets(), host.debian_release)
        if mirror is None:
            raise EngineError(f"apt has no Debian source on this machine; add one to {layout.etc}/apt and run again")
        _add_newer_suite(mirror, layout, say)
        updated = apt.update(say, only=layout.source)
        offered, is_expired = apt.candidates(packages), updated.was_expired
    lacking = _too_old(packages, offered)
    if lacking:
        offers = ", ".join(f"{name} {offered.get(name, 'not at all')}" for name in lacking)
        text = f"apt offers {offers}, which will not do:{apt.tail(updated.output)}"
        raise EngineError(f"{text}\n{how_to_install_by_hand()}")
    return [name for name in packages if name in offered], is_expired


def remove_newer_suite(layout: Layout) -> None:
    """Take the newer suite out of apt's set-up again."""
    layout.source.unlink(missing_ok=True)
    layout.preferences.unlink(missing_ok=True)


def how_to_install_by_hand() -> str:
    """Return what to do where the distribution's packages will not do."""
    return "Check the network and apt's sources, or install Docker Engine by https://docs.docker.com/engine/install."


def _too_old(packages: list[str], offered: Mapping[str, str]) -> list[str]:
    # Where a suite has no docker-cli, its docker.io brings the client.
    needed = [name for name in packages if name != "docker-cli" or name in offered or "docker.io" not in packages]
    return [name for name in needed if version_tuple(offered.get(name, "")) < WANTED[name]]


def _add_newer_suite(mirror: str, layout: Layout, say: Say) -> None:
    say(f"this suite's engine lacks build --check: adding {NEWER_SUITE} as a source, for the engine's packages only")
    source = f"Types: deb\nURIs: {mirror}\nSuites: {NEWER_SUITE}\nComponents: main\nSigned-By: {KEYRING}\n"
    pins = (
        f"Package: *\nPin: release n={NEWER_SUITE}\nPin-Priority: 50\n\n"
        f"Package: {' '.join(WANTED)}\nPin: release n={NEWER_SUITE}\nPin-Priority: 990\n"
    )
    # The pins come first: a source without them would offer the whole newer suite to the next upgrade.
    write_whole(layout.preferences, pins)
    write_whole(layout.source, source)


def write_whole(path: Path, text: str) -> None:
    """Write ``text`` to ``path`` so that a reader sees all of it or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.new")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)
