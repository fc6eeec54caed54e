"""What the collector tells of an image's Python: imports, where they come from, and the packages that are installed."""

import base64
from collections.abc import Callable
from hashlib import md5, sha256
from pathlib import Path
from typing import Any

import pytest

from imagepins.verify.collector import packages

METADATA = "Metadata-Version: 2.1\nName: Kernel.Pack\nVersion: 2.0\nRequires-Dist: torch==2.12.0\n"


def test_import_that_prints_or_exits_does_not_disturb_the_answer(
    collect: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    (tmp_path / "loud.py").write_text("print('MARK {}' * 10000)\n__version__ = '1.2'\n")
    (tmp_path / "leaver.py").write_text("raise SystemExit(3)\n")

    document = collect(loads=["import loud", "import leaver"], env={"PYTHONPATH": str(tmp_path)})

    loud, leaver = document["loads"]
    assert loud["modules"]["loud"] == {"file": f"{tmp_path}/loud.py", "version": "1.2"}
    assert leaver["error"] == "SystemExit: 3"


@pytest.fixture
def modules(collect: Callable[..., dict[str, Any]], tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """What is told of where ``served`` is imported from, with these folders on the search path."""

    def find(*folders: str) -> dict[str, Any]:
        path = ":".join(f"{tmp_path}/{folder}" for folder in folders)
        (load,) = collect(modules=["served"], env={"PYTHONPATH": path})["loads"]
        told: dict[str, Any] = load["modules"]["served"]
        return told

    return find


def make_package(folder: Path) -> None:
    """A package of that folder."""
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()


def test_folder_named_like_a_package_is_no_place_to_import_from(
    modules: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    make_package(tmp_path / "tree/served/python/served")

    found = modules("tree", "tree/served/python")

    place = f"{tmp_path}/tree/served/python/served/__init__.py"
    assert found == {"taken": place, "candidates": [place], "error": ""}


FINDER = """\
import importlib.util, sys
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        {}
sys.meta_path.append(Finder)
"""


def test_folder_that_is_taken_before_an_editable_install_is_told(
    modules: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    make_package(tmp_path / "src/served")
    (tmp_path / "tree/served").mkdir(parents=True)
    (tmp_path / "site").mkdir()
    file = f"{tmp_path}/src/served/__init__.py"
    finds = f"return importlib.util.spec_from_file_location(name, {file!r}) if name == 'served' else None"
    (tmp_path / "site/sitecustomize.py").write_text(FINDER.format(finds))

    found = modules("tree", "site")

    assert (found["taken"], found["candidates"]) == (f"{tmp_path}/tree/served", [file, f"{tmp_path}/tree/served"])


def test_finder_that_fails_is_told_and_hides_no_other_place(
    modules: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    make_package(tmp_path / "src/served")
    (tmp_path / "site").mkdir()
    text = FINDER.replace("append(Finder)", "insert(0, Finder)")
    (tmp_path / "site/sitecustomize.py").write_text(
        text.format("if name == 'served': raise OSError('cannot build it anew')")
    )

    found = modules("site", "src")

    assert found["error"] == "OSError: cannot build it anew"
    assert found["candidates"] == [f"{tmp_path}/src/served/__init__.py"]


@pytest.mark.parametrize(
    ("metadata", "has_record"),
    [
        ("site-packages/kernel_pack-2.0.dist-info/METADATA", False),
        ("site-packages/kernel-pack-2.0.dist-info/METADATA", False),
        ("site-packages/kernel_pack-2.0-py3.12.egg/EGG-INFO/PKG-INFO", False),
        ("site-packages/kernel_pack-2.0-py3.12.egg-info", False),
        ("src/kernel_pack.egg-info/PKG-INFO", True),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_package_is_found_whatever_installed_it(
    metadata: str, has_record: bool, end: str, collect: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    (tmp_path / metadata).parent.mkdir(parents=True)
    body = "\nIts description.\nRequires-Dist: of-an-example==1\n"
    (tmp_path / metadata).write_bytes((METADATA + body).replace("\n", end).encode())

    (found,) = collect(distributions=["kernel-pack"])["distributions"]

    assert (found["name"], found["version"], found["needs"]) == ("Kernel.Pack", "2.0", ["torch==2.12.0"])
    assert found["has_record"] is has_record


def entry(path: Path) -> str:
    """A file's line of RECORD."""
    data = path.read_bytes()
    checksum = base64.urlsafe_b64encode(sha256(data).digest()).rstrip(b"=").decode()
    return f"{path.name},sha256={checksum},{len(data)}\n"


def test_files_beyond_what_is_read_are_told_as_not_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = tmp_path / "a.so", tmp_path / "b.so"
    for path in (first, second):
        path.write_bytes(b"12345")
    monkeypatch.setattr(packages, "HASHED_LIMIT", 7)
    record = entry(first) + entry(second)
    second.write_bytes(b"other")

    assert packages.changed_files(str(tmp_path), record) == ([], [str(second)])


@pytest.fixture
def dpkg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package database with one package of one library, which it names by its checksum."""
    monkeypatch.setattr(packages, "DPKG", str(tmp_path / "dpkg"))
    (tmp_path / "dpkg/info").mkdir(parents=True)
    stanza = "Package: hello\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1.2-1\n"
    (tmp_path / "dpkg/status").write_text(stanza)
    library = tmp_path / "libhello.so.1"
    library.write_bytes(b"hello")
    (tmp_path / "dpkg/info/hello.list").write_text(f"{library}\n")
    checksum = md5(b"hello", usedforsecurity=False).hexdigest()
    (tmp_path / "dpkg/info/hello.md5sums").write_text(f"{checksum}  {str(library)[1:]}\n")
    return tmp_path / "dpkg"


def test_diverted_file_of_a_package_is_looked_for_where_it_went(dpkg: Path) -> None:
    library = dpkg.parent / "libhello.so.1"
    library.rename(f"{library}.distrib")
    library.write_bytes(b"of another package")
    (told,) = packages.dpkg_packages(["hello"])
    assert told["changed"] == [f"{library} differs"]

    (dpkg / "diversions").write_text(f"{library}\n{library}.distrib\nother\n")

    (told,) = packages.dpkg_packages(["hello"])
    assert told["changed"] == []


def test_file_too_large_to_compare_is_told(dpkg: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "MD5_LIMIT", 4)

    (told,) = packages.dpkg_packages(["hello"])

    assert (told["changed"], told["unchecked"]) == ([], [f"{dpkg.parent}/libhello.so.1"])


def test_package_without_checksums_is_told(dpkg: Path) -> None:
    assert packages.dpkg_packages(["hello"])[0]["has_record"] is True

    (dpkg / "info/hello.md5sums").unlink()

    assert packages.dpkg_packages(["hello"])[0]["has_record"] is False


def test_package_of_a_distroless_image_has_its_checksums_beside_its_status(dpkg: Path) -> None:
    (dpkg / "status.d").mkdir()
    (dpkg / "status").rename(dpkg / "status.d/hello")
    (dpkg / "info/hello.md5sums").rename(dpkg / "status.d/hello.md5sums")
    (dpkg / "info/hello.list").unlink()
    (dpkg.parent / "libhello.so.1").write_bytes(b"other")

    (told,) = packages.dpkg_packages(["hello"])

    assert told["files"] == [f"{dpkg.parent}/libhello.so.1"]
    assert told["changed"] == [f"{dpkg.parent}/libhello.so.1 differs"]
