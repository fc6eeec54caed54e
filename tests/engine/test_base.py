"""``tools/engine base``: the base image is there afterwards, and says how it was made."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

import pytest

from imagepins.engine import base, debootstrap
from imagepins.engine.base import ensure_base, find_base
from imagepins.engine.daemon import Daemon
from imagepins.engine.host import Host
from imagepins.errors import EngineError, NetworkError
from imagepins.process import run
from waiting import PATIENCE, wait_for

Fake = Callable[[str, str], Path]

CLOSED = "127.0.0.1:9"
"""A registry that refuses every connection, on every machine."""

TARGETS = "case $* in *indextargets*) echo 'http://mirror.example/debian/|bookworm|main|Debian|Debian';; esac"
SMALL = """
for word; do case $word in */root) root=$word;; esac; done
mkdir -p $root/etc $root/var/lib/apt/lists/partial $root/var/cache/apt/archives/partial
echo 13.9 >$root/etc/debian_version
echo secret >$root/etc/hostname
touch $root/var/lib/apt/lists/mirror_dists $root/var/cache/apt/archives/a.deb
echo "$@" >>$LOG
"""
COMMAND = """
import functools, sys
from imagepins.engine import base
base.ensure_base = functools.partial(base.ensure_base, ref=sys.argv[1])
from imagepins.engine.cli import main
sys.exit(main(["base", "--json"]))
"""

pytestmark = pytest.mark.engine


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fake: Fake) -> Path:
    """An empty directory for temporary files; Debian's keyring and apt's sources are there."""
    directory = tmp_path / "work"
    directory.mkdir()
    monkeypatch.setenv("TMPDIR", str(directory))
    monkeypatch.setattr(debootstrap, "KEYRING", Path(__file__))
    fake("apt-get", TARGETS)
    return directory


@pytest.fixture
def silent_registry() -> Iterator[str]:
    """A registry that takes connections and never answers, as a closed network often looks."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


def command(ref: str, *, stderr: TextIO | int = subprocess.PIPE) -> "subprocess.Popen[str]":
    """Start ``tools/engine base --json`` for another reference."""
    argv = [sys.executable, "-c", COMMAND, ref]
    return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=stderr, text=True)


def contents(ref: str) -> set[str]:
    """Names of the files in an image, as the engine would export them."""
    container = run(["docker", "create", ref, "true"]).stdout.strip()
    try:
        return set(run(["sh", "-c", f"docker export {container} | tar -t"]).stdout.split())
    finally:
        run(["docker", "rm", container])


@pytest.mark.usefixtures("at_engine", "work")
def test_base_that_is_made_says_how_and_when(fake: Fake, said: list[str]) -> None:
    log = fake("debootstrap", SMALL)
    ref = f"{CLOSED}/debian:made-slim"
    made = ensure_base(said.append, ref=ref)
    assert (made.ref, made.origin, made.digest) == (ref, "debootstrap", None)
    facts = json.loads(run(["docker", "image", "inspect", ref]).stdout)[0]
    assert facts["Id"] == made.id
    assert facts["Config"]["Cmd"] == ["bash"]
    labels = facts["Config"]["Labels"]
    assert labels.pop("org.imagepins.base.date") == time.strftime("%Y-%m-%d", time.gmtime())
    assert labels == {"org.imagepins.base": "debootstrap", "org.imagepins.base.suite": "made"}
    assert log.read_text().startswith("--variant=minbase --force-check-gpg --keyring=")
    assert log.read_text().split()[3::2] == ["made", "http://mirror.example/debian"]
    assert said[0].startswith(f"no registry answered for {ref} (")
    assert said[0].endswith(f"; making {ref} with debootstrap")


@pytest.mark.usefixtures("at_engine", "work")
def test_base_that_is_made_holds_nothing_of_this_machine_and_no_packages(fake: Fake, said: list[str]) -> None:
    fake("debootstrap", SMALL)
    ref = f"{CLOSED}/debian:clean-slim"
    ensure_base(said.append, ref=ref)
    names = contents(ref)
    assert {"etc/debian_version", "var/lib/apt/lists/", "var/cache/apt/archives/partial/"} <= names
    assert not {"var/lib/apt/lists/mirror_dists", "var/cache/apt/archives/a.deb"} & names


