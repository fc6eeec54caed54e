import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imagepins.cli import run_command
from imagepins.cli.bisect import bisect as bisect_command
from imagepins.errors import EngineError, UsageError
from imagepins.evidence.bisection.search import Found, Span, Verdict, next_commit, trials_left
from imagepins.evidence.bisection.trials import Trial, Trials, read_trials
from imagepins.evidence.bisection.trying import Command, judge
from imagepins.process import run
from naming import own_name, remove_images
from servers import serve_git

REPOSITORY = own_name("bisect")
COUNT, BAD, UNBUILDABLE = 60, 38, (29, 44)
PINS = """\
schema: 1
pins:
  debian: {{image: debian, tag: trixie-slim, allow_tag: a test, arg: BASE_IMAGE}}
  lib: {{git: {url}, path: lib, commit: "{commit}", track: {{branch: main}}}}
images:
  small:
    template: Dockerfile.j2
    pins: [debian, lib]
    args: {{PORT: "{port}"}}
    tags: ["{repository}:small"]
    variants: {{default: {{}}}}
"""
TEMPLATE = """\
[[[ pin_args ]]]
[[[ plain_args ]]]
FROM ${BASE_IMAGE}
ARG LIB_COMMIT
ARG PORT
ADD git://127.0.0.1:${PORT}/lib#${LIB_COMMIT}:lib /lib
RUN --network=none test "$(cat /lib/state)" = builds
"""


@dataclass(frozen=True)
class Planted:
    """A project whose pin has 60 commits under its path: the bad one, two that do not build, noise between them."""

    pins: Path
    commits: tuple[str, ...]

    @property
    def first_bad(self) -> str:
        return self.commits[BAD]


@given(st.integers(1, 80), st.data())
def test_the_first_bad_commit_is_found_whatever_cannot_be_tried(count: int, data: st.DataObject) -> None:
    commits = tuple(map(str, range(count)))
    bad = data.draw(st.integers(0, count - 1))
    skipped = data.draw(st.sets(st.sampled_from(commits[:-1]), max_size=count // 2)) if count > 1 else set()
    known = {commits[-1]: Verdict.BAD}
    expected = trials_left(Span(commits), known)
    tried = 0
    while isinstance(commit := next_commit(Span(commits), known), str):
        assert commit not in known
        tried += 1
        known[commit] = Verdict.SKIP if commit in skipped else Verdict.GOOD if int(commit) < bad else Verdict.BAD
    assert commits[bad] in commit.suspects
    assert all(each in skipped or each == commit.suspects[-1] for each in commit.suspects)
    assert tried <= expected + len(skipped)


def test_an_only_commit_is_the_first_bad_one() -> None:
    assert next_commit(Span(("a",)), {}) == Found(("a",))


@pytest.mark.parametrize("text", ["", "{", "[]", '{"trials": {"a": {"verdict": "odd", "why": ""}}}'])
def test_a_damaged_file_of_trials_costs_trials_and_nothing_else(text: str, tmp_path: Path) -> None:
    path = read_trials(tmp_path, ["question"]).path
    path.write_text(text)
    assert read_trials(tmp_path, ["question"]).found == {}


def test_trials_of_another_question_are_not_taken(tmp_path: Path) -> None:
    read_trials(tmp_path, ["one"]).add("a", Trial(Verdict.BAD, "why"))
    assert read_trials(tmp_path, ["one"]).found == {"a": Trial(Verdict.BAD, "why")}
    assert read_trials(tmp_path, ["other"]) == Trials(read_trials(tmp_path, ["other"]).path)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, int, tuple[str, ...]]]:
    """The upstream behind a git server on loopback: its path, the server's port, and the commits under the path."""
    root = tmp_path_factory.mktemp("served")
    lib = root / "lib"
    run(["git", "init", "--quiet", "--initial-branch=main", str(lib)])
    for option in ("uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"):
        run(["git", "-C", str(lib), "config", option, "true"])
    run(["git", "-C", str(lib), "fast-import", "--quiet"], stdin="".join(_commits()))
    log = run(["git", "-C", str(lib), "log", "--reverse", "--format=%H", "main", "--", "lib"]).stdout.split()
    with serve_git(root) as port:
        yield lib, port, tuple(log[1:])


def _commits() -> Iterator[str]:
    """A first commit, then 60 that change the path with one of noise behind each, as git fast-import reads them."""
    yield from _commit("start", {"lib/value": "-1", "lib/state": "builds"})
    for number in range(COUNT):
        state = "broken" if number in UNBUILDABLE else "builds"
        message = f"change {number} (#{1000 + number})\n\nWhy it was made."
        yield from _commit(message, {"lib/value": str(number), "lib/state": state})
        yield from _commit(f"noise {number}", {"elsewhere": str(number)})


