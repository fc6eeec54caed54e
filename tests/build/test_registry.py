"""A registry as the only thing machines share: pushed by one, found by others; failures never pass as absence."""

import json
import subprocess
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

import pytest

from naming import images_named, remove_images

if TYPE_CHECKING:
    from tests.build.conftest import Faulty, Project

pytestmark = pytest.mark.engine

Docker = Callable[..., str]


@pytest.fixture
def pair(project: "Project") -> "Project":
    """``high`` built from ``low``."""
    project.write({"low": "FROM scratch\nCOPY f /low\n", "high": "FROM @low@\nCOPY f /high\n"})
    project.file("low", "f", "low\n")
    project.file("high", "f", "high\n")
    return project


@pytest.fixture
def single(project: "Project") -> "Project":
    """One image of one file."""
    project.write({"app": "FROM scratch\nCOPY f /f\n"})
    project.file("app", "f", "x\n")
    return project


def push(project: "Project", registry: str, *args: str) -> dict[str, Any]:
    """Rows of a build that is pushed, by short name."""
    ran = project.run("build", "--push", "--registry", f"{registry}/team", "--json", *args)
    assert ran.code == 0, ran.err
    return {row["target"].removeprefix(f"{project.prefix}-").removesuffix("/v"): row for row in json.loads(ran.out)}


def manifest(registry: str, repository: str, reference: str) -> tuple[str, dict[str, Any]]:
    """Digest and document of a manifest."""
    types = "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json"
    headers = {"Accept": f"{types}, application/vnd.docker.distribution.manifest.v2+json"}
    url = f"http://{registry}/v2/team/{repository}/manifests/{reference}"
    with urlopen(Request(url, headers=headers), timeout=120) as answer:
        return answer.headers["Docker-Content-Digest"], json.load(answer)


def test_a_push_puts_tag_and_content_tag_there_and_the_digest_is_the_registrys(
    single: "Project", registry: str
) -> None:
    row = push(single, registry)["app"]
    name = f"{single.prefix}-app"
    assert row["ref"] == f"{registry}/team/{name}:content-{row['content'][:24]}"
    for reference in ("v", row["ref"].rpartition(":")[2]):
        assert manifest(registry, name, reference)[0] == row["digest"]


def test_what_the_registry_holds_is_neither_built_nor_pulled(pair: "Project", registry: str, docker: Docker) -> None:
    push(pair, registry)
    remove_images(f"{pair.prefix}-*")
    calls = pair.log_docker()
    ran = pair.run("build", "--registry", f"{registry}/team")
    assert set(ran.rows.values()) == {"present"}
    assert all(line.startswith("image inspect") for line in calls.read_text().splitlines())
    assert images_named(f"{pair.prefix}-*") == []
    assert {row["state"] for row in push(pair, registry).values()} == {"present"}


def test_a_tag_that_was_moved_away_is_moved_back_without_a_build(single: "Project", registry: str) -> None:
    first = push(single, registry)["app"]
    single.file("app", "f", "y\n")
    assert push(single, registry)["app"]["digest"] != first["digest"]
    single.file("app", "f", "x\n")
    assert push(single, registry)["app"]["state"] == "present"
    assert manifest(registry, f"{single.prefix}-app", "v")[0] == first["digest"]


def test_a_pushed_child_is_built_from_its_parents_digest(pair: "Project", registry: str) -> None:
    rows = push(pair, registry)
    bake = json.loads((pair.root / f"build/work/{pair.prefix}-high-v/bake.json").read_text())
    (context,) = bake["target"][f"{pair.prefix}-high-v"]["contexts"].values()
    assert context == f"docker-image://{rows['low']['ref']}@{rows['low']['digest']}"


def test_a_second_engine_finds_what_the_first_pushed_and_builds_the_child_on_it(
    pair: "Project", registry: str, second_engine: str
) -> None:
    low = push(pair, registry, f"{pair.prefix}-low")["low"]
    pair.env["DOCKER_HOST"] = second_engine
    rows = push(pair, registry)
    assert (rows["low"]["state"], rows["high"]["state"]) == ("present", "built")
    layers = [manifest(registry, f"{pair.prefix}-{name}", "v")[1]["layers"] for name in ("low", "high")]
    assert [layer["digest"] for layer in layers[1]][:1] == [layer["digest"] for layer in layers[0]]
    assert low["digest"] == manifest(registry, f"{pair.prefix}-low", "v")[0]
    del pair.env["DOCKER_HOST"]
    assert push(pair, registry)["high"]["state"] == "present"


