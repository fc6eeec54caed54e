"""Images that give nothing to judge have results of their own, and no container outlives a run, however it ends."""

import json
import os
import signal
import socket
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest

from imagepins.markup import inert
from imagepins.process import Completed, run
from imagepins.verify.findings import Report, Status
from imagepins.verify.leftovers import HOST_LABEL, RUN_LABEL, process_mark, process_space
from waiting import PATIENCE, wait_for

pytestmark = pytest.mark.engine

PINS = Path(__file__).parent / "sabotage" / "pins.yaml"
SCRIPT = "RUN printf '#!/bin/sh\\n{0}\\n' >/usr/local/bin/python3 && chmod +x /usr/local/bin/python3"
STAGES = {
    "without-python": "FROM debian:trixie-slim AS SELF",
    "without-shell": "RUN rm -f /bin/sh /bin/bash /bin/dash /bin/sleep",
    "deaf-python": SCRIPT.format("echo BANNER"),
    "failing-python": SCRIPT.format("echo no module named encodings >&2; exit 3"),
    "sleeping-python": SCRIPT.format("exec sleep 1000"),
    "endless-python": SCRIPT.format("exec yes"),
    "python-of-another-platform": "COPY other-platform /usr/local/bin/python3",
    "user-that-nobody-knows": "USER nobody-knows",
    "package-of-an-older-name": (
        "RUN printf '\\nPackage: libhello0\\nStatus: install ok installed\\nArchitecture: amd64\\nVersion: 1.0-1\\n' "
        ">>/var/lib/dpkg/status\nLABEL org.imagepins.pins='{renamed}'"
    ),
    "honest": "",
    "lying-labels": "LABEL org.imagepins.pins='{labels}'\nLABEL org.imagepins.target=serving/plain",
    "older-pins": (
        "COPY rccl-old.so /opt/rocm/lib/librccl.so.1.0\nENV OLD_WORKAROUND=1\nLABEL org.imagepins.pins='{older}'"
    ),
    "hanging": "COPY hip-hangs.so /opt/rocm/lib/libamdhip64.so.7.16.26361-25e14349f2",
}
OTHERS = ["rccl commit", "rccl version", "env OLD_WORKAROUND"]
OLD_COMMIT = "0d2c4fd" + "a" * 33
RCCL = {"kind": "git", "source": "https://upstream.example/rocm-systems.git", "component": "rccl"}
HIP = {"kind": "git", "source": RCCL["source"], "component": "hip", "version": "7.16"}
SAME = {
    "debian": {"kind": "image", "source": "debian", "id": "trixie-slim"},
    "rocm-runtime": {**HIP, "id": "25e14349f2606a6b95c4ccd45eb92a1835646cf2"},
}
LABELS = {**SAME, "rccl": {**RCCL, "id": "b" * 40, "version": "2.30.7"}}
LIBRARY = {"kind": "apt", "suite": "trixie", "component": "rccl", "version": "2.32.3"}
RENAMED = {"debian": SAME["debian"], "libhello": {**LIBRARY, "source": "libhello0", "id": "1.0"}}
OLDER = {**SAME, "rccl": {**RCCL, "id": OLD_COMMIT, "version": "2.27.7"}}


class Lab(Protocol):
    """The fixture that builds images."""

    context: Path

    def ref(self, name: str) -> str:
        """The reference of an image."""

    def build(self, stages: dict[str, str]) -> None:
        """Build every stage."""


@pytest.fixture(scope="module", autouse=True)
def _images(lab: Lab) -> None:
    # The first 64 bytes of a program for aarch64: what an emulator-less kernel answers with "exec format error".
    header = bytes.fromhex("7f454c460201010000000000000000000200b70001000000") + bytes(40)
    (lab.context / "other-platform").write_bytes(header)
    (lab.context / "other-platform").chmod(0o755)
    stages = dict(STAGES)
    for word, labels in {"{labels}": LABELS, "{older}": OLDER, "{renamed}": RENAMED}.items():
        stages = {name: lines.replace(word, json.dumps(labels)) for name, lines in stages.items()}
    lab.build(stages)


