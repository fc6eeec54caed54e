"""The small parts of a build: failure places, secrets, labels, room, state, linked parents."""

import json
import os
import shutil
import stat
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from imagepins.build import builder, disk, one
from imagepins.build.builder import Builder, check_builder
from imagepins.build.choose import Found
from imagepins.build.display import PlainDisplay, shorten
from imagepins.build.labels import Source, read_source
from imagepins.build.local import Local
from imagepins.build.one import Settings
from imagepins.build.options import Job
from imagepins.build.run import Run
from imagepins.build.secrets import build_secrets, ca_bundle, git_config
from imagepins.build.session import only_session
from imagepins.build.state import LastBuild, read_state, write_state
from imagepins.build.workspace import Workspace
from imagepins.cli.plan import load_nodes
from imagepins.errors import BuildFailed, EngineError, UsageError
from imagepins.plan.destination import Destination
from imagepins.plan.graph import Node

if TYPE_CHECKING:
    from tests.build.conftest import Project


@pytest.mark.engine
def test_a_builder_that_sees_no_local_images_makes_the_parent_from_its_own_cache(project: "Project") -> None:
    project.write({"low": "FROM scratch\nCOPY f /low\n", "high": "FROM @low@\nCOPY f /high\n"})
    for name in ("low", "high"):
        project.file(name, "f", name)
    pinset, nodes, _ = load_nodes(project.root / "pins.yaml", ())
    settings = Settings(
        workspace=Workspace(project.root / "build"),
        source=Source("", "", 0),
        builder=Builder("", "docker-container"),
        secrets={},
    )
    job = Job(pinset=pinset, root=project.root, nodes=nodes, todo=nodes[1:], found=Found(Local({})))
    outcome = Run(job, settings, PlainDisplay()).work(nodes[1], Event())
    assert outcome.cause is None, outcome.events.final_error
    bake = (project.root / f"build/work/{nodes[1].slug}/bake.json").read_text()
    assert f'"{project.tag("low")}": "target:{nodes[0].slug}"' in bake


def test_modes_and_times_of_a_context_depend_on_no_umask_and_no_clock(project: "Project") -> None:
    project.write({"app": "FROM scratch\nCOPY dir /dir\n"})
    project.file("app", "dir/sub/f", "f")
    _, (node,), _ = load_nodes(project.root / "pins.yaml", ())
    space = Workspace(project.root / "build")
    before = os.umask(0o077)
    try:
        space.write(node, (node,), epoch=1234)
    finally:
        os.umask(before)
    context = space.context(node, node)
    found = {path.relative_to(context).as_posix(): path.stat() for path in (context, *context.rglob("*"))}
    modes = {name: (stat.S_IMODE(status.st_mode), status.st_mtime) for name, status in found.items()}
    folder = (0o755, 1234.0)
    assert modes == {".": folder, "dir": folder, "dir/sub": folder, "dir/sub/f": (0o644, 1234.0)}


def test_a_file_that_changes_after_it_was_hashed_stops_the_build(project: "Project") -> None:
    project.write({"app": "FROM scratch\nCOPY f /f\n"})
    project.file("app", "f", "before")
    _, (node,), _ = load_nodes(project.root / "pins.yaml", ())
    project.file("app", "f", "behind")
    with pytest.raises(BuildFailed, match="context/f changed after the build began; start it again"):
        Workspace(project.root / "build").write(node, (node,), epoch=0)


@pytest.mark.engine
def test_named_links_are_built_with_what_they_lead_to(project: "Project") -> None:
    lines = "COPY link /one/\nCOPY l*k /two/\nCOPY way/d /three/\nCOPY way /four/\nCOPY dir /five/\n"
    check = "RUN cat /one/link /two/link /three/d /four/d && test -h /five/up\n"
    project.write({"app": f"FROM debian:trixie-slim\n{lines}{check}"})
    for name in ("a", "dir/sub/d"):
        project.file("app", name, project.prefix)
    context = project.root / f"images/{project.prefix}-app/context"
    for name, target in (("link", "hop"), ("hop", "/a"), ("way", "/dir/sub"), ("dir/up", "../a")):
        (context / name).symlink_to(target)
    ran = project.run("build")
    assert ran.code == 0, ran.err
    assert {"file a", "file hop", "file link", "file way"} <= project.plan()["app"]["inputs"].keys()


