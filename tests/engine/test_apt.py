"""apt without questions, without endless waits, and on machines where it does not run smoothly."""

from collections.abc import Callable
from pathlib import Path

import pytest

from imagepins.engine import apt
from imagepins.engine.apt import Target, candidates, debian_mirror, install, update
from imagepins.errors import EngineError

Fake = Callable[[str, str], Path]
EXPIRED = "E: Release file for http://mirror/debian/dists/forky/InRelease is expired (invalid since 7d 2h 1s)."


def calls(log: Path) -> list[str]:
    """What a fake was called with, without the options every call carries."""
    common = " ".join(f"-o {option}" for option in apt._OPTIONS)
    return [line.replace(f"{common} ", "") for line in log.read_text().splitlines()]


def test_update_that_succeeds_is_one_call(fake: Fake, said: list[str]) -> None:
    log = fake("apt-get", 'echo "$@" >>$LOG')
    assert update(said.append).was_expired is False
    assert calls(log) == ["update"]
    assert said == ["apt-get update"]


def test_release_file_past_its_date_is_accepted_for_one_update_only(fake: Fake, said: list[str]) -> None:
    log = fake("apt-get", f'echo "$@" >>$LOG; case "$*" in *Check-Valid*) ;; *) echo "{EXPIRED}" >&2; exit 100;; esac')
    assert update(said.append).was_expired is True
    assert calls(log) == ["update", "-o Acquire::Check-Valid-Until=false update"]
    assert said[-1] == "apt-get update again: a Release file is past its Valid-Until, which is accepted this once"


def test_update_of_one_source_leaves_the_lists_of_all_others(fake: Fake, said: list[str]) -> None:
    log = fake("apt-get", 'echo "$@" >>$LOG')
    update(said.append, only=Path("/s"))
    options = "-o Dir::Etc::sourcelist=/s -o Dir::Etc::sourceparts=- -o APT::Get::List-Cleanup=0"
    assert calls(log) == [f"{options} update"]


def test_source_that_fails_is_no_error_of_the_update(fake: Fake, said: list[str]) -> None:
    fake("apt-get", "echo 'E: Unable to locate the moon' >&2; exit 100")
    assert update(said.append).output.code == 100


def test_lock_of_another_program_is_waited_for(fake: Fake, said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apt, "_POLL_SECONDS", 0.01)
    locked = "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7 (apt-get)"
    log = fake("apt-get", f'echo x >>$LOG; [ $(wc -l <$LOG) -ge 3 ] || {{ echo "{locked}" >&2; exit 100; }}')
    assert update(said.append).output.code == 0
    assert len(log.read_text()) == 6
    assert said[1:] == ["another program uses apt, waiting for it to end"]


def test_lock_that_is_never_freed_is_an_error_in_time(
    fake: Fake, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apt, "LOCK_SECONDS", 0.1)
    monkeypatch.setattr(apt, "_POLL_SECONDS", 0.02)
    fake("apt-get", "echo 'E: Could not get lock /var/lib/dpkg/lock-frontend.' >&2; exit 100")
    with pytest.raises(EngineError, match=r"Could not get lock /var/lib/dpkg/lock-frontend"):
        install(["docker.io"], said.append)


def test_install_asks_nothing_and_brings_no_recommendations(fake: Fake, said: list[str]) -> None:
    log = fake("apt-get", 'echo "$@ $DEBIAN_FRONTEND $NEEDRESTART_SUSPEND $LC_ALL" >>$LOG; ! read line')
    install(["docker.io", "docker-buildx"], said.append)
    assert calls(log) == ["install -y --no-install-recommends docker.io docker-buildx noninteractive 1 C"]
    for option in ("DPkg::Lock::Timeout=180", "Dpkg::Options::=--force-confold", "Acquire::http::Timeout=20"):
        assert f"-o {option} " in log.read_text()


