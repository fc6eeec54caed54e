import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

Inventory = Callable[..., dict[str, Any]]


@pytest.fixture
def inventory(tmp_path: Path) -> Inventory:
    """What the text sent into images prints of a tree that stands for an image's file system."""

    def run(*, with_content: bool = False) -> dict[str, Any]:
        source = (files("imagepins.evidence.images") / "inventory.py").read_text()
        request = json.dumps({"root": str(tmp_path), "with_content": with_content})
        argv = [sys.executable, "-I", "-S", "-c", source, "collect", "--mark--", request]
        out = subprocess.run(argv, capture_output=True, check=True).stdout.decode()
        before, document, after = out.split("--mark--")
        assert (before, after) == ("\n", "\n")
        return dict(json.loads(document))

    return run


def make(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_installed_debian_packages_are_listed_and_removed_ones_are_not(inventory: Inventory, tmp_path: Path) -> None:
    stanzas = [
        "Package: a\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1:2-3\nDescription: x\n Package: no",
        "Package: gone\nStatus: deinstall ok config-files\nVersion: 1",
        "Package: a\nStatus: install ok installed\nArchitecture: i386\nVersion: 4",
    ]
    make(tmp_path / "var/lib/dpkg/status", "\n\n".join(stanzas) + "\n")
    make(tmp_path / "var/lib/dpkg/status.d/slim", "Package: slim\nVersion: 5\n")
    assert inventory()["apt"] == {"a": "1:2-3", "a:i386": "4", "slim": "5"}


def test_python_distributions_have_one_name_and_every_place_where_there_are_two(
    inventory: Inventory, tmp_path: Path
) -> None:
    make(tmp_path / "usr/lib/x/My_Pkg-1.0.dist-info/METADATA", "Name: My_Pkg\nVersion: 1.0\n\nVersion: no field\n")
    make(tmp_path / "usr/lib/x/old.egg-info", "Name: old\nVersion: 2\n")
    make(tmp_path / "opt/venv/my_pkg-2.0.dist-info/METADATA", "Name: my.pkg\nVersion: 2.0\n")
    found = inventory()["pip"]
    assert found["old"] == "2"
    assert found["my-pkg"] == f"2.0 ({tmp_path}/opt/venv/), 1.0 ({tmp_path}/usr/lib/x/)"


def test_every_file_has_its_facts_and_content_only_when_asked(inventory: Inventory, tmp_path: Path) -> None:
    make(tmp_path / "a", "text")
    (tmp_path / "link").symlink_to("a")
    os.utime(tmp_path / "a", (5, 7))
    facts = inventory()["files"]
    assert facts[f"{tmp_path}/a"][:1] + facts[f"{tmp_path}/a"][2:] == ["0o100644", 4, 7, ""]
    assert facts[f"{tmp_path}/link"][4] == "a"
    (digest,) = inventory(with_content=True)["files"][f"{tmp_path}/a"][5:]
    assert len(digest) == 16


def test_names_that_are_no_text_and_loops_of_links_are_listed(inventory: Inventory, tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\n")).write_text("")
    (tmp_path / "loop").symlink_to("loop")
    assert set(inventory()["files"]) == {f"{tmp_path}/\\xff\n", f"{tmp_path}/loop"}
