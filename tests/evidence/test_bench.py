import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from imagepins.cli import run_command
from imagepins.cli.bench import bench as bench_command
from imagepins.errors import CheckFailed, EngineError
from imagepins.evidence.bench import container, suite
from imagepins.evidence.bench.measure import BenchSide, Machine, measure, plan_sides
from imagepins.evidence.bench.proof import prove
from imagepins.pins.load import loads
from imagepins.pins.model import Bench, PinSet, Target
from imagepins.process import run
from imagepins.verify.leftovers import RUN_LABEL, marks_of
from naming import own_name
from waiting import wait_for

REF = f"{own_name('standin')}:bench"
RECIPE = """\
schema: 1
pins: {debian: {image: debian, tag: trixie-slim, allow_tag: a test}}
images:
  standin:
    template: Dockerfile.j2
    pins: [debian]
    variants: {default: {}}
    bench:
      server: [/usr/local/bin/server, serve]
      ready: [/usr/local/bin/ready]
      client: [/usr/local/bin/client, sglang, /tmp/result.jsonl]
      result: /tmp/result.jsonl
      env_sets: [{}, {STANDIN_DELAY_MS: "25"}]
      warmup: 1
      runs: 2
      ready_seconds: 120
      client_seconds: 120
"""
SERVER, CLIENT = "/usr/local/bin/server", "/usr/local/bin/client"
Measure = Callable[..., Path]


@pytest.fixture(scope="session")
def standin() -> Iterator[str]:
    """The image with the stand-in server and client."""
    context = Path(__file__).parent / "standin"
    run(["docker", "buildx", "build", "--load", "--quiet", "--tag", REF, str(context)], timeout=400)
    yield REF
    run(["docker", "rmi", "--force", REF], check=False)


@pytest.fixture
def recipe() -> Bench:
    bench = loads(RECIPE).targets["standin/default"].bench
    assert bench is not None
    return bench


@pytest.fixture
def measured(standin: str, tmp_path: Path) -> Measure:
    """Measure one side of a recipe in the stand-in image."""

    def one(bench: Bench, env: Mapping[str, str] | None = None, **machine: Any) -> Path:
        (side, *_) = plan_sides(replace(bench, env_sets=({},)), {standin: {"image_id": standin, "found": "2.1"}})
        side = replace(side, env=env or {})
        return measure(bench, side, folder=tmp_path, machine=Machine(network="none", **machine), tell=lambda _: None)

    return one


@pytest.fixture(autouse=True)
def _nothing_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """No container of this process is left after any test."""
    yield
    if request.node.get_closest_marker("engine"):
        assert containers_of(os.getpid()) == []


def changed(recipe: Bench, **change: Any) -> Bench:
    """The recipe with other values; plain texts do for the texts of a file."""
    return replace(recipe, **change)


def containers_of(pid: int) -> list[str]:
    """Containers that a process has made to measure in."""
    names = run(["docker", "ps", "--all", "--format", "{{.Names}}", "--filter", f"label={RUN_LABEL}"]).stdout
    return [name for name in names.split() if f"-{pid}-" in name]


def programs_of(pid: int) -> str:
    """Command lines of what runs in them."""
    return "".join(run(["docker", "top", name], check=False).stdout for name in containers_of(pid))


def test_every_image_in_every_environment_is_a_side_with_files_of_its_own(recipe: Bench) -> None:
    sides = plan_sides(recipe, {"a:1": {}, "b:1": {}})
    assert [side.name for side in sides] == [
        "a:1 as built",
        "a:1 STANDIN_DELAY_MS=25",
        "b:1 as built",
        "b:1 STANDIN_DELAY_MS=25",
    ]
    assert len({side.slug for side in sides}) == 4


