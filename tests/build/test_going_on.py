"""Faults around a build that must not undo it: files that cannot be written, an interrupt, a missing plugin."""

import signal
from typing import TYPE_CHECKING

import pytest

from waiting import PATIENCE, wait_for

if TYPE_CHECKING:
    from tests.build.conftest import Project

pytestmark = pytest.mark.engine


@pytest.fixture
def three(project: "Project") -> "Project":
    """``low``, ``high`` built from it, and ``other``."""
    project.write(
        {
            "low": "FROM scratch\nCOPY f /low\n",
            "high": "FROM @low@\nCOPY f /high\n",
            "other": "FROM scratch\nCOPY f /o\n",
        }
    )
    for name in ("low", "high", "other"):
        project.file(name, "f", name)
    return project


def test_keep_going_goes_on_where_the_log_of_one_target_cannot_be_written(three: "Project") -> None:
    log = three.root / f"build/logs/{three.prefix}-low-v.log"
    log.mkdir(parents=True)
    ran = three.run("build", "--keep-going", "--jobs", "1", "--json")
    assert ran.code == 5
    assert '"state": "built"' in ran.out
    assert f"{three.name('low')}: failed: {log}: Is a directory" in ran.err
    assert f"{three.name('low')}: failed: {log}: Is a directory\n" in ran.err.partition("TARGET")[0]


def test_a_build_is_good_where_its_duration_cannot_be_remembered(three: "Project") -> None:
    (three.root / "build/state.json").mkdir(parents=True)
    ran = three.run("build", f"{three.prefix}-other")
    assert (ran.code, ran.rows) == (0, {three.name("other"): "built"})
    assert "durations and sizes are not remembered" in ran.err


def test_an_interrupted_build_is_called_interrupted(project: "Project") -> None:
    project.write({"app": "FROM debian:trixie-slim\nRUN echo begun && sleep 600\n"})
    log = project.root / f"build/logs/{project.prefix}-app-v.log"
    with project.start("build") as process:
        wait_for(lambda: log.exists() and "begun\n" in log.read_text())
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
        assert process.stderr is not None
        said = process.stderr.read()
    assert f"{project.name('app')}: interrupted after " in said
    assert "failed" not in said
