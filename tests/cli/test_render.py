"""``tools/image render`` and ``schema`` as a user types them."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = """\
schema: 1
pins:
  torch: {pypi: torch, version: "2.12.0"}
images:
  app: {template: Dockerfile.j2, pins: [torch], variants: {a: {}, b: {}}}
"""


def image(repository: Path, *argv: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [repository / "tools/image", *argv], cwd=cwd, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pins.yaml").write_text(SOURCE)
    (tmp_path / "Dockerfile.j2").write_text("[[[ pin_args ]]]\nFROM scratch\n[[% include 'images/part' %]]\n")
    (tmp_path / "images").mkdir()
    (tmp_path / "images/part").write_text("# a part that is no template itself\n")
    return tmp_path


def test_render_writes_what_is_missing_and_then_nothing(repository: Path, project: Path) -> None:
    first = image(repository, "render", cwd=project)
    assert (first.returncode, first.stdout) == (0, "images/app/a/Dockerfile\nimages/app/b/Dockerfile\n")
    before = (project / "images/app/a/Dockerfile").stat().st_mtime_ns
    second = image(repository, "render", cwd=project)
    assert (second.returncode, second.stdout, second.stderr) == (0, "", "2 files, 0 written\n")
    assert (project / "images/app/a/Dockerfile").stat().st_mtime_ns == before


def test_render_of_one_variant_leaves_the_others(repository: Path, project: Path) -> None:
    assert image(repository, "render", "app/b", cwd=project).stdout == "images/app/b/Dockerfile\n"
    assert not (project / "images/app/a").exists()


def test_check_writes_nothing_and_shows_the_difference(repository: Path, project: Path) -> None:
    image(repository, "render", cwd=project)
    (project / "pins.yaml").write_text(SOURCE.replace("2.12.0", "2.13.0"))
    before = (project / "images/app/a/Dockerfile").read_text()
    checked = image(repository, "render", "--check", cwd=project)
    assert checked.returncode == 1
    assert "-ARG TORCH_VERSION=2.12.0\n+ARG TORCH_VERSION=2.13.0\n" in checked.stdout
    assert checked.stderr == "2 files, 2 stale; 'tools/image render' writes them\n"
    assert (project / "images/app/a/Dockerfile").read_text() == before


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("pins.yaml", SOURCE.replace("2.12.0", "2.13.0")),
        ("Dockerfile.j2", "[[[ pin_args ]]]\nFROM debian\n"),
        ("images/app/a/Dockerfile", "FROM scratch\n"),
        ("images/app/a/Dockerfile", None),
        ("images/part", "changed\n"),
        ("images/old/a/Dockerfile", "FROM scratch\n"),
        ("pins.yaml", SOURCE.replace("b: {}", "b: {}, c: {}")),
    ],
)
def test_check_that_passed_before_sees_every_change(
    repository: Path, project: Path, path: str, content: str | None
) -> None:
    image(repository, "render", cwd=project)
    assert [image(repository, "render", "--check", cwd=project).returncode for _ in range(2)] == [0, 0]
    (project / path).parent.mkdir(parents=True, exist_ok=True)
    (project / path).unlink(missing_ok=True)
    if content is not None:
        (project / path).write_text(content)
    assert image(repository, "render", "--check", cwd=project).returncode == 1


def test_check_works_without_a_writable_cache(repository: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    image(repository, "render", cwd=project)
    assert [image(repository, "render", "--check", cwd=project).returncode for _ in range(2)] == [0, 0]


def test_check_names_a_rendered_file_that_belongs_to_no_image(repository: Path, project: Path) -> None:
    image(repository, "render", cwd=project)
    shutil.copytree(project / "images/app/a", project / "images/old/a")
    checked = image(repository, "render", "--check", cwd=project)
    assert (checked.returncode, checked.stdout) == (
        1,
        "images/old/a/Dockerfile: no image of pins.yaml renders to it; remove it\n",
    )


def test_output_that_is_a_directory_is_told(repository: Path, project: Path) -> None:
    (project / "images/app/a/Dockerfile").mkdir(parents=True)
    checked = image(repository, "render", "--check", cwd=project)
    assert (checked.returncode, checked.stderr) == (
        2,
        "image: images/app/a/Dockerfile: cannot be read: Is a directory; it is to be a rendered file\n",
    )
    assert "Traceback" not in image(repository, "render", cwd=project).stderr


@pytest.mark.parametrize(
    ("argv", "code", "message"),
    [
        (("render", "ap"), 2, "image: pins.yaml: no image 'ap'; did you mean 'app'?"),
        (("render", "--pins", "gone.yaml"), 2, "gone.yaml: cannot be read: No such file or directory"),
        (("rendr",), 2, "No such command 'rendr'"),
        (("render", "--chek"), 2, "Did you mean one of: '--check'"),
    ],
)
def test_wrong_command_line_is_told_with_the_nearest_name(
    repository: Path, project: Path, argv: tuple[str, ...], code: int, message: str
) -> None:
    done = image(repository, *argv, cwd=project)
    assert (done.returncode, done.stdout) == (code, "")
    assert message in done.stderr


def test_pins_of_a_parent_directory_are_found(repository: Path, project: Path) -> None:
    (project / "deep/er").mkdir(parents=True)
    assert image(repository, "render", cwd=project / "deep/er").returncode == 0
    assert (project / "images/app/a/Dockerfile").exists()


def test_schema_is_json(repository: Path, project: Path) -> None:
    document = json.loads(image(repository, "schema", cwd=project).stdout)
    assert document["properties"]["pins"]["propertyNames"]


def test_closed_stdout_is_no_traceback(repository: Path, project: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", f"{repository}/tools/image schema | true"], cwd=project, capture_output=True, text=True, check=True
    )
    assert "Traceback" not in done.stderr


def test_reference_in_the_docs_is_made_from_the_schema(repository: Path, project: Path) -> None:
    reference = image(repository, "schema", "--markdown", cwd=project).stdout
    assert (repository / "docs/pins.md").read_text().endswith("--markdown -->\n" + reference)