def test_files_and_containers_of_a_side_are_named_in_ascii(recipe: Bench) -> None:
    sides = plan_sides(changed(recipe, env_sets=({"MODE": "é/ü"}, {"MODE": "٣"})), {"a:1": {}})
    assert [side.name for side in sides] == ["MODE=é/ü", "MODE=٣"]
    assert [side.slug for side in sides] == ["1-MODE", "2-MODE"]


@pytest.mark.engine
@pytest.mark.parametrize("mode", ["sglang", "vllm"])
def test_measured_runs_are_kept_with_their_side_and_proof_and_warm_up_runs_are_not(
    mode: str, measured: Measure, recipe: Bench
) -> None:
    path = measured(changed(recipe, client=(CLIENT, mode, recipe.result)))
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(records) == 2
    assert {record["tag"] for record in records} == {REF}
    assert records[0]["imagepins"] == {"ref": REF, "env": {}, "image_id": REF, "found": "2.1"}
    assert records[0]["median_itl_ms"] > 0


@pytest.mark.engine
def test_the_environment_of_a_side_reaches_its_server(measured: Measure, recipe: Bench) -> None:
    bench = replace(recipe, warmup=0, runs=1)
    fast = json.loads(measured(bench).read_text())["median_itl_ms"]
    slow = json.loads(measured(bench, {"STANDIN_DELAY_MS": "25"}).read_text())["median_itl_ms"]
    assert slow > fast


@pytest.mark.engine
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"server": (SERVER, "crash")}, "the server ended with exit code 3\nstand-in server"),
        ({"server": ("/nowhere/server",)}, "the container does not start"),
        ({"server": (SERVER, "silent"), "ready_seconds": 4}, "not ready within 4 s; the last readiness check "),
        ({"ready": ("/nowhere/ready",)}, "the readiness check cannot run in the image"),
        ({"ready": ("sleep", "60"), "ready_seconds": 2}, "the last readiness check had no end"),
        ({"client": (CLIENT, "fail")}, "warm-up 1 of 1: the client ended with exit code 255\nthe client's own message"),
        ({"server": (SERVER, "leave")}, "the server ended with exit code 5 while the client ran\nstand-in server"),
        ({"client": (CLIENT, "mute")}, "the client wrote no record to /tmp/result.jsonl"),
        ({"client": (CLIENT, "lost", "/tmp/result.jsonl")}, "warm-up 1 of 1: no request of the client completed"),
        ({"client": (CLIENT, "hang"), "client_seconds": 2}, "the client had no end within 2 s"),
        ({"client": ("/nowhere/client",)}, "the client ended with exit code 127"),
    ],
    ids=lambda value: value.replace("\n", " ")[:40] if isinstance(value, str) else "",
)
def test_what_goes_wrong_is_told_and_leaves_nothing_behind(
    change: dict[str, Any], message: str, measured: Measure, recipe: Bench
) -> None:
    with pytest.raises(CheckFailed) as caught:
        measured(changed(recipe, **change))
    assert message in str(caught.value)


@pytest.mark.engine
def test_a_missing_gpu_is_an_engine_error_that_names_the_device(measured: Measure, recipe: Bench) -> None:
    with pytest.raises(EngineError, match="/dev/kfd-not-here: no such device here"):
        measured(changed(recipe, devices=("/dev/kfd-not-here",)))


@pytest.mark.engine
def test_an_image_that_is_not_here_is_not_pulled_but_told(recipe: Bench, tmp_path: Path) -> None:
    side = BenchSide("x", "1-x", "a:1", {}, {"image_id": "imagepins-test-nowhere:1"})
    with pytest.raises(EngineError, match="imagepins-test-nowhere:1"):
        measure(recipe, side, folder=tmp_path, machine=Machine(), tell=lambda _: None)