def test_a_builder_that_never_answers_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "docker"
    fake.write_text("#!/bin/sh\nexec sleep 100000\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(builder, "CHECK_SECONDS", 0.3)
    monkeypatch.setattr(builder, "require_engine", lambda: None)
    with pytest.raises(EngineError, match=r"slow: no end after 0\.3 s; choose another with --builder"):
        check_builder("slow")


def test_a_builder_that_does_not_run_is_told_with_its_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "docker"
    fake.write_text(
        "#!/bin/sh\nprintf 'Name:   x\\nDriver: kubernetes\\n\\nNodes:\\nStatus: stopped\\nError: no pods\\n'\n"
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(builder, "require_engine", lambda: None)
    with pytest.raises(EngineError, match="x is not running: no pods"):
        check_builder("x")


@pytest.mark.parametrize(
    "said",
    [
        "docker: 'buildx' is not a docker command.",
        "unknown flag: --bootstrap",
        "docker: unknown command: docker buildx",
    ],
)
def test_a_client_without_buildx_is_told_to_install_it_and_not_to_choose_another_builder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    fake = tmp_path / "docker"
    fake.write_text(f'#!/bin/sh\necho "{said}" >&2\nexit 1\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(EngineError, match="run tools/engine up") as caught:
        check_builder("x")
    assert "--builder" not in str(caught.value)


def test_mirrors_become_configuration_that_git_reads(tmp_path: Path) -> None:
    path = tmp_path / "gitconfig"
    path.write_text(git_config({"https://example.org/": "git://127.0.0.1/up/", 'https://odd#"\\/': "file:///x;y/"}))
    argv = ["git", "config", "--file", str(path), "--get-regexp", r"url\..*\.insteadof"]
    lines = subprocess.run(argv, check=True, capture_output=True, text=True).stdout.splitlines()
    assert lines == [
        "url.git://127.0.0.1/up/.insteadof https://example.org/",
        'url.file:///x;y/.insteadof https://odd#"\\/',
    ]


def test_secrets_are_for_this_user_only_and_gone_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IMAGEPINS_MIRRORS", "https://b.example/=https://mirror.example/")
    with build_secrets({"https://a.example/": "https://m.example/"}) as found:
        path = found["gitconfig"]
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.parent.stat().st_mode & 0o777 == 0o700
        assert "a.example" in path.read_text()
        assert "b.example" in path.read_text()
    assert not path.exists()


def test_a_ca_bundle_that_is_no_file_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IMAGEPINS_CA_BUNDLE", "/nowhere.pem")
    with pytest.raises(UsageError, match=r"IMAGEPINS_CA_BUNDLE: /nowhere\.pem is not a file"):
        ca_bundle()


def test_the_source_is_the_commit_that_last_touched_what_images_are_made_of(tmp_path: Path) -> None:
    def git(*args: str, when: int = 0) -> str:
        env = {**os.environ, "GIT_COMMITTER_DATE": f"@{when} +0000", "GIT_AUTHOR_DATE": f"@{when} +0000"}
        return subprocess.run(
            ["git", *args], cwd=tmp_path, env=env, check=True, capture_output=True, text=True
        ).stdout.strip()

    assert read_source(tmp_path, "pins.yaml") == Source("", "", 0)
    git("init", "-q")
    (tmp_path / "pins.yaml").write_text("1")
    git("add", ".")
    git("commit", "-qm", "pins", when=1700000000)
    commit = git("rev-parse", "HEAD")
    (tmp_path / "README").write_text("1")
    git("add", ".")
    git("commit", "-qm", "other", when=1800000000)
    assert read_source(tmp_path, "pins.yaml") == Source("", commit, 1700000000)
    (tmp_path / "images").mkdir()
    (tmp_path / "images/new").write_text("x")
    assert read_source(tmp_path, "pins.yaml").revision == f"{commit}-dirty"


def test_the_source_is_that_of_the_folder_also_within_a_hook_of_another(
    tmp_path: Path, astray: Callable[[], AbstractContextManager[None]]
) -> None:
    run = partial(subprocess.run, cwd=tmp_path, check=True, capture_output=True, text=True)
    (tmp_path / "pins.yaml").write_text("1")
    for argv in (["init", "-q"], ["add", "."], ["commit", "-qm", "pins"], ["remote", "add", "origin", "file:///here"]):
        run(["git", *argv])
    commit = run(["git", "rev-parse", "HEAD"]).stdout.strip()
    with astray():
        source = read_source(tmp_path, "pins.yaml")
    assert (source.revision, source.url) == (commit, "file:///here")


def test_source_date_epoch_of_the_environment_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "123")
    assert read_source(tmp_path, "pins.yaml").epoch == 123


def test_a_repository_that_git_does_not_trust_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    assert read_source(tmp_path, "pins.yaml") == Source("", "", 0)
    assert capsys.readouterr().err == (
        f"git does not trust the owner of {tmp_path}, so labels tell no revision: "
        f"git config --global --add safe.directory {tmp_path}\n"
    )


@pytest.mark.parametrize("value", ["yesterday", "-1", "1.5", "99999999999999", "\u0663"])
def test_a_source_date_epoch_that_is_no_time_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", value)
    with pytest.raises(UsageError, match=f"SOURCE_DATE_EPOCH={value}: expected seconds since 1970"):
        read_source(tmp_path, "pins.yaml")


@pytest.mark.parametrize(("arg", "epoch"), [("", "7"), ("ARG SOURCE_DATE_EPOCH=1791494299\n", "1791494299")])
def test_a_time_that_steps_read_is_not_overridden_with_every_commit(project: "Project", arg: str, epoch: str) -> None:
    project.write({"app": f"{arg}FROM scratch\nARG SOURCE_DATE_EPOCH\nCOPY f /f\n"})
    project.file("app", "f", "f")
    _, (node,), _ = load_nodes(project.root / "pins.yaml", ())
    settings = Settings(
        workspace=Workspace(project.root / "build"), source=Source("", "", 7), builder=Builder("", "docker"), secrets={}
    )
    assert one.bake_target(node, node, settings, {}).args == {"SOURCE_DATE_EPOCH": epoch}


def test_room_is_measured_where_the_engine_keeps_its_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "local_root", lambda: str(tmp_path))
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_bavail=14 * 10**6, f_frsize=1000))
    state = {"a": LastBuild(1, 60 * 10**9, None), "b": LastBuild(1, None, None)}
    with pytest.raises(BuildFailed, match=r"has 14\.0 GB free, and the last builds took 60\.0 GB \(a 60\.0 GB\)"):
        disk.check_space(["a", "b", "c"], state)
    disk.check_space(["b", "c"], state)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"a": 1}', '{"a": {"what": 1}}'])