def test_another_context_is_a_builder_whose_work_the_registry_brings_here(
    pair: "Project", registry: str, second_engine: str, docker: Docker
) -> None:
    pair.env["DOCKER_CONFIG"] = str(pair.root / "docker-config")
    docker("context", "create", "second", "--docker", f"host={second_engine}", env=pair.env)
    refused = pair.run("build", "--builder", "second")
    assert refused.code == 2
    assert "DOCKER_CONTEXT=second" in refused.err
    assert {row["state"] for row in push(pair, registry, "--builder", "second").values()} == {"built"}
    assert images_named(f"{pair.prefix}-*") == []
    assert pair.run("build", "--registry", f"{registry}/team", "--load").code == 0
    assert set(pair.run("build").rows.values()) == {"present"}


def test_load_brings_images_whose_tags_name_their_registry(single: "Project", registry: str, docker: Docker) -> None:
    text = (single.root / "pins.yaml").read_text()
    tag = f"{registry}/team/{single.prefix}-app:v"
    (single.root / "pins.yaml").write_text(text.replace("template: app.j2", f"template: app.j2\n    tags: ['{tag}']"))
    assert single.run("build").rows == {single.name("app"): "built"}
    single.file("app", "f", "newer\n")
    for state in ("built", "present"):
        ran = single.run("build", "--push", "--load", "--json")
        (row,) = json.loads(ran.out)
        assert (ran.code, row["state"]) == (0, state)
        content = docker("image", "inspect", "--format", '{{index .Config.Labels "org.imagepins.content-hash"}}', tag)
        assert content == row["content"]
        assert docker("image", "inspect", "--format", "{{.Id}}", row["ref"]) == row["digest"]
        docker("image", "rm", tag)


def test_load_brings_what_another_machine_pushed_under_its_own_tags(
    single: "Project", registry: str, second_engine: str, docker: Docker
) -> None:
    digest = push(single, registry)["app"]["digest"]
    single.env["DOCKER_HOST"] = second_engine
    assert single.run("build", "--registry", f"{registry}/team", "--load").code == 0
    identity = docker("image", "inspect", "--format", "{{.Id}}", single.tag("app"), env={"DOCKER_HOST": second_engine})
    assert identity == digest
    assert "<none>" not in docker(
        "image", "ls", f"{registry}/team/{single.prefix}-app", env={"DOCKER_HOST": second_engine}
    )
    assert single.run("build").rows == {single.name("app"): "present"}


def test_an_attestation_is_attached_and_never_taken_for_a_platform(single: "Project", registry: str) -> None:
    row = push(single, registry, "--provenance")["app"]
    digest, document = manifest(registry, f"{single.prefix}-app", "v")
    assert digest == row["digest"]
    platforms = [each["platform"]["architecture"] for each in document["manifests"]]
    assert platforms == ["amd64", "unknown"]
    plan = single.plan("--registry", f"{registry}/team")["app"]
    assert plan["registry"] == "present"


def test_layers_are_kept_in_and_taken_from_a_cache_that_may_fail(single: "Project", registry: str) -> None:
    push(single, registry, "--cache", f"{registry}/cache")
    with urlopen(f"http://{registry}/v2/cache/{single.prefix}-app/tags/list", timeout=120) as answer:
        assert json.load(answer)["tags"] == ["cache-v"]
    single.file("app", "f", "z\n")
    assert push(single, registry, "--cache", "127.0.0.1:1/cache")["app"]["state"] == "built"


@pytest.mark.parametrize("said", ["0", "1"])
def test_a_cache_is_left_as_it_is_where_that_is_asked_for(single: "Project", registry: str, said: str) -> None:
    single.env |= {"IMAGEPINS_CACHE": f"{registry}/kept-{said}", "IMAGEPINS_CACHE_READ_ONLY": said}
    assert push(single, registry)["app"]["state"] == "built"
    with urlopen(f"http://{registry}/v2/_catalog", timeout=120) as answer:
        repositories = json.load(answer)["repositories"]
    assert (f"kept-{said}/{single.prefix}-app" in repositories) is (said == "0")


@pytest.mark.parametrize("fault", [429, 500, 503, "close", "slow"])
def test_a_registry_that_recovers_in_time_is_asked_again(single: "Project", faulty: "Faulty", fault: int | str) -> None:
    push(single, faulty.address)
    faulty.plan = [fault]
    faulty.seen.clear()
    assert push(single, faulty.address)["app"]["state"] == "present"
    assert not faulty.plan


