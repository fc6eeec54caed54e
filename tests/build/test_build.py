"""Building with a real engine: what is built, skipped, tagged, told and left behind."""

import json
import os
import re
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from waiting import PATIENCE, wait_for

if TYPE_CHECKING:
    from tests.build.conftest import Project

pytestmark = pytest.mark.engine

LOW = "FROM scratch\nCOPY f /low\n"
HIGH = "FROM @low@\nCOPY f /high\n"
BASE = "FROM debian:trixie-slim\n"
Docker = Callable[..., str]


@pytest.fixture
def pair(project: "Project") -> "Project":
    """``high`` built from ``low``, both out of one file each."""
    project.write({"low": LOW, "high": HIGH})
    project.file("low", "f", "low\n")
    project.file("high", "f", "high\n")
    return project


def labels(docker: Docker, ref: str) -> dict[str, str]:
    """Labels of an image of the engine."""
    found: dict[str, str] = json.loads(docker("image", "inspect", "--format", "{{json .Config.Labels}}", ref))
    return found


def test_a_second_build_builds_nothing_and_makes_no_build_call(pair: "Project") -> None:
    assert pair.run("build").rows == {pair.name("low"): "built", pair.name("high"): "built"}
    calls = pair.log_docker()
    assert pair.run("build").rows == {pair.name("low"): "present", pair.name("high"): "present"}
    assert [line.split()[:2] for line in calls.read_text().splitlines()] == [["image", "inspect"]]


def test_an_edit_builds_what_it_concerns(pair: "Project") -> None:
    pair.run("build")
    pair.file("high", "f", "other\n")
    assert pair.run("build").rows == {pair.name("low"): "present", pair.name("high"): "built"}


def test_going_back_builds_nothing_and_moves_the_tag_back(pair: "Project", docker: Docker) -> None:
    pair.run("build")
    before = docker("image", "inspect", "--format", "{{.Id}}", pair.tag("high"))
    pair.file("high", "f", "other\n")
    pair.run("build")
    pair.file("high", "f", "high\n")
    assert pair.run("build").rows[pair.name("high")] == "present"
    assert docker("image", "inspect", "--format", "{{.Id}}", pair.tag("high")) == before


def test_a_tag_is_known_again_however_it_is_spelled(pair: "Project") -> None:
    text = (pair.root / "pins.yaml").read_text()
    spelled = f"docker.io/library/{pair.tag('low')}"
    (pair.root / "pins.yaml").write_text(text.replace("template: low.j2", f"template: low.j2\n    tags: ['{spelled}']"))
    ran = pair.run("build")
    assert ran.rows.get(pair.name("low")) == "built", ran.err
    assert set(pair.run("build").rows.values()) == {"present"}
    assert pair.plan()["low"]["last"]["size"] > 0


def test_force_builds_what_is_there(pair: "Project") -> None:
    pair.run("build")
    assert pair.run("build", "--force", f"{pair.prefix}-low").rows == {pair.name("low"): "built"}


def test_a_child_alone_brings_a_parent_that_is_not_there(pair: "Project", docker: Docker) -> None:
    ran = pair.run("build", f"{pair.prefix}-high")
    assert ran.rows == {pair.name("low"): "built", pair.name("high"): "built"}
    assert docker("image", "inspect", "--format", "{{.Id}}", pair.tag("low"))


def test_a_child_alone_is_built_from_the_parent_by_its_digest(pair: "Project", docker: Docker) -> None:
    pair.run("build", f"{pair.prefix}-low")
    identity = docker("image", "inspect", "--format", "{{.Id}}", pair.tag("low"))
    assert pair.run("build", f"{pair.prefix}-high").rows == {pair.name("high"): "built"}
    bake = json.loads((pair.root / f"build/work/{pair.prefix}-high-v/bake.json").read_text())
    contexts = bake["target"][f"{pair.prefix}-high-v"]["contexts"]
    assert list(contexts) == [pair.tag("low")]
    assert contexts[pair.tag("low")].endswith(f"@{identity}")


def test_the_parent_of_this_run_is_used_and_not_an_older_one_of_that_tag(pair: "Project", docker: Docker) -> None:
    pair.run("build")
    pair.file("low", "f", "newer\n")
    pair.run("build")
    layers = [
        json.loads(docker("image", "inspect", "--format", "{{json .RootFS.Layers}}", pair.tag(n)))
        for n in ("low", "high")
    ]
    assert layers[1][:1] == layers[0]