@pytest.mark.usefixtures("at_engine")
def test_base_that_is_there_is_left_alone(work: Path, fake: Fake, said: list[str]) -> None:
    fake("debootstrap", SMALL)
    ref = f"{CLOSED}/debian:there-slim"
    first = ensure_base(said.append, ref=ref)
    said.clear()
    assert ensure_base(said.append, ref=ref) == first
    assert said == []


@pytest.mark.usefixtures("at_engine", "work")
def test_two_runs_at_once_make_the_base_once(fake: Fake, tmp_path: Path) -> None:
    gate, told = tmp_path / "gate", tmp_path / "told"
    os.mkfifo(gate)
    log = fake("debootstrap", f"read -r _ <{gate}\n{SMALL}")
    # The keyring of the machine is used by these two, which are processes of their own.
    with told.open("w") as stderr:
        runs = [command(f"{CLOSED}/debian:twice-slim", stderr=stderr) for _ in range(2)]
    wait_for(lambda: "another run is at it" in told.read_text(), what="one to wait for the other")
    gate.write_text("\n")
    answers = [(process.communicate(timeout=PATIENCE), process.returncode) for process in runs]
    assert [code for _, code in answers] == [0, 0], answers
    documents = [json.loads(out) for (out, _), _ in answers]
    assert documents[0] == documents[1]
    assert len(log.read_text().splitlines()) == 1


@pytest.mark.usefixtures("at_engine")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_interrupted_run_leaves_nothing(work: Path, fake: Fake, number: int) -> None:
    mark = f"6{os.getpid()}"
    log = fake("debootstrap", f"{SMALL}\nsleep {mark}.1 & echo started >>$LOG; sleep {mark}.2")
    process = command(f"{CLOSED}/debian:interrupted-slim")
    wait_for(lambda: len(log.read_text().splitlines()) >= 2)
    assert list(work.iterdir())
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, json.loads(out)) == (130, {"error": "interrupted", "exit_code": 130})
    assert err.endswith("interrupted\n")
    assert list(work.iterdir()) == []
    wait_for(lambda: not run(["pgrep", "-f", rf"sleep {mark}\.[12]"], check=False).stdout)
    assert find_base(f"{CLOSED}/debian:interrupted-slim") is None


@pytest.mark.usefixtures("at_engine")
def test_directory_of_a_killed_run_is_removed_and_its_processes_end_with_it(
    work: Path, fake: Fake, said: list[str]
) -> None:
    mark = f"7{os.getpid()}"
    log = fake("debootstrap", f"{SMALL}\nsleep {mark}")
    process = command(f"{CLOSED}/debian:killed-slim")
    wait_for(log.read_text)
    process.kill()
    process.communicate(timeout=PATIENCE)
    assert list(work.iterdir()), "a killed process cannot tidy up"
    fake("debootstrap", SMALL)
    assert ensure_base(said.append, ref=f"{CLOSED}/debian:killed-slim").origin == "debootstrap"
    assert list(work.iterdir()) == []
    wait_for(lambda: not run(["pgrep", "-f", f"sleep {mark}"], check=False).stdout)


@pytest.mark.usefixtures("at_engine")
def test_neither_registry_nor_mirror_is_an_error_with_both_reasons(work: Path, fake: Fake, said: list[str]) -> None:
    fake("debootstrap", "echo 'E: Failed getting release file http://mirror.example/'; exit 1")
    ref = f"{CLOSED}/debian:gone-slim"
    with pytest.raises(NetworkError) as raised:
        ensure_base(said.append, ref=ref)
    text = str(raised.value)
    assert text.startswith(f"no registry answered for {ref} (")
    assert ", and debootstrap gone from http://mirror.example/debian failed:\n  E: Failed getting release file" in text
    assert text.endswith("Check the network and apt's Debian source, then run this again.")
    assert list(work.iterdir()) == []
    assert find_base(ref) is None