def _commit(message: str, files: dict[str, str]) -> Iterator[str]:
    who = "Test <test@example.org> 1700000000 +0000"
    yield f"commit refs/heads/main\ncommitter {who}\ndata {len(message)}\n{message}\n"
    for path, text in files.items():
        yield f"M 100644 inline {path}\ndata {len(text) + 1}\n{text}\n\n"


@pytest.fixture
def planted(tmp_path: Path, served: tuple[Path, int, tuple[str, ...]]) -> Planted:
    lib, port, commits = served
    project = tmp_path / "project"
    project.mkdir()
    (project / "Dockerfile.j2").write_text(TEMPLATE)
    text = PINS.format(repository=REPOSITORY, url=f"file://{lib}", commit=commits[-1], port=port)
    (project / "pins.yaml").write_text(text)
    return Planted(project / "pins.yaml", commits)


Bisect = Callable[..., tuple[int, str, str]]
FAILS_FROM_BAD = ("sh", "-c", f"test $(cat /lib/value) -lt {BAD}")


@pytest.fixture(scope="module", autouse=True)
def _no_images_left() -> Iterator[None]:
    """Images stay from test to test, as their content does; afterwards they go."""
    yield
    remove_images(REPOSITORY)


@pytest.fixture
def bisect(planted: Planted, capsys: pytest.CaptureFixture[str]) -> Bisect:
    """``tools/image bisect small lib GOOD main OPTIONS... -- COMMAND``."""

    def one(*options: str, command: tuple[str, ...] = FAILS_FROM_BAD, good: str = "") -> tuple[int, str, str]:
        argv = ["small", "lib", good or planted.commits[0], "main", "--pins", str(planted.pins), *options]
        code = run_command(bisect_command, [*argv, "--", *command], name="bisect")
        out, err = capsys.readouterr()
        return code, out, err

    return one


@pytest.mark.engine
def test_a_planted_bad_commit_among_sixty_is_found_past_two_that_do_not_build(bisect: Bisect, planted: Planted) -> None:
    before = {path: path.read_bytes() for path in planted.pins.parent.iterdir() if path.is_file()}
    code, out, err = bisect()
    assert code == 0, err
    assert planted.first_bad in out
    assert f"pull {1000 + BAD}" in out
    assert "Why it was made." in out
    assert "59 touch the path, of 119" in out
    for number in UNBUILDABLE:
        assert f"skipped {planted.commits[number][:12]}: small/default does not build" in out
    assert err.count(": trying") <= 10
    assert {path: path.read_bytes() for path in planted.pins.parent.iterdir() if path.is_file()} == before
    again = bisect()
    assert (again[1], ": trying" in again[2]) == (out, False)


@pytest.mark.engine
def test_an_interrupted_bisection_goes_on_where_it_was(bisect: Bisect, planted: Planted) -> None:
    argv = ["small", "lib", planted.commits[0], "main", "--pins", str(planted.pins), "--", *FAILS_FROM_BAD]
    script = (
        "from imagepins.cli import run_command\nfrom imagepins.cli.bisect import bisect\n"
        f"raise SystemExit(run_command(bisect, {argv!r}, name='bisect'))"
    )
    with subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        tried = 0
        for line in process.stderr:
            tried += ": good" in line or ": bad" in line
            if tried == 3:
                process.send_signal(signal.SIGINT)
                break
        rest = process.stderr.read()
    assert process.returncode == 130
    assert "the same command goes on from here" in rest
    assert f"imagepins-bisect-{process.pid}" not in run(["docker", "ps", "--all", "--format", "{{.Names}}"]).stdout
    code, out, err = bisect("--json")
    assert code == 0
    assert [each["commit"] for each in json.loads(out)["suspects"]] == [planted.first_bad]
    assert err.count("(tried before)") >= 2
    assert err.count(": trying") <= 7


@pytest.mark.engine
def test_a_command_on_the_host_gets_the_ref_of_the_image(bisect: Bisect, planted: Planted, tmp_path: Path) -> None:
    log = tmp_path / "refs"
    command = (
        "sh",
        "-c",
        f'echo "$1 $IMAGEPINS_REF" >> {log}; docker run --rm --network none "$1" test -e /nowhere',
        "sh",
        "{ref}",
    )
    code, _, err = bisect("--host", command=command)
    assert (code, "should be good, but is bad" in err) == (1, True)
    first, second = log.read_text().split()
    assert first == second
    assert first.startswith(f"{REPOSITORY}:content-")


@pytest.mark.engine
@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        (("true",), 1, "should be bad, but is good"),
        (("false",), 1, "should be good, but is bad (exit code 1)"),
        (("sh", "-c", "exit 125"), 1, "should be good, but is skip"),
        (("nowhere-program",), 2, "the command cannot be run"),
    ],
)
def test_a_command_that_tells_nothing_is_refused(
    command: tuple[str, ...], code: int, words: str, bisect: Bisect
) -> None:
    result = bisect(command=command)
    assert result[0] == code
    assert words in result[2]