@pytest.mark.parametrize(
    ("name", "outcome", "says"),
    [
        ("without-python", "no-python", "python3 cannot be started (executable file not found in $PATH)"),
        ("deaf-python", "exited", "BANNER"),
        ("failing-python", "exited", "code 3, no answer: no module named encodings"),
        ("user-that-nobody-knows", "cannot-start", "unable to find user nobody-knows"),
        ("endless-python", "endless", "no answer among it"),
        ("python-of-another-platform", "wrong-platform", "exec format error"),
    ],
)
def test_image_without_an_answer_has_a_result_of_its_own(
    name: str, outcome: str, says: str, verify_image: Callable[..., Report]
) -> None:
    report = verify_image(name)

    assert report.outcome == outcome
    assert says in report.message
    assert report.checks == ()
    assert not report.is_good()


def test_python_that_never_answers_is_killed_by_the_limit(verify_image: Callable[..., Report]) -> None:
    report = verify_image("sleeping-python", timeout=1)

    assert report.outcome == "timed-out"
    assert "timed out after 1 s" in report.message


def test_image_without_a_shell_is_verified(verify_image: Callable[..., Report]) -> None:
    assert verify_image("without-shell").is_good()


def test_image_built_from_other_pins_is_one_result_not_a_wall_of_failures(verify_image: Callable[..., Report]) -> None:
    report = verify_image("older-pins")

    assert [check.name for check in report.checks if check.status is Status.OTHER_PINS] == OTHERS
    assert report.count(Status.FAILED) == 0
    assert not report.is_good()
    assert any(
        line.startswith(f"rccl: the image has id {OLD_COMMIT}") and "pins.yaml:16" in line
        for line in report.differences
    )


def test_package_that_pins_yaml_knows_by_another_name_now_is_one_of_other_pins(
    verify_image: Callable[..., Report],
) -> None:
    report = verify_image("package-of-an-older-name", image="package")

    assert [check.name for check in report.checks if check.status is Status.OTHER_PINS] == ["libhello package"]
    assert report.count(Status.FAILED) == 0
    assert verify_image("package-of-an-older-name", image="package", against="image").is_good()


def test_image_is_good_against_the_pins_it_carries(verify_image: Callable[..., Report]) -> None:
    assert verify_image("older-pins", against="image").is_good()


def test_label_that_claims_other_pins_is_a_finding_where_the_content_is_right(
    verify_image: Callable[..., Report],
) -> None:
    report = verify_image("lying-labels")

    assert [check.status for check in report.checks if check.name == "rccl pins label"] == [Status.FINDING]
    assert report.is_good()
    assert not report.is_good(strict=True)


@pytest.fixture
def command(repository: Path, lab: Lab) -> Callable[..., list[str]]:
    """The argv that verifies one of the images as ``serving``; without a name, what ``--from`` names."""

    def argv(name: str, *options: str) -> list[str]:
        return [
            str(repository / "tools/image"),
            "verify",
            "serving",
            *([f"--ref={lab.ref(name)}"] if name else []),
            f"--pins={PINS}",
            *options,
        ]

    return argv


def containers(ref: str) -> list[str]:
    """All containers of verifications of this image."""
    listed = run(["docker", "ps", "--all", "--filter", f"label={RUN_LABEL}", "--format", "{{.ID}} {{.Image}}"])
    return [line for line in listed.stdout.splitlines() if ref in line]