def test_a_state_that_cannot_be_read_is_no_state(tmp_path: Path, text: str) -> None:
    path = tmp_path / "state.json"
    path.write_text(text)
    assert read_state(path) == {}
    write_state(path, {"a": LastBuild(1.5, 2, "sha256:3")})
    assert read_state(path) == {"a": LastBuild(1.5, 2, "sha256:3")}


@pytest.mark.parametrize(
    "fields",
    [
        {"seconds": "1", "size": 2, "digest": None},
        {"seconds": None, "size": 2, "digest": None},
        {"seconds": 1, "size": "2", "digest": None},
        {"seconds": 1, "size": [2], "digest": None},
        {"seconds": 1, "size": 2, "digest": 3},
        {"seconds": float("nan"), "size": 2, "digest": None},
        {"seconds": 1, "size": -1, "digest": None},
        [1, 2, None],
    ],
)
def test_an_entry_of_the_state_with_wrong_values_is_left_out_alone(tmp_path: Path, fields: object) -> None:
    path = tmp_path / "state.json"
    path.write_text(json.dumps({"bad": fields, "good": {"seconds": 1, "size": 2, "digest": None}}))
    assert read_state(path) == {"good": LastBuild(1, 2, None)}


def test_a_long_step_is_shown_on_one_line() -> None:
    assert shorten("[1/2] RUN a \\\n   b") == "[1/2] RUN a \\ b"
    assert len(shorten("x" * 500)) == 100