DEBIAN = "debian:trixie-slim"


def test_a_command_on_the_host_that_has_no_end_is_bad_and_one_that_is_not_there_is_no_verdict() -> None:
    assert judge("image", Command(("sleep", "60"), on_host=True, seconds=0.3)) == Trial(
        Verdict.BAD, "no end within 0.3 s"
    )
    with pytest.raises(UsageError, match="nowhere-program is not there"):
        judge("image", Command(("nowhere-program",), on_host=True))


@pytest.mark.engine
def test_a_command_in_the_image_is_judged_by_what_the_engine_says_of_its_container() -> None:
    assert judge(DEBIAN, Command(("true",))) == Trial(Verdict.GOOD)
    assert judge(DEBIAN, Command(("sh", "-c", "echo docker: no; exit 125"))).verdict is Verdict.SKIP
    assert judge(DEBIAN, Command(("sleep", "600"), seconds=3)) == Trial(Verdict.BAD, "no end within 3 s")
    assert f"imagepins-bisect-{os.getpid()}-" not in run(["docker", "ps", "--all", "--format", "{{.Names}}"]).stdout


@pytest.mark.engine
@pytest.mark.parametrize(
    ("ref", "network"), [("imagepins-test-nowhere:1", "none"), (DEBIAN, "imagepins-test-no-such-network")]
)
def test_a_container_that_the_engine_cannot_make_is_no_verdict(ref: str, network: str) -> None:
    with pytest.raises(EngineError, match=ref if network == "none" else network):
        judge(ref, Command(("true",), network=network))


@pytest.mark.engine
@pytest.mark.parametrize(
    "script",
    ["exit 125", "echo 'error waiting for container: unexpected EOF' >&2; exit 125", "kill -9 $$"],
    ids=["its own trouble", "engine gone", "killed"],
)
def test_a_client_that_leaves_its_container_is_no_verdict(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = shutil.which("docker")
    shim = f'#!/bin/sh\nif [ "$1" = start ]; then {real} start "$3" >/dev/null; {script}; fi\nexec {real} "$@"\n'
    (tmp_path / "docker").write_text(shim)
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(EngineError):
        judge(DEBIAN, Command(("sleep", "60")))


@pytest.mark.parametrize("where", ["no client", "no engine"])
def test_without_client_or_engine_there_is_no_verdict(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(*(("PATH", str(tmp_path)) if where == "no client" else ("DOCKER_HOST", f"unix://{tmp_path}/s")))
    with pytest.raises(EngineError, match=r"docker ps: (docker is not there|.*connect)"):
        judge(DEBIAN, Command(("true",)))


def test_a_dry_run_tells_what_to_expect_and_builds_nothing(bisect: Bisect, planted: Planted) -> None:
    code, out, _ = bisect("--dry-run", good=planted.commits[0])
    assert code == 0
    assert out == "59 commits under the path, of 119; at most 8 builds, 2 of them the ends\n"
    document = json.loads(bisect("--dry-run", "--json", good=planted.commits[0])[1])
    assert document == {"schema": 1, "commits": 59, "all_commits": 119, "builds": 8, "ends": 2}
    assert not (planted.pins.parent / "build").exists()


def test_mirrors_of_the_pin_file_are_asked(bisect: Bisect, planted: Planted) -> None:
    text = planted.pins.read_text()
    url = re.search(r"git: (file://\S+),", text)
    assert url
    mirrors = f"mirrors: {{'https://example.org/': '{url[1].removesuffix('lib')}'}}\npins:\n"
    planted.pins.write_text(text.replace("pins:\n", mirrors, 1).replace(url[1], "https://example.org/lib", 1))
    code, out, err = bisect("--dry-run", good=planted.commits[0])
    assert (code, "59 commits under the path" in out) == (0, True), err


def test_a_hold_on_the_pin_does_not_keep_it_from_being_bisected(bisect: Bisect, planted: Planted) -> None:
    text = planted.pins.read_text().replace("path: lib,", "path: lib, hold: until the regression is found,")
    planted.pins.write_text(text)
    assert bisect("--dry-run")[0] == 0
    assert planted.pins.read_text() == text


def test_refs_in_the_wrong_order_and_pins_without_history_are_refused(planted: Planted) -> None:
    argv = ["--pins", str(planted.pins), "--", "true"]
    assert run_command(bisect_command, ["small", "lib", "main", planted.commits[0], *argv], name="bisect") == 3
    assert run_command(bisect_command, ["small", "debian", "a", "b", *argv], name="bisect") == 2
    assert run_command(bisect_command, ["small", "nolib", "a", "b", *argv], name="bisect") == 2
    assert run_command(bisect_command, ["small", "lib", planted.commits[0], "nosuch", *argv], name="bisect") == 3