@pytest.mark.parametrize("status", [401, 403, 429, 500])
def test_an_open_answer_stops_the_build_and_is_never_taken_for_absence(
    single: "Project", faulty: "Faulty", status: int
) -> None:
    faulty.plan = [status] * 50
    for extra in (["--push"], []):
        ran = single.run("build", "--registry", faulty.address, *extra)
        assert ran.code == 4
        assert "nothing is built and nothing skipped" in ran.err
        assert ran.out == ""
    assert not any(line.startswith(("PUT", "POST", "PATCH")) for line in faulty.seen)
    assert not (single.root / "build").exists()
    assert single.plan("--registry", faulty.address)["app"]["registry"].startswith("unknown")
    assert single.run("matrix", "--registry", faulty.address).code == 4


def test_a_registry_that_is_not_there_is_an_open_answer(single: "Project") -> None:
    ran = single.run("build", "--registry", "127.0.0.1:1/team")
    assert ran.code == 4


def test_a_push_that_dies_is_tried_again_with_its_reason(single: "Project", faulty: "Faulty") -> None:
    faulty.plan = ["close"] * 8
    faulty.matching = "PUT /v2/"
    ran = single.run("build", "--push", "--registry", faulty.address)
    assert ran.code == 0, ran.err
    assert ran.rows == {single.name("app"): "built"}
    assert "; again in " in ran.err


def test_a_push_to_nowhere_is_refused_before_the_build(single: "Project") -> None:
    ran = single.run("build", "--push")
    assert ran.code == 2
    assert "--registry HOST/PATH" in ran.err


@pytest.mark.parametrize("value", ["https://ghcr.io/team", "team", "user:pw@host:5000/x"])
def test_what_is_no_registry_is_refused(single: "Project", value: str) -> None:
    ran = single.run("build", "--registry", value)
    assert ran.code == 2
    assert "expected HOST[:PORT][/PATH]" in ran.err


def test_a_matrix_lists_what_the_registry_lacks_and_what_changed(pair: "Project", registry: str) -> None:
    for argv in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run(["git", *argv], cwd=pair.root, check=True)
    place = ["--registry", f"{registry}/team"]

    def listed(*args: str) -> list[str]:
        found = json.loads(pair.run("matrix", *args).out)["include"]
        return [entry["image"].removeprefix(f"{pair.prefix}-") for entry in found]

    assert listed() == ["low", "high"]
    assert listed("--since", "HEAD") == []
    assert pair.run("matrix", "--since", "").code == 3
    assert listed(*place) == ["low", "high"]
    push(pair, registry, f"{pair.prefix}-low")
    assert listed(*place) == ["high"]
    assert listed("--since", "HEAD", *place) == ["high"]
    push(pair, registry)
    assert listed(*place) == []
    pair.file("high", "f", "edited\n")
    assert listed("--since", "HEAD") == ["high"]
    assert listed("--since", "HEAD", *place) == ["high"]


@pytest.fixture
def incomplete(project: "Project") -> "Project":
    """``low`` has a pin whose commit is not known, ``high`` is built on it, ``other`` is not."""
    pins = '  tool: {git: "https://example.org/t.git", track: {branch: main}}\n'
    project.write(
        {
            "low": "FROM scratch\nARG TOOL_COMMIT\n",
            "high": "FROM @low@\nRUN true\n",
            "other": "FROM scratch\nENV A=1\n",
        },
        pins=pins,
    )
    return project


def test_a_matrix_leaves_out_what_cannot_be_built_and_says_so(incomplete: "Project") -> None:
    ran = incomplete.run("matrix")
    assert [entry["name"] for entry in json.loads(ran.out)["include"]] == [incomplete.name("other")]
    for name in ("low", "high"):
        assert f"{incomplete.name(name)} is left out: tool not known yet, see tools/bump_pin" in ran.err


def test_a_plan_does_not_count_what_cannot_be_built(incomplete: "Project") -> None:
    rows = incomplete.plan()
    built = {name: (row["build"], row["incomplete"]) for name, row in rows.items()}
    assert built == {"low": (False, ["tool"]), "high": (False, ["tool"]), "other": (True, [])}
    last = incomplete.run("plan").out.splitlines()[-1]
    assert last == "1 of 3 targets to build, 2 of 3 cannot be built until tools/bump_pin has found tool"


def test_plan_explains_with_the_labels_in_the_registry(single: "Project", registry: str, second_engine: str) -> None:
    push(single, registry)
    single.file("app", "f", "other\n")
    single.env["DOCKER_HOST"] = second_engine
    row = single.plan("--explain", "--registry", f"{registry}/team")["app"]
    assert row["build"]
    assert [line.partition(":")[0] for line in row["moved"]] == ["file f"]
