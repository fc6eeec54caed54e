"""From a rendered instruction back to its template."""

from pathlib import Path

import pytest

from imagepins.build.templates import find_place
from imagepins.plan.dockerfile import parse

MACROS = """\
[[% macro mounts() -%]]
--mount=type=secret,id=ca \\
    --mount=type=cache,target=/c
[[%- endmacro %]]
[[% macro stage(name, packages) %]]
FROM base AS [[[ name ]]]
RUN [[[ mounts() ]]] <<EOR
set -eux
apt-get install [[[ packages ]]]
EOR
RUN [[[ mounts() ]]] <<EOR
set -eux
make install-[[[ name ]]]
EOR
[[% endmacro %]]
"""
TEMPLATE = """\
[[% import 'macros.j2' as m %]]
FROM debian AS base
[[[ m.stage('one', 'gcc') ]]]
# a comment
FROM base
RUN true && \\
    [[[ thing ]]] --last
RUN true
RUN true
"""
DOCKERFILE = """\
FROM debian AS base
FROM base AS one
RUN --mount=type=secret,id=ca \\
    --mount=type=cache,target=/c <<EOR
set -eux
apt-get install gcc
EOR

RUN --mount=type=secret,id=ca \\
    --mount=type=cache,target=/c <<EOR
set -eux
make install-one
EOR

# a comment
FROM base
RUN true && \\
    something --last
RUN true
RUN nowhere
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The templates."""
    (tmp_path / "macros.j2").write_text(MACROS)
    (tmp_path / "app.j2").write_text(TEMPLATE)
    return tmp_path


@pytest.mark.parametrize(
    ("line", "place"),
    [
        (1, "app.j2:2"),
        (2, "macros.j2:6"),
        (6, "macros.j2:7"),
        (12, "macros.j2:11"),
        (16, "app.j2:5"),
        (18, "app.j2:6"),
        (19, None),
        (20, None),
    ],
    ids=["plain", "value", "macro-1", "macro-2", "after", "continued", "two-alike", "nowhere"],
)
def test_the_place_of_an_instruction_is_found_or_left_out(root: Path, line: int, place: str | None) -> None:
    instruction = parse(DOCKERFILE, "D").at(line)
    assert instruction is not None
    assert find_place(root, "app.j2", DOCKERFILE, instruction) == place
