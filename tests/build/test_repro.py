"""Two builds of one target, compared."""

import json
import tarfile
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from imagepins.build.repro import compare

if TYPE_CHECKING:
    from tests.build.conftest import Project


@pytest.mark.engine
def test_a_build_that_depends_on_its_inputs_alone_gives_the_same_digest_twice(project: "Project") -> None:
    project.write(
        {"app": "FROM debian:trixie-slim AS a\nRUN echo x >/x\nFROM scratch\nCOPY f /f\nCOPY --from=a /x /x\n"}
    )
    project.file("app", "f", "x")
    ran = project.run("repro-check", f"{project.prefix}-app")
    assert ran.code == 0, ran.out + ran.err
    assert ran.out.startswith("both builds gave sha256:")
    assert not list((project.root / "build/repro").iterdir())


@pytest.mark.engine
def test_what_differs_is_named_by_layer_path_and_kind(project: "Project") -> None:
    step = "RUN mkdir /o && date +%N >/o/now && mkdir /o/$(cat /o/now) && touch -d @1 /o/kept"
    project.write({"app": f"FROM debian:trixie-slim AS a\n{step}\nFROM scratch\nCOPY --from=a /o /\n"})
    ran = project.run("repro-check", f"{project.prefix}-app", "--json")
    assert ran.code == 1
    found = json.loads(ran.out)
    assert not found["equal"]
    assert "layer 1: now: content" in found["differences"]
    assert sum("only in the" in line for line in found["differences"]) == 2
    assert not any("kept" in line for line in found["differences"])


def archive(path: Path, files: dict[str, bytes], config: dict[str, object]) -> Path:
    """An OCI archive of one layer, as far as it is read."""
    layer = BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, BytesIO(content))
    layer_name, config_name, manifest_name = (f"sha256:{path.stem}{each}" for each in ("layer", "config", "manifest"))
    manifest = {"config": {"digest": config_name}, "layers": [{"digest": layer_name}]}
    blobs = {
        "index.json": json.dumps({"manifests": [{"digest": manifest_name}]}).encode(),
        f"blobs/{manifest_name.replace(':', '/')}": json.dumps(manifest).encode(),
        f"blobs/{config_name.replace(':', '/')}": json.dumps(config).encode(),
        f"blobs/{layer_name.replace(':', '/')}": layer.getvalue(),
    }
    with tarfile.open(path, "w") as tar:
        for name, content in blobs.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, BytesIO(content))
    return path


def test_configuration_and_order_of_files_are_compared_too(tmp_path: Path) -> None:
    one = archive(tmp_path / "one.tar", {"a": b"1", "b": b"2"}, {"created": "x", "history": 1})
    two = archive(tmp_path / "two.tar", {"b": b"2", "a": b"1"}, {"created": "y", "history": 2})
    assert compare(one, two).differences == (
        "config: created is 'x' and 'y'",
        "layer 1: the same files in another order",
    )