@pytest.fixture
def hanging(command: Callable[..., list[str]], lab: Lab) -> Iterator[subprocess.Popen[str]]:
    """A verification in the midst of collecting."""
    process = subprocess.Popen(
        command("hanging"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        wait_for(lambda: bool(containers(lab.ref("hanging"))))
        yield process
    finally:
        process.kill()
        process.communicate()
        wait_for(lambda: not containers(lab.ref("hanging")))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_interrupt_removes_the_container_and_exits_130(
    hanging: subprocess.Popen[str], number: signal.Signals, lab: Lab
) -> None:
    os.killpg(hanging.pid, number)

    out, err = hanging.communicate(timeout=PATIENCE)
    assert containers(lab.ref("hanging")) == []
    assert hanging.returncode == 130
    assert err.strip() == "image: interrupted"
    assert out == ""


def test_killed_command_leaves_no_container(hanging: subprocess.Popen[str], lab: Lab) -> None:
    os.killpg(hanging.pid, signal.SIGKILL)

    wait_for(lambda: not containers(lab.ref("hanging")))


@pytest.fixture
def container(lab: Lab) -> Iterator[Callable[[str, str], str]]:
    """Makes containers that look like those of other runs."""
    made: list[str] = []

    def create(mark: str, host: str) -> str:
        labels = [f"--label={RUN_LABEL}={mark}", f"--label={HOST_LABEL}={host}"]
        made.append(run(["docker", "create", *labels, lab.ref("honest"), "true"]).stdout.strip())
        return made[-1]

    yield create
    run(["docker", "rm", "--force", *made], check=False)


def exists(container: str) -> bool:
    """Whether the engine still has a container."""
    return run(["docker", "inspect", container], check=False).code == 0


def test_leftovers_of_dead_runs_are_removed_and_those_of_living_ones_kept(
    container: Callable[[str, str], str], verify_image: Callable[..., Report]
) -> None:
    host = process_space()
    dead = container("4194303:1", host)
    used_again = container(f"{os.getpid()}:1", host)
    living = container(process_mark(os.getpid()), host)
    elsewhere = container("4194303:1", "another-machine")
    of_a_container = container("4194303:1", f"{os.uname().nodename}/1")

    verify_image("honest")

    assert [exists(each) for each in (dead, used_again, living, elsewhere, of_a_container)] == [
        *(False, False),
        *(True, True, True),
    ]


@pytest.fixture
def verify(command: Callable[..., list[str]]) -> Callable[..., Completed]:
    """Run the command to its end."""

    def call(name: str, *options: str, **env: str) -> Completed:
        return run(command(name, *options), check=False, env={**os.environ, **env})

    return call


def test_missing_image_exits_3_and_says_what_to_do(verify: Callable[..., Completed], lab: Lab) -> None:
    done = verify("nowhere")

    assert (done.code, done.stdout) == (3, "")
    assert done.stderr == (
        f"image: {lab.ref('nowhere')}: no such image here; build it with tools/image build, or docker pull it\n"
    )


def test_missing_image_is_in_every_report_that_was_asked_for(verify: Callable[..., Completed], tmp_path: Path) -> None:
    done = verify("nowhere", "--json", f"--junit={tmp_path}/junit.xml", f"--summary={tmp_path}/summary.md")

    assert done.code == 3
    assert [each["outcome"] for each in json.loads(done.stdout)["images"]] == ["no-image"]
    (case,) = ET.parse(tmp_path / "junit.xml").getroot().findall(".//testcase")  # noqa: S314 - our own output
    assert (case.get("classname"), case.get("name")) == ("serving.plain", "collect")
    assert "no-image" in (tmp_path / "summary.md").read_text()


def test_engine_that_is_not_there_exits_6_with_one_sentence(verify: Callable[..., Completed], tmp_path: Path) -> None:
    done = verify("honest", DOCKER_HOST=f"unix://{tmp_path}/none.sock")

    assert (done.code, done.stdout) == (6, "")
    assert done.stderr.count("\n") == 1
    assert f"No engine listens at unix://{tmp_path}/none.sock" in done.stderr


@pytest.fixture
def deaf_engine(tmp_path: Path) -> Iterator[socket.socket]:
    """A socket that takes connections and never answers."""
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(f"{tmp_path}/deaf.sock")
        deaf.listen()
        deaf.settimeout(PATIENCE)
        yield deaf


def test_engine_that_hangs_exits_6_and_says_so(verify: Callable[..., Completed], deaf_engine: socket.socket) -> None:
    done = verify("honest", DOCKER_HOST=f"unix://{deaf_engine.getsockname()}")

    assert (done.code, done.stdout) == (6, "")
    assert "took the connection but did not answer within 5 s" in done.stderr


def test_interrupt_ends_the_wait_for_an_engine_that_hangs(
    command: Callable[..., list[str]], deaf_engine: socket.socket
) -> None:
    env = {**os.environ, "DOCKER_HOST": f"unix://{deaf_engine.getsockname()}"}
    process = subprocess.Popen(command("honest"), stderr=subprocess.PIPE, text=True, env=env)
    with deaf_engine.accept()[0]:
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)

    assert (process.returncode, err.strip()) == (130, "image: interrupted")


def test_reports_carry_the_same_checks(verify: Callable[..., Completed], tmp_path: Path) -> None:
    paths = {name: tmp_path / name for name in ("junit.xml", "summary.md", "saved.json")}
    done = verify(
        "older-pins",
        "--json",
        f"--junit={paths['junit.xml']}",
        f"--summary={paths['summary.md']}",
        f"--save={paths['saved.json']}",
    )

    assert done.code == 1
    image = json.loads(done.stdout)["images"][0]
    names = [check["name"] for check in image["checks"]]
    cases = ET.parse(paths["junit.xml"]).getroot().findall(".//testcase")  # noqa: S314 - our own output
    assert [case.get("name") for case in cases] == names
    assert [case.get("name") for case in cases if case.find("failure") is not None] == OTHERS
    assert all(f"| {inert(name)} " in paths["summary.md"].read_text() for name in names)
    failed = next(check for check in image["checks"] if check["name"] == "rccl version")
    assert (failed["expected"], failed["found"], failed["rank"], failed["place"]) == (
        "2.32.3",
        "2.27.7",
        "mapped",
        "pins.yaml:18",
    )


def test_saved_document_is_judged_without_an_engine(verify: Callable[..., Completed], tmp_path: Path) -> None:
    first = verify("honest", f"--save={tmp_path}/saved.json")
    again = verify("", f"--from={tmp_path}/saved.json", DOCKER_HOST=f"unix://{tmp_path}/none.sock")

    assert (first.code, again.code) == (0, 0)
    assert again.stdout == first.stdout


HEAD = '{"format": "imagepins-observed", "version": 1, '


@pytest.mark.parametrize("option", ["--ref=other", "--save=other", "--gpu"])
def test_option_that_saved_documents_have_no_use_for_exits_2(repository: Path, tmp_path: Path, option: str) -> None:
    argv = [str(repository / "tools/image"), "verify", "serving", f"--pins={PINS}", f"--from={tmp_path}/x", option]
    done = run(argv, check=False)

    assert done.code == 2
    assert f"{option.partition('=')[0]} speaks of an image on the engine" in done.stderr


@pytest.mark.parametrize(
    "saved", ['"target": "consumer/plain"', '"image": {"labels": {"org.imagepins.target": "a/b"}}']
)
def test_document_of_another_target_exits_2(repository: Path, tmp_path: Path, saved: str) -> None:
    (tmp_path / "saved.json").write_text(HEAD + saved + "}")
    argv = [str(repository / "tools/image"), "verify", "serving", f"--pins={PINS}", f"--from={tmp_path}/saved.json"]
    done = run(argv, check=False)

    assert done.code == 2
    assert "not of serving/plain" in done.stderr


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", '{"format": "other"}', '{"format": "imagepins-observed", "version": 2}'),
        '{"format": "imagepins-observed", "version": "1"}',
        *(HEAD + '"env": [1]}', HEAD + '"image": {"labels": ["a"]}}', HEAD + '"image": {"layers": [1]}}'),
        *(HEAD + '"loads": {"what": 1}}', HEAD + '"texts": {"/a": 1}}', HEAD + '"libraries": [{"family": 1}]}'),
    ],
)
def test_document_that_is_none_exits_2(verify: Callable[..., Completed], tmp_path: Path, text: str) -> None:
    (tmp_path / "saved.json").write_text(text)

    done = verify("", f"--from={tmp_path}/saved.json")

    assert done.code == 2
    assert str(tmp_path / "saved.json") in done.stderr


def test_image_that_carries_no_pins_cannot_be_judged_by_them(verify: Callable[..., Completed]) -> None:
    done = verify("honest", "--against=image")

    assert done.code == 2
    assert "carries no pins" in done.stderr


def test_checks_that_need_a_gpu_are_skipped_with_the_reason_or_fail_where_required(
    verify: Callable[..., Completed],
) -> None:
    skipped, failed = verify("honest", "--json"), verify("honest", "--json", "--require-gpu")

    assert (skipped.code, failed.code) == (0, 1)
    last = [json.loads(done.stdout)["images"][0]["checks"][-1] for done in (skipped, failed)]
    assert [check["status"] for check in last] == ["skipped", "failed"]
    assert (last[1]["expected"], last[1]["found"]) == ("a GPU", "not looked for")
    assert {check["cause"] for check in last} == {"no devices were passed through; run with --gpu"}