def test_a_child_that_is_forced_with_its_parent_stands_on_the_new_parent(project: "Project", docker: Docker) -> None:
    project.write({"low": f"{BASE}RUN date +%N >/now\n", "high": "FROM @low@\nRUN true\n"})
    layers = []
    for args in ((), ("--force", "--no-cache")):
        assert project.run("build", *args).code == 0
        found = [
            docker("image", "inspect", "--format", "{{json .RootFS.Layers}}", project.tag(n)) for n in ("low", "high")
        ]
        low, high = (json.loads(text) for text in found)
        assert high[: len(low)] == low
        layers.append(low)
    assert layers[0] != layers[1]


def test_labels_carry_pins_hashes_target_and_what_oci_names(project: "Project", docker: Docker) -> None:
    tool = f'git: "https://example.org/tool.git", commit: "{"1" * 40}", version: "1.2", component: tool'
    pins = f"  tool: {{{tool}}}\n  base: {{image: debian, tag: trixie-slim, allow_tag: a test}}\n"
    project.write({"app": "FROM scratch\nARG TOOL_COMMIT\nCOPY f /f\n"}, pins=pins)
    project.file("app", "f", "x")
    for argv in (["init", "-q"], ["add", "pins.yaml", "images", "app.j2"], ["commit", "-qm", "one"]):
        subprocess.run(["git", *argv], cwd=project.root, check=True)
    subprocess.run(
        ["git", "remote", "add", "origin", "https://user:secret@example.org/images.git"], cwd=project.root, check=True
    )
    project.run("build")
    found = labels(docker, project.tag("app"))
    plan = project.plan()["app"]
    commit, seconds = subprocess.run(
        ["git", "log", "-1", "--format=%H %ct"], cwd=project.root, check=True, capture_output=True, text=True
    ).stdout.split()
    assert json.loads(found["org.imagepins.pins"]) == {
        "tool": {
            "kind": "git",
            "source": "https://example.org/tool.git",
            "id": "1" * 40,
            "version": "1.2",
            "component": "tool",
        }
    }
    assert found["org.imagepins.content-hash"] == plan["hash"]
    assert json.loads(found["org.imagepins.inputs"]) == plan["inputs"]
    assert len(found["org.imagepins.pins-hash"]) == 64
    assert found["org.imagepins.target"] == found["org.opencontainers.image.title"] == project.name("app")
    assert found["org.opencontainers.image.source"] == "https://example.org/images.git"
    assert found["org.opencontainers.image.revision"] == commit
    assert found["org.opencontainers.image.created"] == time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(seconds)))
    assert docker("image", "inspect", "--format", "{{.Created}}", project.tag("app")).startswith(
        found["org.opencontainers.image.created"][:19]
    )
    assert found["org.opencontainers.image.version"] == "v"


def test_labels_keep_text_that_bake_would_expand(project: "Project", docker: Docker) -> None:
    pins = '  tool: {pypi: tool, version: "1.0", note: "uses ${HOME} and %{if}"}\n'
    project.write({"app": "FROM scratch\nARG TOOL_VERSION\nLABEL x='${y}'\nCOPY f /f\n"}, pins=pins)
    project.file("app", "${z}", "x")
    project.file("app", "f", "x")
    assert project.run("build").code == 0
    assert "org.imagepins.pins" in labels(docker, project.tag("app"))


def test_a_failed_step_is_told_with_dockerfile_and_template_line_pin_tail_and_log(project: "Project") -> None:
    pins = '  tool: {apt: tool, version: "9.9.9", suite: trixie}\n  lib: {apt: lib, version: "1", suite: trixie}\n'
    said = "E: Version '${TOOL_VERSION}-*' for 'tool' was not found"
    step = f'RUN <<EOR\nset -eu\nseq 1 100\necho "{said}"\nexit 100\nEOR\n'
    text = f"[[[ pin_args ]]]\n{BASE}ARG TOOL_VERSION\nARG LIB_VERSION\n{step}"
    project.write({"app": text}, pins=pins)
    ran = project.run("build")
    assert ran.code == 5
    assert f"{project.name('app')}: step failed" in ran.err
    rendered = f"images/{project.prefix}-app/v/Dockerfile"
    assert f"at {rendered}:8, from app.j2:5" in ran.err
    assert "pins.yaml:3: the error is about the apt pin tool = 9.9.9" in ran.err
    assert "lib" not in ran.err.partition("last 40 lines")[0].partition(rendered)[2]
    shown = ran.err.partition("last 40 lines")[2].splitlines()
    assert [line.strip() for line in shown[1:3]] == ["| 62", "| 63"]
    log = project.root / f"build/logs/{project.prefix}-app-v.log"
    assert f"log: {log}" in ran.err
    assert "#5 1\n" in log.read_text() or " 1\n" in log.read_text()