def one_node(project: "Project") -> Node:
    """The node of a project with one image."""
    project.write({"app": "FROM scratch\nCOPY f /f\n"})
    project.file("app", "f", "x")
    return load_nodes(project.root / "pins.yaml", ())[1][0]


@pytest.mark.engine
@pytest.mark.parametrize(
    ("metadata", "digest"),
    [
        ({}, None),
        ({"containerimage.config.digest": "sha256:c"}, None),
        ({"containerimage.config.digest": "sha256:c", "containerimage.digest": "sha256:d"}, "sha256:d"),
        ({"containerimage.digest": "sha256:d", "image.name": "a:1,b:2"}, "sha256:d"),
    ],
)
@pytest.mark.parametrize("push", [True, False])
def test_the_digest_is_the_results_own_and_a_push_without_one_failed(
    project: "Project", monkeypatch: pytest.MonkeyPatch, metadata: dict[str, str], digest: str | None, *, push: bool
) -> None:
    node = one_node(project)
    settings = Settings(
        workspace=Workspace(project.root / "build"),
        source=Source("", "", 0),
        builder=Builder("", "docker"),
        secrets={},
        destination=Destination("host:5000"),
        push=push,
    )
    other = {"containerimage.digest": "sha256:of-a-linked-parent"}

    answer = project.root / "answer.json"
    answer.write_text(json.dumps({node.slug: metadata, "parent": other}))
    copies = f'for word; do if [ "$last" = --metadata-file ]; then cp {answer} "$word"; fi; last=$word; done'
    project.before_docker(f'case "$*" in *--metadata-file*) {copies}; exit 0;; esac')
    monkeypatch.setenv("PATH", project.env["PATH"])
    outcome = one.build_one(node, settings, (), {}, on_event=lambda _: None, stop=Event())
    assert outcome.digest == digest if outcome.cause is None else digest is None
    assert (outcome.cause.name if outcome.cause else None) == ("not exported" if push and not digest else None)


@pytest.mark.engine
def test_a_definition_that_bake_resolves_otherwise_stops_the_build(
    project: "Project", monkeypatch: pytest.MonkeyPatch
) -> None:
    node = one_node(project)
    settings = Settings(
        workspace=Workspace(project.root / "build"), source=Source("", "", 0), builder=Builder("", "docker"), secrets={}
    )

    changes = """s|"org.imagepins.target": *"[^"]*"|"org.imagepins.target": "evil"|"""
    project.before_docker(f"""case "$*" in *--print*) {shutil.which("docker")} "$@" | sed '{changes}'; exit;; esac""")
    monkeypatch.setenv("PATH", project.env["PATH"])
    with pytest.raises(BuildFailed, match=r"bake does not build what was written:\n.*labels is .*evil"):
        one.build_one(node, settings, (), {}, on_event=lambda _: None, stop=Event())


def test_a_tree_that_cannot_be_written_is_told(project: "Project") -> None:
    (project.root / "build").write_text("a file where a directory has to be")
    with pytest.raises(UsageError, match="build: File exists"), only_session(project.root, 1):
        pass
