"""``tools/engine up``: a usable engine afterwards, whatever was there before, and nothing done where one is."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from imagepins.engine import provision
from imagepins.engine.daemon import Daemon
from imagepins.engine.host import Host, how_to_install, read_host
from imagepins.engine.provision import make_usable, missing_packages
from imagepins.engine.suite import Layout, choose_source
from imagepins.errors import EngineError
from imagepins.process import Completed

Fake = Callable[[str, str], Path]
Machine = Callable[..., Completed]
Tool = Callable[..., Completed]

BOOKWORM = Host("debian", (), "bookworm", "Debian GNU/Linux 12", is_root=True, has_systemd=False, has_apt=True)
NOBLE = Host("ubuntu", ("debian",), "noble", "Ubuntu 24.04", is_root=True, has_systemd=False, has_apt=True)
PACKAGES = ["docker.io", "docker-cli", "docker-buildx"]
OWN = {"bookworm": "20.10.24+dfsg1-1", "trixie": "26.1.5+dfsg1-9"}


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """A machine's configuration files, all absent."""
    return Layout(etc=tmp_path / "etc", data_root=tmp_path / "docker")


def policy(**versions: str) -> str:
    """Script of an ``apt-cache policy`` with these candidates."""
    named = {name.replace("_", "-").replace("docker-io", "docker.io"): value for name, value in versions.items()}
    return "cat <<'E'\n" + "".join(f"{name}:\n  Candidate: {value}\n" for name, value in named.items()) + "E"


GOOD = policy(docker_io="28.5.2+dfsg4-5", docker_cli="28.5.2+dfsg4-5", docker_buildx="0.29.1+ds1-4")
TARGETS = "case $* in *indextargets*) echo 'http://mirror.example/debian/|bookworm|main|Debian|Debian';; esac"