def test_a_step_of_an_included_template_is_found_there(project: "Project") -> None:
    (project.root / "part.j2").write_text("[[# a part #]]\nRUN echo [[[ image ]]] && \\\n    exit 3\n")
    project.write({"app": f"{BASE}[[% include 'part.j2' %]]\n"})
    assert "from part.j2:2" in project.run("build").err


def test_keep_going_builds_the_rest_and_shows_all_in_a_table(project: "Project") -> None:
    project.write(
        {
            "good": LOW,
            "bad": "FROM scratch\nCOPY --from=debian:trixie-slim /nope /\n",
            "child": "FROM @bad@\nCOPY f /x\n",
        }
    )
    for name in ("good", "child"):
        project.file(name, "f", "x")
    ran = project.run("build", "--keep-going", "--jobs", "1", "--summary", "summary.md")
    assert ran.code == 5
    assert ran.rows == {project.name("good"): "built", project.name("bad"): "failed", project.name("child"): "skipped"}
    summary = (project.root / "summary.md").read_text()
    for text in (ran.err, summary):
        assert all(project.name(name) in text for name in ("good", "bad", "child"))
    assert re.search(r"\| target +\| state +\|", summary)


def test_json_tells_state_reference_time_and_cause(pair: "Project") -> None:
    rows = json.loads(pair.run("build", "--json").out)
    assert [row["state"] for row in rows] == ["built", "built"]
    assert all(row["digest"].startswith("sha256:") and row["seconds"] > 0 for row in rows)
    assert rows[0]["ref"].startswith(f"{pair.prefix}-low:content-")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_with_130_and_leaves_nothing(project: "Project", number: int) -> None:
    seconds = sleeps_of_its_own()
    project.write({"app": f"{BASE}RUN echo begun && sleep {seconds}\n"})
    log = project.root / f"build/logs/{project.prefix}-app-v.log"
    (project.root / "tmp").mkdir()
    project.env["TMPDIR"] = str(project.root / "tmp")
    with project.start("build") as process:
        wait_for(lambda: log.exists() and "begun\n" in log.read_text())
        process.send_signal(number)
        assert process.wait(PATIENCE) == 130
        assert process.stderr is not None
        assert "interrupted" in process.stderr.read()
    assert not processes(str(project.root))
    assert not list((project.root / "tmp").iterdir())
    assert not (project.root / "build/state.json").exists()
    wait_for(lambda: not processes(f"sleep {seconds}"))


def test_the_time_limit_ends_the_whole_build(project: "Project") -> None:
    seconds = sleeps_of_its_own()
    project.write({"app": f"{BASE}RUN sleep {seconds}\n"})
    ran = project.run("build", "--time-limit", "0.05")
    assert ran.code == 5
    assert "time limit: no end after 3 s" in ran.err
    wait_for(lambda: not processes(f"sleep {seconds}"))


def test_secrets_are_there_in_the_step_and_in_no_layer_label_or_history(project: "Project", docker: Docker) -> None:
    project.write(
        {
            "app": f"{BASE}RUN --mount=type=secret,id=gitconfig,target=/etc/gitconfig "
            f"--mount=type=secret,id=ca : {project.prefix} && cat /etc/gitconfig && test -s /run/secrets/ca\n"
        }
    )
    project.env["IMAGEPINS_MIRRORS"] = "https://example.org/=https://mirror.example/topsecret/"
    bundle = project.root / "company.pem"
    bundle.write_text("company\n")
    project.env["IMAGEPINS_CA_BUNDLE"] = str(bundle)
    (project.root / "tmp").mkdir()
    project.env["TMPDIR"] = str(project.root / "tmp")
    before = project.plan()["app"]["hash"]
    ran = project.run("build")
    assert ran.code == 0, ran.err
    assert 'insteadOf = "https://example.org/"' in (project.root / f"build/logs/{project.prefix}-app-v.log").read_text()
    told = docker("image", "inspect", project.tag("app")) + docker("history", "--no-trunc", project.tag("app"))
    assert "topsecret" not in told
    assert not list((project.root / "tmp").iterdir())
    del project.env["IMAGEPINS_MIRRORS"]
    assert project.plan()["app"]["hash"] == before


def test_pins_without_their_id_stop_the_build_before_it_begins(project: "Project") -> None:
    pins = (
        '  tool: {git: "https://example.org/t.git", track: {branch: main}}\n  lib: {url: "https://example.org/l.tar"}\n'
    )
    project.write({"app": "[[[ pin_args ]]]\nFROM scratch\nARG TOOL_COMMIT\nARG LIB_SHA256\n"}, pins=pins)
    ran = project.run("build")
    assert ran.code == 2
    assert "pins.yaml:3: tool has no commit yet; run tools/bump_pin tool" in ran.err
    assert "pins.yaml:4: lib has no sha256 yet; run tools/bump_pin lib" in ran.err
    assert not (project.root / "build").exists()