@pytest.mark.usefixtures("at_engine")
def test_archive_that_broke_off_never_becomes_an_image(work: Path, fake: Fake, said: list[str]) -> None:
    fake("debootstrap", SMALL)
    fake(
        "tar", "for w; do case $w in --file=*) echo x >${w#--file=};; esac; done; echo 'tar: no space left' >&2; exit 2"
    )
    ref = f"{CLOSED}/debian:broken-slim"
    with pytest.raises(EngineError, match=r"could not be packed into .*: tar: no space left; free space there"):
        ensure_base(said.append, ref=ref)
    assert list(work.iterdir()) == []
    assert find_base(ref) is None


@pytest.mark.usefixtures("at_engine", "work")
def test_registry_that_never_answers_costs_its_time_limit_only(
    fake: Fake, said: list[str], silent_registry: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake("debootstrap", SMALL)
    monkeypatch.setattr(base, "REGISTRY_SECONDS", 0.5)
    made = ensure_base(said.append, ref=f"{silent_registry}/debian:silent-slim")
    assert made.origin == "debootstrap"
    assert said[0].startswith(f"no registry answered for {made.ref} within 0.5 s; ")


def test_base_is_not_made_without_root_or_debootstrap(at_engine: Daemon, said: list[str], fake: Fake) -> None:
    plain = Host("debian", (), "bookworm", "Debian GNU/Linux 12", is_root=False, has_systemd=False, has_apt=True)
    with pytest.raises(NetworkError, match="needs root; run tools/engine base as root, or docker pull it"):
        debootstrap._require_debootstrap(plain, said.append)


def test_base_is_not_made_for_a_remote_engine(said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "ssh://far")
    root = Host("debian", (), "bookworm", "Debian GNU/Linux 12", is_root=True, has_systemd=False, has_apt=True)
    with pytest.raises(NetworkError, match="a remote engine takes no image made here; pull it there"):
        debootstrap._require_debootstrap(root, said.append)


def test_debootstrap_is_installed_with_its_keyring_where_it_is_missing(
    at_engine: Daemon, said: list[str], fake: Fake, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(debootstrap, "KEYRING", tmp_path / "none")
    fake("apt-cache", "printf 'debootstrap:\\n  Candidate: 1.0\\n'")
    log = fake("apt-get", 'echo "$@" >>$LOG')
    root = Host("ubuntu", (), "noble", "Ubuntu 24.04", is_root=True, has_systemd=False, has_apt=True)
    debootstrap._require_debootstrap(root, said.append)
    assert log.read_text().endswith(" install -y --no-install-recommends debootstrap debian-archive-keyring\n")


def test_base_without_an_engine_is_the_engines_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    process = command("debian:trixie-slim")
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, json.loads(out)["exit_code"]) == (6, 6)
    assert err.startswith("engine: No engine listens at unix://")


@pytest.mark.usefixtures("at_engine")
def test_real_debootstrap_makes_a_debian_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    ref = f"{CLOSED}/debian:trixie-slim"
    process = command(ref)
    out, err = process.communicate(timeout=800)
    assert process.returncode == 0, err
    document = json.loads(out)
    assert document == {"ref": ref, "origin": "debootstrap", "digest": None, "id": document["id"]}
    assert list(tmp_path.iterdir()) == []
    script = "cat /etc/debian_version; dpkg-query -W apt | cut -f1; cat /etc/resolv.conf; apt-cache policy | head -1"
    shown = run(["docker", "run", "--rm", "--network=none", ref, "sh", "-c", script]).stdout
    assert shown.startswith("13.")
    assert "\napt\n" in shown
    assert "imagepins-base-" not in Path("/proc/mounts").read_text()


@pytest.mark.usefixtures("at_engine", "work")
def test_run_for_another_reference_has_nothing_to_wait_for(fake: Fake, said: list[str]) -> None:
    slow = f"case $* in *' slow '*) sleep 100000;; esac\n{SMALL}"
    log = fake("debootstrap", f"echo begun >>$LOG\n{slow}")
    process = command(f"{CLOSED}/debian:slow-slim")
    wait_for(log.read_text)
    assert ensure_base(said.append, ref=f"{CLOSED}/debian:quick-slim").origin == "debootstrap"
    assert process.poll() is None
    assert "another run is at it, waiting for it to end" not in said
    process.terminate()
    process.communicate(timeout=PATIENCE)