@pytest.mark.engine
def test_up_does_nothing_where_an_engine_is_usable(at_engine: Daemon, tool: Tool) -> None:
    done = tool("up")
    assert (done.code, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.engine
def test_up_where_an_engine_is_usable_starts_no_program(at_engine: Daemon, tool: Tool, fake: Fake) -> None:
    programs = ("docker", "dockerd", "buildx", "apt-get", "apt-cache", "dpkg", "systemctl", "start-stop-daemon", "sh")
    logs = [fake(name, "echo called >>$LOG; exit 1") for name in programs]
    assert tool("up").code == 0
    assert [log.name for log in logs if log.read_text()] == []


@pytest.mark.engine
def test_up_starts_an_engine_that_is_installed_but_not_running(machine: Machine) -> None:
    done = machine("$TOOL up && docker version --format '{{.Server.Version}}' && cat /etc/docker/daemon.json")
    assert done.code == 0, done.stderr
    version, *configuration = done.stdout.splitlines()
    assert version
    assert json.loads("\n".join(configuration)) == {"features": {"containerd-snapshotter": True}}
    steps = [line.partition(" s] ")[2] for line in done.stderr.splitlines()]
    assert steps[0] == "the Docker daemon is installed but not running"
    assert steps[-2] == "the engine answers at unix:///var/run/docker.sock"
    assert steps[-1] == "to undo: kill $(cat /var/run/docker.pid) && rm /etc/docker/daemon.json"


@pytest.mark.engine
def test_two_ups_at_once_start_one_engine(machine: Machine) -> None:
    # The lock is held until both wait for it, so that they meet whatever else the machine does.
    script = """
        exec 9>/run/lock/imagepins-engine-$(id -u).lock && flock 9
        $TOOL up 9>&- 2>/run/told-1 & one=$!
        $TOOL up 9>&- 2>/run/told-2 & other=$!
        until [ "$(cat /run/told-? | grep -c 'another run is at it')" = 2 ]; do sleep 0.02; done
        exec 9>&-
        wait $one && wait $other && pgrep -c -x dockerd && cat /run/told-? >&2
    """
    done = machine(script)
    assert (done.code, done.stdout) == (0, "1\n"), done.stderr
    assert done.stderr.count("starting /") == 1


@pytest.mark.engine
def test_up_repairs_an_engine_that_was_killed(machine: Machine) -> None:
    script = (
        "$TOOL up; kill -9 $(cat /run/docker.pid); sleep 100000 & echo $! >/run/docker.pid; "
        "$TOOL up; echo $?; $TOOL status >/dev/null; echo $?"
    )
    done = machine(script)
    assert done.stdout == "0\n0\n", done.stderr
    assert "removing /var/run/docker.pid: no dockerd has the number in it" in done.stderr


@pytest.mark.engine
def test_up_that_was_interrupted_is_finished_by_the_next(machine: Machine) -> None:
    script = (
        "$TOOL up & up=$!; until [ -s /run/imagepins-docker.pid ]; do sleep 0.01; done; kill -INT $up; wait $up; "
        "echo interrupted $?; $TOOL up; echo finished $?; pgrep -c -x dockerd"
    )
    done = machine(script)
    assert done.stdout == "interrupted 130\nfinished 0\n1\n", done.stderr


FEDORA = (
    "printf 'ID=fedora\\nPRETTY_NAME=\"Fedora 42\"\\n' >/run/os-release; "
    "mount --bind /run/os-release $(realpath /etc/os-release)"
)


@pytest.mark.engine
def test_up_on_another_distribution_starts_an_engine_that_is_installed(machine: Machine) -> None:
    done = machine("$TOOL up", before=FEDORA)
    assert done.code == 0, done.stderr
    assert "the engine answers at unix:///var/run/docker.sock" in done.stderr


@pytest.mark.engine
def test_up_on_another_distribution_says_in_two_lines_what_to_install(machine: Machine) -> None:
    done = machine("$TOOL up", before=f"{FEDORA}; mount --bind /dev/null $(command -v dockerd)")
    assert done.code == 6
    problem, *lines = done.stderr.splitlines()
    assert problem.startswith("engine: No Docker engine is installed here; ")
    assert len(lines) == 2
    assert lines[0].startswith("Fedora 42: install Docker Engine 23.0 or later and its buildx plugin")


def test_up_without_root_says_in_two_lines_who_can_install() -> None:
    host = Host("debian", (), "bookworm", "Debian GNU/Linux 12", is_root=False, has_systemd=True, has_apt=True)
    assert not host.can_install
    assert how_to_install(host).splitlines() == [
        "Debian GNU/Linux 12: run this as root (sudo tools/engine up), or ask an administrator to install",
        "Docker Engine 23.0 or later and its buildx plugin, and to add you to the group docker.",
    ]


@pytest.mark.parametrize("host", ["unix:///nonexistent.sock", "tcp://127.0.0.1:9"])
@pytest.mark.engine
def test_up_installs_nothing_for_an_engine_that_was_chosen_elsewhere(
    tool: Tool, fake: Fake, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    log = fake("apt-get", "echo called >>$LOG")
    monkeypatch.setenv("DOCKER_HOST", host)
    assert tool("up").code == 6
    assert log.read_text() == ""


@pytest.mark.engine
def test_up_installs_what_is_lacking_beside_an_engine_that_answers(
    at_engine: Daemon, fake: Fake, said: list[str], layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugins = layout.data_root.parent / "config" / "cli-plugins"
    monkeypatch.setenv("DOCKER_CONFIG", str(plugins.parent))
    monkeypatch.setattr("imagepins.engine.client.PLUGIN_DIRS", ())
    fake("apt-cache", GOOD)
    plugin = f"{plugins}/docker-buildx"
    log = fake(
        "apt-get",
        f'echo "$@" >>$LOG; case $* in *install*) mkdir -p {plugins}; touch {plugin}; chmod +x {plugin};; esac',
    )
    make_usable(said.append, layout=layout, host=BOOKWORM)
    assert log.read_text().splitlines()[-1].endswith("install -y --no-install-recommends docker-buildx")
    assert said[0] == "an engine answers, but its client has no buildx plugin"
    assert said[-1] == "to undo: apt-get purge docker-buildx"
    assert not layout.etc.exists()


def test_suites_own_packages_are_taken_where_they_will_do(fake: Fake, said: list[str], layout: Layout) -> None:
    fake("apt-get", "")
    fake("apt-cache", policy(docker_io="29.1.3-0ubuntu3~24.04.1", docker_buildx="0.30.1-0ubuntu1~24.04.1"))
    assert choose_source(PACKAGES, NOBLE, layout, said.append) == (["docker.io", "docker-buildx"], False)
    assert not layout.source.exists()


@pytest.mark.parametrize("suite", OWN)
def test_newer_suite_joins_a_debian_whose_engine_is_too_old(
    fake: Fake, said: list[str], layout: Layout, suite: str
) -> None:
    fake("apt-get", TARGETS)
    fake("apt-cache", f"if [ -e {layout.source} ]; then {GOOD}\nelse {policy(docker_io=OWN[suite])}\nfi")
    assert choose_source(PACKAGES, BOOKWORM, layout, said.append) == (PACKAGES, False)
    assert layout.source.read_text() == (
        "Types: deb\nURIs: http://mirror.example/debian\nSuites: forky\nComponents: main\n"
        "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n"
    )
    assert layout.preferences.read_text() == (
        "Package: *\nPin: release n=forky\nPin-Priority: 50\n\n"
        "Package: docker.io docker-cli docker-buildx\nPin: release n=forky\nPin-Priority: 990\n"
    )


def test_newer_suite_goes_again_where_its_date_would_fail_later_updates(
    fake: Fake, said: list[str], layout: Layout
) -> None:
    expired = "E: Release file for http://mirror.example/debian/dists/forky/InRelease is expired (invalid since 7d)."
    log = fake(
        "apt-get",
        f'{TARGETS}\necho "$@" >>$LOG\n'
        f"case $* in *Check-Valid*) ;; *sourcelist*) echo '{expired}' >&2; exit 100;; esac",
    )
    fake("apt-cache", f"if [ -e {layout.source} ]; then {GOOD}\nelse {policy(docker_io=OWN['bookworm'])}\nfi")
    undo: list[str] = []
    provision._install(PACKAGES, BOOKWORM, layout, undo, said.append)
    assert "install -y --no-install-recommends docker.io docker-cli docker-buildx" in log.read_text()
    assert not layout.source.exists()
    assert not layout.preferences.exists()
    assert undo == ["apt-get purge docker.io docker-cli docker-buildx"]


def test_newer_suite_goes_again_where_the_installation_fails(fake: Fake, said: list[str], layout: Layout) -> None:
    fake("apt-get", f"{TARGETS}\ncase $* in *install*) exit 100;; esac")
    fake("apt-cache", f"if [ -e {layout.source} ]; then {GOOD}\nelse {policy(docker_io=OWN['bookworm'])}\nfi")
    with pytest.raises(EngineError):
        provision._install(PACKAGES, BOOKWORM, layout, [], said.append)
    assert not layout.source.exists()


def test_packages_that_will_not_do_are_named_with_what_apt_said(fake: Fake, said: list[str], layout: Layout) -> None:
    fake("apt-get", "echo 'W: Failed to fetch http://mirror.example/' >&2")
    fake("apt-cache", policy(docker_io="20.10.12-0ubuntu2"))
    with pytest.raises(EngineError) as raised:
        choose_source(PACKAGES, NOBLE, layout, said.append)
    assert str(raised.value).splitlines() == [
        "apt offers docker.io 20.10.12-0ubuntu2, docker-buildx not at all, which will not do:",
        "  W: Failed to fetch http://mirror.example/",
        "Check the network and apt's sources, or install Docker Engine by https://docs.docker.com/engine/install.",
    ]


def test_old_engine_of_the_suite_is_upgraded_with_its_client(fake: Fake, tmp_path: Path) -> None:
    fake("dockerd", "echo Docker version 20.10.24+dfsg1, build 5d6db84")
    fake("dpkg", 'echo "docker.io: $2"')
    assert missing_packages(with_engine=True)[:2] == ["docker.io", "docker-cli"]


def test_old_engine_of_another_vendor_is_left_alone(fake: Fake) -> None:
    fake("dockerd", "echo Docker version 20.10.24, build 5d6db84")
    fake("dpkg", 'echo "docker-ce: $2"')
    assert "docker.io" not in missing_packages(with_engine=True)


@pytest.mark.parametrize("present", ["etc/docker/daemon.json", "docker/image/overlay2"])
def test_store_is_not_changed_under_somebodys_configuration_or_images(
    layout: Layout, said: list[str], tmp_path: Path, present: str
) -> None:
    path = tmp_path / present
    path.parent.mkdir(parents=True)
    path.touch()
    undo: list[str] = []
    provision._choose_store(layout, undo, said.append)
    assert (said, undo) == ([], [])


def test_host_is_read_from_os_release(tmp_path: Path) -> None:
    (tmp_path / "usr/lib").mkdir(parents=True)
    (tmp_path / "usr/lib/os-release").write_text(
        '# a comment\nPRETTY_NAME="Linux Mint 22"\nID=linuxmint\nID_LIKE="ubuntu debian"\nVERSION_CODENAME=wilma\n'
    )
    (tmp_path / "run/systemd/system").mkdir(parents=True)
    host = read_host(tmp_path)
    assert (host.name, host.distribution, host.like) == ("Linux Mint 22", "linuxmint", ("ubuntu", "debian"))
    assert (host.has_systemd, host.has_apt, host.can_install, host.debian_release) == (True, False, False, None)


def test_host_without_os_release_is_unknown(tmp_path: Path) -> None:
    assert read_host(tmp_path).distribution == "unknown"