def test_installation_that_was_interrupted_is_finished_first(fake: Fake, said: list[str]) -> None:
    message = "E: dpkg was interrupted, you must manually run 'dpkg --configure -a' to correct the problem."
    log = fake("dpkg", 'echo "$@" >>$LOG')
    apt_log = fake("apt-get", f'echo "$@" >>$LOG; [ -s {log} ] || {{ echo "{message}" >&2; exit 100; }}')
    install(["docker.io"], said.append)
    assert log.read_text() == "--configure -a\n"
    assert calls(apt_log)[1] == "install --fix-broken -y --no-install-recommends docker.io"


def test_installation_that_fails_shows_the_end_of_what_apt_said(fake: Fake, said: list[str]) -> None:
    fake("apt-get", "seq 1 50; echo 'E: Unmet dependencies.' >&2; exit 100")
    with pytest.raises(EngineError) as raised:
        install(["docker.io"], said.append)
    first, *middle, last = str(raised.value).splitlines()
    assert first == "apt-get install docker.io failed with exit code 100:"
    assert middle == [*(f"  {number}" for number in range(40, 51)), "  E: Unmet dependencies."]
    assert last == "Repair apt, then run this again."


def test_candidates_are_those_apt_would_install(fake: Fake) -> None:
    policy = (
        "docker.io:\n  Installed: (none)\n  Candidate: 28.5.2+dfsg4-5\n  Version table:\n     28.5.2+dfsg4-5 990\n"
        "         50 http://m/debian forky/main amd64 Packages\n"
        "docker-cli:\n  Installed: 1\n  Candidate: (none)\n  Version table:\n"
        "docker-buildx:\n  Installed: (none)\n  Candidate: 0.29.1+ds1-4\n  Version table:\n"
    )
    fake("apt-cache", f"cat <<'E'\n{policy}E")
    assert candidates(["docker.io", "docker-cli", "docker-buildx", "unknown"]) == {
        "docker.io": "28.5.2+dfsg4-5",
        "docker-buildx": "0.29.1+ds1-4",
    }


URL = "http://mirror.example/debian/"
DEBIAN = Target(URL, "bookworm", "main", "Debian", "Debian")
SECURITY = Target("http://mirror.example/debian-security/", "bookworm-security", "main", "Debian", "Debian-Security")
VENDOR = Target("https://vendor.example/linux/debian/", "bookworm", "stable", "Vendor", "Vendor")
BARE = Target(URL, "bookworm", "main", "$(ORIGIN)", "$(LABEL)")
BARE_VENDOR = Target("https://vendor.example/linux/debian/", "bookworm", "stable", "$(ORIGIN)", "$(LABEL)")
UBUNTU = Target("http://mirror.example/ubuntu/", "noble", "main", "Ubuntu", "Ubuntu")
CD = Target("cdrom:[Debian]/", "bookworm", "main", "Debian", "Debian")


@pytest.mark.parametrize(
    ("found", "codename", "mirror"),
    [
        ([SECURITY, VENDOR, DEBIAN], "bookworm", URL[:-1]),
        ([BARE_VENDOR, BARE], "bookworm", URL[:-1]),
        ([DEBIAN], "sid", URL[:-1]),
        ([UBUNTU], None, None),
        ([UBUNTU, DEBIAN], None, URL[:-1]),
        ([CD, DEBIAN], "bookworm", URL[:-1]),
        ([], "bookworm", None),
    ],
    ids=["debian", "lists deleted", "other name", "ubuntu", "ubuntu with debian", "cd first", "none"],
)
def test_debian_mirror_is_the_one_of_the_machines_own_sources(
    found: list[Target], codename: str | None, mirror: str | None
) -> None:
    assert debian_mirror(found, codename) == mirror


def test_debian_mirror_may_stand_in_a_list_of_mirrors(tmp_path: Path) -> None:
    (tmp_path / "debian.list").write_text("https://mirror.example/debian\nhttps://other.example/debian\n")
    target = Target(f"mirror+file://{tmp_path}/debian.list", "bookworm", "main", "Debian", "Debian")
    assert debian_mirror([target], "bookworm") == "https://mirror.example/debian"


def test_targets_are_read_from_apt(fake: Fake) -> None:
    fake("apt-get", "echo 'http://mirror.example/debian/|bookworm|main|Debian|Debian'; echo 'W: noise'")
    assert apt.targets() == (DEBIAN,)
