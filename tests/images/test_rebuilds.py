"""What a bump builds again, counted from BuildKit's own events."""

import re
from typing import Any

import pytest

pytestmark = pytest.mark.engine


def stages_that_ran(workspace: Any) -> set[str]:
    """Stages with a step that BuildKit did not take from its cache; a FROM only says what is there."""
    vertexes = [vertex for event in workspace.events for vertex in event.get("vertexes") or ()]
    cached = {vertex["digest"] for vertex in vertexes if vertex.get("cached")}
    ran = {vertex["name"] for vertex in vertexes if vertex["digest"] not in cached}
    steps = (re.match(r"\[(?P<stage>\w+) +\d+/\d+\] (?:RUN|COPY)", name) for name in ran)
    return {step["stage"] for step in steps if step}


def test_a_note_on_a_pin_builds_nothing_again(parts: Any) -> None:
    parts.set("  part_5:\n", "  part_5:\n    note: why it stands where it stands\n")
    assert parts.build().code == 0, parts.errors()
    assert stages_that_ran(parts) == set()


def test_a_bump_of_one_of_ten_components_builds_that_stage_and_the_final_one(parts: Any, bump: Any) -> None:
    assert parts.build().code == 0
    assert stages_that_ran(parts) == set()
    moved = parts.sources.commit("package", {"src/small/moved.py": "MOVED = 1\n"})
    bump(parts, "part_5", moved)
    assert parts.build().code == 0, parts.errors()
    assert stages_that_ran(parts) == {"build_part_5", "part_5", "image", "report"}
    assert (parts.root / "out" / "report.json").read_text() == f"{moved}\n"


def test_another_ca_bundle_or_mirror_builds_nothing_again(parts: Any) -> None:
    assert parts.build().code == 0, parts.errors()
    for name in ("ca", "gitconfig"):
        path = parts.sources.root / name
        path.write_text(path.read_text() + "# another\n")
    assert parts.build().code == 0, parts.errors()
    assert stages_that_ran(parts) == set()
