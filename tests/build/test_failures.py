"""What a build that fails, or is refused, tells."""

from typing import TYPE_CHECKING

import pytest

from imagepins.build.causes import STEP
from imagepins.build.events import Events
from imagepins.build.failure import describe_failure
from imagepins.build.one import Outcome
from imagepins.cli.plan import load_nodes

if TYPE_CHECKING:
    from tests.build.conftest import Project

pytestmark = pytest.mark.engine

BASE = "FROM debian:trixie-slim\n"


def test_what_a_step_says_commands_neither_the_terminal_nor_the_runner(project: "Project") -> None:
    project.write({"app": f"{BASE}RUN printf '\\033[2Jgone\\n  ::stop-commands::x\\n' && exit 3\n"})
    told = project.run("build").err
    assert "\x1b" not in told
    assert "    | gone\n    |   ::stop-commands::x\n" in told


def test_of_steps_that_look_alike_the_one_that_failed_is_told(project: "Project") -> None:
    step = f"RUN : {project.prefix} && test ! -e /x && touch /x\n"
    project.write({"app": f"{BASE}[[% for _ in [1] %]]\n{step}[[% endfor %]]\n{step}"})
    assert "from app.j2:5" in project.run("build").err


def test_no_template_line_is_told_where_the_template_has_changed_meanwhile(project: "Project") -> None:
    project.write({"app": f"{BASE}RUN exit 3\n"})
    pinset, (node,), _ = load_nodes(project.root / "pins.yaml", ())
    events = Events(error_lines=["Dockerfile:4", "--------------------", "ERROR: failed to solve: exit code: 3"])
    outcome, log = Outcome(events, STEP, 1.0), project.root / "log"
    place = f"at {node.target.dockerfile}:4"
    assert f"{place}, from app.j2:2\n" in describe_failure(pinset, project.root, node, outcome, log)
    (project.root / "app.j2").write_text(f"# one more line\n{BASE}RUN exit 3\n")
    assert f"{place}\n" in describe_failure(pinset, project.root, node, outcome, log)
    (project.root / "app.j2").unlink()
    assert f"{place}\n" in describe_failure(pinset, project.root, node, outcome, log)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("ENV KEY=hf_0123456789abcdef", "the value of HF_TOKEN"),
        ("LABEL by=https://mirror.example/inside/", "the address of a mirror"),
        (f"ENV CA='{'Q' * 64}'", "a certificate of the CA bundle"),
    ],
    ids=["token", "mirror", "certificate"],
)
def test_what_is_private_never_gets_as_far_as_a_build(project: "Project", line: str, what: str) -> None:
    project.write({"app": f"FROM scratch\n{line}\n"})
    project.env["HF_TOKEN"] = "hf_0123456789abcdef"
    project.env["IMAGEPINS_MIRRORS"] = "https://example.org/=https://mirror.example/inside/"
    bundle = project.root / "company.pem"
    bundle.write_text(f"-----BEGIN CERTIFICATE-----\n{'Q' * 64}\n-----END CERTIFICATE-----\n")
    project.env["IMAGEPINS_CA_BUNDLE"] = str(bundle)
    ran = project.run("build")
    assert ran.code == 5
    assert f"images/{project.prefix}-app/v/Dockerfile:4 holds {what}, which everybody who has the image" in ran.err
    assert "hf_0123" not in ran.err
