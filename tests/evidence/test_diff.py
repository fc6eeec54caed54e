import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from copying import Copy
from imagepins.cli import run_command
from imagepins.cli.diff import diff as diff_command
from imagepins.errors import RefError
from imagepins.evidence.images import looking, snapshot
from imagepins.evidence.images.difference import Difference, difference
from imagepins.evidence.images.looking import list_contents
from imagepins.evidence.images.report import difference_markdown
from imagepins.evidence.images.snapshot import Snapshot, Step, Wanted, from_document, step_text
from imagepins.pins.load import loads
from imagepins.process import run
from imagepins.registry import images as registry_images
from imagepins.registry.answers import Absent, Unknown
from imagepins.verify.observed import read
from naming import own_name, remove_images
from servers import serve_registry

Run = Callable[..., Any]
REPOSITORY = own_name("diff")
PINS = """\
schema: 1
pins: {debian: {image: debian, tag: trixie-slim, allow_tag: a test}}
images:
  small:
    template: Dockerfile.j2
    pins: [debian]
    python: /usr/bin/python3
    variants: {default: {}}
"""


def rows(found: Difference, title: str) -> list[tuple[str, str | None, str | None]]:
    return list(next(section.rows for section in found.sections if section.title == title))


def test_pins_environment_labels_and_packages_are_compared_by_name() -> None:
    base = Snapshot(
        name="a", env={"A": "1", "B": "2"}, apt={"x": "1"}, pip={}, pins={"rccl": {"id": "aa", "version": "2"}}
    )
    other = Snapshot(name="b", env={"A": "1", "B": "3"}, apt={"x": "2"}, pip={"p": "1"}, pins={"rccl": {"id": "bb"}})
    found = difference(base, other)
    assert rows(found, "environment") == [("B", "2", "3")]
    assert rows(found, "apt packages") == [("x", "1", "2")]
    assert rows(found, "Python packages") == [("p", None, "1")]
    assert rows(found, "pins") == [("rccl", "aa 2", "bb")]


def test_what_one_side_does_not_know_is_not_called_a_difference() -> None:
    found = difference(Snapshot(name="a", apt={"x": "1"}), Snapshot(name="b"))
    assert found.is_empty
    assert "apt packages: known of one image only" in difference_markdown(found)


def test_layers_are_compared_by_step_and_add_up() -> None:
    base = Snapshot(name="a", steps=(Step("RUN x", 1_000_000), Step("RUN y", 5), Step("ENV A=1", 0)))
    other = Snapshot(name="b", steps=(Step("RUN x", 3_500_000), Step("RUN y", 5), Step("RUN y", 7)))
    assert rows(difference(base, other), "layers") == [
        ("RUN x", "1.0 MB", "3.5 MB"),
        ("RUN y (again)", None, "7 B"),
        ("total", "1.0 MB", "3.5 MB"),
    ]


def test_compressed_layers_are_not_measured_against_unpacked_ones() -> None:
    base = Snapshot(name="a", steps=(Step("RUN x", 10),))
    other = Snapshot(name="b", steps=(Step("RUN x", 4), Step("RUN z", 4)), is_compressed=True)
    assert rows(difference(base, other), "layers") == [("RUN z", None, "there")]


@pytest.mark.parametrize(
    ("created_by", "step"),
    [
        ("RUN /bin/sh -c apt-get update # buildkit", "RUN apt-get update"),
        ("RUN |2 A=1 B=2 /bin/sh -c make # buildkit", "RUN make"),
        ("/bin/sh -c #(nop)  ENV A=1", "ENV A=1"),
        ("/bin/sh -c make", "RUN make"),
        ("|1 A=1 /bin/sh -c make", "RUN make"),
        ("COPY file /srv/file # buildkit", "COPY file /srv/file"),
        ('CMD ["/bin/sh" "-c" "/bin/sh -c x"]', 'CMD ["/bin/sh" "-c" "/bin/sh -c x"]'),
        ("", "(imported)"),
    ],
)
def test_a_step_is_told_as_its_dockerfile_has_it(created_by: str, step: str) -> None:
    assert step_text(created_by) == step