@pytest.mark.engine
@pytest.mark.parametrize("word", ["exec", "cp", "start", "create"])
def test_a_docker_client_that_fails_is_no_failure_of_what_is_measured(
    word: str, measured: Measure, recipe: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shims = tmp_path / "shims"
    shims.mkdir()
    gone = "DOCKER_HOST=unix:///nowhere/docker.sock"
    fails = f'#!/bin/sh\n[ "$1" != {word} ] || touch {shims}/down\n[ ! -e {shims}/down ] || export {gone}\n'
    (shims / "docker").write_text(f'{fails}exec {shutil.which("docker")} "$@"\n')
    (shims / "docker").chmod(0o755)
    path = os.environ["PATH"]
    monkeypatch.setenv("PATH", f"{shims}:{path}")
    with pytest.raises(EngineError, match=r"Cannot connect|failed to connect"):
        measured(recipe)
    monkeypatch.setenv("PATH", path)
    for name in containers_of(os.getpid()):
        container.remove(name)


@pytest.mark.engine
def test_devices_are_passed_with_the_groups_that_own_them(measured: Measure, recipe: Bench) -> None:
    path = measured(changed(recipe, devices=("/dev/null",), warmup=0, runs=1))
    assert path.exists()


@pytest.mark.engine
@pytest.mark.parametrize("when", ["server", "client"])
def test_an_interrupt_leaves_no_container(when: str, standin: str, tmp_path: Path) -> None:
    script = f"""
import sys
from dataclasses import replace
from pathlib import Path
from imagepins.evidence.bench.measure import Machine, measure, plan_sides
from imagepins.pins.load import loads
bench = loads({RECIPE!r}).targets["standin/default"].bench
change = dict(ready=("false",)) if {when!r} == "server" else dict(client=("/usr/local/bin/client", "hang"))
side = plan_sides(bench, {{{standin!r}: {{"image_id": {standin!r}}}}})[0]
tell = lambda text: print(text, flush=True)
measure(replace(bench, **change), side, folder=Path({str(tmp_path)!r}), machine=Machine(network="none"), tell=tell)
"""
    argv = [sys.executable, "-c", script]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        waited = "/usr/local/bin/server serve" if when == "server" else "/usr/local/bin/client hang"
        wait_for(lambda: waited in programs_of(process.pid), what=waited)
        process.send_signal(signal.SIGINT)
    assert process.returncode != 0
    assert containers_of(process.pid) == []


@pytest.mark.engine
def test_what_a_killed_run_left_is_swept_and_what_lives_is_not(standin: str, recipe: Bench) -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        labels = [f"--label={name}={value}" for name, value in marks_of(child.pid).items()]
        child.kill()
    setup = container.Setup(image=standin, command=recipe.server, network="none")
    with container.running(setup, name=f"imagepins-bench-{os.getpid()}-alive") as alive:
        dead = f"imagepins-bench-{os.getpid()}-dead"
        run(["docker", "create", "--name", dead, *labels, standin])
        container.sweep()
        # Whoever else sweeps here may be at it at the same time.
        wait_for(lambda: containers_of(os.getpid()) == [alive])


RUN_ONCE = """
from imagepins.evidence.bench.container import Setup, run_once
run_once(Setup("debian:trixie-slim", ("sleep", "600"), network="none"), purpose="killed", timeout=600)
"""


@pytest.mark.engine
def test_the_container_of_a_killed_command_is_removed_by_the_next_one() -> None:
    with subprocess.Popen([sys.executable, "-c", RUN_ONCE]) as process:
        name = f"imagepins-killed-{process.pid}-"
        wait_for(lambda: name in run(["docker", "ps", "--format", "{{.Names}}"]).stdout)
        process.kill()
    done = container.run_once(container.Setup("debian:trixie-slim", ("true",)), purpose="next", timeout=60)
    assert done is not None
    wait_for(lambda: name not in run(["docker", "ps", "--all", "--format", "{{.Names}}"]).stdout)


@pytest.fixture
def bench(capsys: pytest.CaptureFixture[str], tmp_path: Path, standin: str) -> Callable[..., tuple[int, str, str]]:
    """``tools/image bench ARGS...`` on the recipe of the stand-in image."""
    pins = tmp_path / "pins.yaml"
    pins.write_text(RECIPE.replace("variants:", f"tags: [{standin}]\n    variants:"))

    def one(*argv: str) -> tuple[int, str, str]:
        code = run_command(bench_command, [*argv, "--network", "none", "--pins", str(pins)], name="bench")
        out, err = capsys.readouterr()
        return code, out, err

    return one


@pytest.mark.engine
def test_bench_compares_the_environments_of_a_recipe(bench: Callable[..., Any], tmp_path: Path) -> None:
    code, out, err = bench("standin", "--out", str(tmp_path / "out"), "--fail-if", "median_itl_ms > +5%", "--json")
    assert code == 1
    document = json.loads(out)
    assert [document["base"]["name"], document["candidates"][0]["name"]] == ["as built", "STANDIN_DELAY_MS=25"]
    assert document["candidates"][0]["changes"][3]["change_percent"] > 5
    assert len(document["base"]["runs"]) == 2
    assert "STANDIN_DELAY_MS=25: median_itl_ms > +5% holds" in err
    assert {path.suffix for path in (tmp_path / "out").iterdir()} == {".jsonl", ".log"}


@pytest.mark.engine
def test_bench_compares_two_images_with_one_recipe(bench: Callable[..., Any], standin: str, tmp_path: Path) -> None:
    other = f"{standin}-other"
    run(["docker", "tag", standin, other])
    argv = ["standin", "--ref", standin, "--ref", other, "--runs", "1", "--warmup", "0", "--out", str(tmp_path / "out")]
    code, out, _ = bench(*argv, "--json")
    run(["docker", "rmi", other])
    assert code == 0
    assert len(json.loads(out)["candidates"]) == 3


@pytest.mark.engine
def test_what_is_measured_is_the_image_that_was_proven_whatever_its_tag_names_by_then(
    bench: Callable[..., Any], standin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moving = f"{standin}-moving"
    run(["docker", "tag", standin, moving])
    image = run(["docker", "image", "inspect", "--format", "{{.Id}}", standin]).stdout.strip()

    def move_the_tag(pinset: PinSet, target: Target, ref: str) -> tuple[Mapping[str, Any], str]:
        proven = prove(pinset, target, ref)
        run(["docker", "tag", "debian:trixie-slim", moving])
        return proven

    monkeypatch.setattr(suite, "prove", move_the_tag)
    folder = tmp_path / "out"
    code, _, err = bench("standin", "--ref", moving, "--runs", "1", "--warmup", "0", "--out", str(folder))
    run(["docker", "rmi", moving])
    assert code == 0, err
    records = [json.loads(path.read_text())["imagepins"] for path in folder.glob("*.jsonl")]
    assert [(record["ref"], record["image_id"]) for record in records] == [(moving, image)] * 2


@pytest.mark.engine
@pytest.mark.parametrize("option", [("--fail-if", "p99_itl_ms > 40"), ("--svg", "plot.svg")])
def test_what_compares_is_refused_for_one_side_before_anything_runs(
    option: tuple[str, str], bench: Callable[..., Any], tmp_path: Path
) -> None:
    pins = tmp_path / "pins.yaml"
    pins.write_text(pins.read_text().replace('env_sets: [{}, {STANDIN_DELAY_MS: "25"}]', "env_sets: [{}]"))
    code, out, err = bench("standin", *option, "--out", str(tmp_path / "out"))
    assert (code, out) == (2, "")
    assert f"{option[0]} compares, and there is one side" in err
    assert not (tmp_path / "out").exists()


@pytest.mark.engine
def test_bench_tells_what_it_needs(bench: Callable[..., Any], tmp_path: Path) -> None:
    assert bench("standin", "--ref", "imagepins-test-nowhere:1")[0] == 3
    (tmp_path / "pins.yaml").write_text(RECIPE.partition("    bench:")[0])
    code, _, err = bench("standin")
    assert (code, "add 'bench:' to it" in err) == (2, True)
