"""What docs/evidence.md shows as input is read by the tool."""

import re
import textwrap
from pathlib import Path

from imagepins.evidence.figures.interference import compare_interference
from imagepins.evidence.figures.sides import Source
from imagepins.pins.load import loads

PINS = """\
schema: 1
pins: {debian: {image: debian, tag: trixie-slim, allow_tag: a test}}
images:
  serving:
    template: Dockerfile.j2
    pins: [debian]
    variants: {default: {}}
"""


def block(repository: Path, language: str) -> str:
    text = (repository / "docs" / "evidence.md").read_text()
    (found,) = re.findall(rf"(?ms)^```{language}\n(.*?)^```$", text)
    return str(found)


def test_the_recipe_of_the_reference_is_a_recipe(repository: Path) -> None:
    pinset = loads(PINS + textwrap.indent(block(repository, "yaml"), "    "))
    bench = pinset.targets["serving/default"].bench
    assert bench is not None
    assert [dict(env) for env in bench.env_sets] == [{}, {"RCCL_DDA_FABRIC_MAXBLOCKS": "64"}]
    assert (bench.warmup, bench.runs, bench.devices) == (1, 3, ("/dev/kfd", "/dev/dri"))


def test_the_row_of_the_reference_is_a_row(repository: Path) -> None:
    row = block(repository, "json")
    found = compare_interference([Source(name, (("rows.jsonl", row),)) for name in ("base", "other")])
    assert found.rows[0].base == (3.7, 46.2, 455.0)
    assert found.remarks[0].startswith("base, M 1024, h2d, 256 blocks: +3.7 % median looks fine")