FILE = ("0o100644", "0:0", 4, 1000, "")


@pytest.mark.parametrize(
    ("path", "one", "two", "plain", "semantic"),
    [
        ("/a", FILE, (*FILE[:3], 2000, ""), True, False),
        ("/a", (*FILE, "aa"), (*FILE, "bb"), True, True),
        ("/a", FILE, ("0o100755", *FILE[1:]), True, True),
        ("/a", FILE, None, True, True),
        ("/x/__pycache__/m.cpython-311.pyc", FILE, None, True, False),
        ("/x/m.pyc", FILE, (*FILE[:2], 5, 1000, ""), True, False),
        ("/var/log/apt/history.log", FILE, None, True, False),
        ("/usr/lib/l.so", ("0o120777", "0:0", 0, 1, "l.so.1"), ("0o120777", "0:0", 0, 1, "l.so.2"), True, True),
        ("/folder", ("0o40755", "0:0", 0, 1, ""), ("0o40755", "0:0", 0, 2, ""), False, False),
    ],
)
def test_files_differ_by_what_matters(path: str, one: Any, two: Any, *, plain: bool, semantic: bool) -> None:
    base = Snapshot(name="a", files={path: one})
    other = Snapshot(name="b", files={path: two} if two else {})
    assert difference(base, other).is_empty != plain
    assert difference(base, other, semantic=True).is_empty != semantic


def test_labels_that_only_say_when_are_left_out_with_semantic() -> None:
    base = Snapshot(name="a", labels={"org.opencontainers.image.created": "1", "org.imagepins.pins-hash": "1"})
    other = Snapshot(name="b", labels={"org.opencontainers.image.created": "2", "org.imagepins.pins-hash": "2"})
    assert rows(difference(base, other), "labels") == [("org.opencontainers.image.created", "1", "2")]
    assert difference(base, other, semantic=True).is_empty


@pytest.mark.parametrize("label", ["", "[]", "{", '{"a": 1}', '{"a": {"id": "x"}}'])
def test_pins_in_a_label_that_cannot_be_read_are_not_known(label: str) -> None:
    pins = '{"a": {"kind": "url", "id": "x"}}'
    head = {"format": "imagepins-observed", "version": 1}
    images = [{**head, "image": {"labels": {"org.imagepins.pins": text}}} for text in (label, pins)]
    base, other = (from_document("a", read(image), loads(PINS), Wanted()) for image in images)
    text = difference_markdown(difference(base, other))
    assert "pins: known of one image only" in text
    assert "pins of a are not known: label org.imagepins.pins: " in text


def test_long_sections_are_cut_in_markdown_and_names_cannot_inject_markup() -> None:
    files: dict[str, Any] = {f"/f{number:03}": FILE for number in range(100)}
    files["/<img>|@octocat"] = FILE
    text = difference_markdown(difference(Snapshot(name="a", files={}), Snapshot(name="b", files=files)))
    assert "and 61 more" in text
    assert "@octocat" not in text