def test_a_builder_that_does_not_exist_is_told_before_the_build(pair: "Project") -> None:
    ran = pair.run("build", "--builder", "imagepins-test-nobody")
    assert ran.code == 6
    assert "docker buildx ls" in ran.err


def test_two_runs_at_once_build_each_target_once(project: "Project") -> None:
    project.write({"app": f"{BASE}RUN : {project.prefix}\n"})
    with project.held_build() as first, project.start("build") as second:
        assert second.stderr is not None
        assert any("another build runs in this tree; waiting" in line for line in second.stderr)
        project.release()
        out, err = second.communicate(timeout=PATIENCE)
        assert (first.wait(PATIENCE), second.returncode) == (0, 0), err
    assert out.split("\t")[:2] == [project.name("app"), "present"]


def test_a_plan_needs_no_engine_and_takes_nothing_for_absent_without_one(pair: "Project") -> None:
    pair.run("build")
    pair.env["DOCKER_HOST"] = f"unix://{pair.root}/nobody.sock"
    rows = pair.plan().values()
    assert [(row["local"], row["build"]) for row in rows] == [("unknown", None)] * 2
    assert [row["order"] for row in rows] == [1, 2]
    assert all("nobody knows whether it is here, as no engine answers" in row["why"] for row in rows)
    assert pair.run("plan").out.splitlines()[-1] == "2 of 2 unknown"


def test_a_plan_says_why_each_target_would_be_built_and_what_moved(pair: "Project") -> None:
    assert pair.plan("--explain")["low"]["moved"] == ["no earlier build is known"]
    pair.run("build")
    assert "nothing to build" in pair.run("plan").out
    pair.file("low", "f", "other\n")
    rows = pair.plan("--explain")
    assert [row["why"] for row in rows.values()] == ["its tag stands for other content"] * 2
    assert rows["low"]["moved"][0].startswith("file f: ")
    assert rows["high"]["moved"][0].startswith(f"parent {pair.name('low')}: ")
    assert rows["low"]["last"]["seconds"] > 0
    assert rows["low"]["last"]["size"] > 0
    assert "2 of 2 targets to build" in pair.run("plan", "--explain").out


def test_the_hosts_network_is_used_where_it_is_asked_for(project: "Project") -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        step = f"RUN : {project.prefix} && bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'"
        project.write({"app": f"{BASE}{step}\n"})
        assert project.run("build").code == 5
        project.env["IMAGEPINS_BUILD_NETWORK"] = "host"
        ran = project.run("build")
    assert ran.code == 0, ran.err


def test_no_engine_is_exit_6(pair: "Project") -> None:
    pair.env["DOCKER_HOST"] = f"unix://{pair.root}/nobody.sock"
    ran = pair.run("build")
    assert (ran.code, ran.out) == (6, "")


def test_too_little_room_is_told_before_the_build_with_the_sizes_of_last_time(pair: "Project") -> None:
    pair.run("build")
    state = pair.root / "build/state.json"
    sizes = json.loads(state.read_text())
    sizes[pair.name("low")]["size"] = 10**17
    state.write_text(json.dumps(sizes))
    ran = pair.run("build", "--force")
    assert ran.code == 5
    assert f"{pair.name('low')} 100000000.0 GB" in ran.err
    assert "GB free" in ran.err


def test_a_stale_dockerfile_is_said_and_pins_yaml_wins(pair: "Project") -> None:
    path = pair.root / f"images/{pair.prefix}-low/v/Dockerfile"
    path.parent.mkdir(parents=True)
    path.write_text("FROM nowhere\n")
    ran = pair.run("build", f"{pair.prefix}-low")
    assert ran.code == 0
    assert "run tools/image render" in ran.err


def test_names_that_are_not_there_are_told_with_the_nearest(pair: "Project") -> None:
    ran = pair.run("build", f"{pair.prefix}-hihg")
    assert ran.code == 2
    assert f"{pair.prefix}-high" in ran.err


def sleeps_of_its_own() -> int:
    """Seconds, hundreds of days, that no other process of this machine sleeps for."""
    return 10**8 + secrets.randbelow(10**8)


def processes(part: str) -> list[str]:
    """Command lines of living processes, other than this one, that hold ``part``."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if part in line and path.parent.name != str(os.getpid()):
            found.append(line)
    return found