@pytest.fixture
def diff(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """``tools/image diff ARGS...`` with a small pins.yaml."""
    (tmp_path / "pins.yaml").write_text(PINS)

    def one(*argv: str) -> tuple[int, str, str]:
        code = run_command(diff_command, [*argv, "--pins", str(tmp_path / "pins.yaml")], name="diff")
        out, err = capsys.readouterr()
        return code, out, err

    return one


@pytest.fixture(scope="session", autouse=True)
def _no_images_left() -> Iterator[None]:
    """What the tests of this file built goes with them."""
    yield
    if shutil.which("docker"):
        remove_images(REPOSITORY)


@pytest.fixture(scope="session")
def images(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Two images of one Dockerfile that differ in a file, a label and ENV; neither has python."""
    folder = tmp_path_factory.mktemp("images")
    (folder / "file").write_text("content\n")
    base = "FROM debian:trixie-slim\nCOPY file /srv/file\n"
    other = "FROM debian:trixie-slim\nCOPY --chmod=600 file /srv/file\nENV MODE=other\nLABEL who=other\n"
    refs = (f"{REPOSITORY}:base", f"{REPOSITORY}:other")
    for ref, text in zip(refs, (base, other), strict=True):
        (folder / "Dockerfile").write_text(text)
        run(["docker", "buildx", "build", "--load", "--quiet", "--tag", ref, str(folder)], timeout=400)
    return refs


@pytest.mark.engine
def test_images_without_python_are_compared_as_far_as_the_engine_tells(diff: Run, images: tuple[str, str]) -> None:
    code, out, _ = diff(*images)
    assert code == 0
    assert "| `MODE`" in out
    assert "| `who`" in out
    assert f"packages and files are not compared: python3 is not in {REPOSITORY}:base" in out
    assert "files: known of neither image" in out


@pytest.mark.engine
def test_exit_code_is_asked_for(diff: Run, images: tuple[str, str]) -> None:
    assert diff(*images, "--exit-code")[0] == 1
    assert diff(images[0], images[0], "--exit-code")[0] == 0


@pytest.mark.engine
def test_json_lists_every_section(diff: Run, images: tuple[str, str]) -> None:
    document = json.loads(diff(*images, "--json")[1])
    titles = [section["title"] for section in document["sections"]]
    assert titles[:4] == ["platform", "pins", "versions and gates found", "environment"]
    assert document["differs"] is True


@pytest.mark.engine
def test_an_image_that_is_nowhere_is_told(diff: Run, images: tuple[str, str]) -> None:
    code, out, err = diff(images[0], "localhost:1/nothing:1")
    assert (code, out) == (4, "")
    assert "localhost:1/nothing:1: no such image here" in err


def test_saved_documents_are_compared_without_an_engine(
    diff: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    paths = []
    for name, version in (("old", "2.13.4"), ("new", "2.14.0")):
        library = {"family": "librccl.so", "path": "/usr/lib/librccl.so.1", "literals": {"version": [version]}}
        document = {"format": "imagepins-observed", "version": 1, "image": {"ref": name}, "libraries": [library]}
        document["packages"] = [{"name": "librccl1", "version": version}]
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
        paths.append(str(tmp_path / f"{name}.json"))
    code, out, _ = diff(*paths)
    assert code == 0
    assert re.search(r"`librccl1` +\| 2.13.4 +\| 2.14.0", out)
    assert re.search(r"`/usr/lib/librccl.so.1` +\| 2.13.4, 0 B +\| 2.14.0, 0 B", out)


@pytest.mark.parametrize(
    "text", ["", "[]", "[" * 100_000, '{"format": "other"}'], ids=["empty", "list", "deep", "other"]
)
def test_a_file_that_is_no_saved_document_is_refused(text: str, diff: Run, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(text)
    code, out, err = diff(str(tmp_path / "x.json"), str(tmp_path / "x.json"))
    assert (code, out) == (2, "")
    assert "x.json" in err


@pytest.mark.engine
def test_one_image_is_compared_also_where_its_tag_moves_meanwhile(
    diff: Run, images: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    base, other = images
    moving = f"{base}-moving"
    run(["docker", "tag", base, moving])

    def move_the_tag(ref: str, **how: Any) -> Any:
        run(["docker", "tag", other, moving])
        return list_contents(ref, **how)

    listed: list[str] = []
    monkeypatch.setattr(snapshot, "list_contents", move_the_tag)
    monkeypatch.setattr(looking, "run_once", lambda setup, **_: listed.append(setup.image))
    out = diff(moving, moving)[1]
    assert listed == [image_id(base), image_id(other)]
    assert f"{moving}: python3: no end after" in out


def image_id(ref: str) -> str:
    return run(["docker", "image", "inspect", "--format", "{{.Id}}", ref]).stdout.strip()


@pytest.mark.engine
def test_a_bare_name_is_an_image_also_where_a_file_has_it(
    diff: Run, images: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = images[0].partition(":")[0]
    run(["docker", "tag", images[0], f"{name}:latest"])
    (tmp_path / name).write_text("something else")
    assert diff(name, images[1])[0] == 0
    assert "is no JSON" in diff(f"./{name}", images[1])[2]


@pytest.mark.parametrize("answer", [Absent("no such tag"), Unknown("no answer")], ids=["absent", "unknown"])
def test_a_file_that_was_taken_for_an_image_is_told(
    answer: Absent | Unknown, diff: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "saved").write_text("{}")
    monkeypatch.setattr(snapshot, "_inspect", lambda ref: RefError(f"{ref}: no such image here"))
    monkeypatch.setattr(registry_images, "read_config", lambda *_: answer)
    assert "the file of that name here is ./saved" in diff("saved", "saved")[2]


def test_a_document_that_is_not_there_is_told_as_one(diff: Run) -> None:
    code, _, err = diff("nowhere.json", "nowhere.json")
    assert (code, "nowhere.json: No such file or directory" in err) == (2, True)


@pytest.mark.engine
def test_an_interpreter_that_prints_something_else_is_told(diff: Run, tmp_path: Path) -> None:
    ref = f"{REPOSITORY}:odd"
    (tmp_path / "python3").write_text("#!/bin/sh\necho hello\n")
    (tmp_path / "Dockerfile").write_text("FROM debian:trixie-slim\nCOPY --chmod=755 python3 /usr/bin/python3\n")
    run(["docker", "buildx", "build", "--load", "--quiet", "--tag", ref, str(tmp_path)], timeout=400)
    assert "printed something else than what it was asked for" in diff(ref, ref)[1]


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """``127.0.0.1:PORT`` of a registry of the tests' own."""
    with serve_registry(tmp_path_factory.mktemp("registry")) as address:
        yield address


@pytest.mark.engine
def test_an_image_of_a_registry_is_compared_without_a_pull(diff: Run, images: tuple[str, str], registry: str) -> None:
    ref = f"{registry}/diff/other:1"
    run(["docker", "tag", images[1], ref])
    run(["docker", "push", "--quiet", ref], timeout=400)
    run(["docker", "rmi", ref])
    code, out, _ = diff(images[0], ref)
    assert code == 0
    assert re.search(r"`MODE` +\| - +\| other", out)
    assert f"{ref} is only in its registry" in out
    assert run(["docker", "image", "inspect", ref], check=False).code != 0
    sizes = json.loads(diff(ref, ref, "--json")[1])
    assert sizes["differs"] is False
    assert [section["compared"] for section in sizes["sections"] if section["title"] == "layers"] == [True]


@pytest.mark.engine
def test_real_images_are_compared_by_what_they_hold(
    debian_rocm: Copy, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = f"{REPOSITORY}:rocm"
    (tmp_path / "METADATA").write_text("Metadata-Version: 2.1\nName: Extra\nVersion: 0.3\n")
    (tmp_path / "m.pyc").write_text("x")
    hip = "/usr/lib/x86_64-linux-gnu/libamdhip64.so.5"
    lines = [f"FROM {debian_rocm.ref}", "COPY METADATA /usr/lib/python3/dist-packages/extra-0.3.dist-info/METADATA"]
    lines += [
        "COPY m.pyc /srv/__pycache__/m.pyc",
        f"COPY --from={debian_rocm.ref} {hip} /srv/libamdhip64.so.9",
        "ENV MODE=other",
    ]
    (tmp_path / "Dockerfile").write_text("\n".join(lines) + "\n")
    run(["docker", "buildx", "build", "--load", "--quiet", "--tag", other, str(tmp_path)], timeout=400)
    argv = [debian_rocm.ref, other, "--pins", str(debian_rocm.pins), "--json"]
    for semantic in (False, True):
        assert run_command(diff_command, [*argv, *(["--semantic"] if semantic else [])], name="diff") == 0
        document = json.loads(capsys.readouterr().out)
        found = {each["title"]: [row["name"] for row in each["rows"]] for each in document["sections"]}
        assert all(each["compared"] for each in document["sections"])
        assert found["environment"] == ["MODE"]
        assert found["Python packages"] == ["extra"]
        assert found["libraries"] == ["/srv/libamdhip64.so.9"]
        assert found["apt packages"] == found["pins"] == []
        assert "/srv/libamdhip64.so.9" in found["files"]
        assert ("/srv/__pycache__/m.pyc" in found["files"]) is not semantic
