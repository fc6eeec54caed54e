"""pypi and apt pins: what an index says."""

import bz2
import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SIMPLE = """<!DOCTYPE html><html><body>
<a href="../../f/ply-3.10.tar.gz#sha256=0">ply-3.10.tar.gz</a>
<a href="ply-3.11-py2.py3-none-any.whl">ply</a>
<a href="ply-4.0-py3-none-any.whl" data-yanked="broken metadata">ply</a>
<a href="ply-4.1rc1-py3-none-any.whl">ply</a>
<a href="torch-2.12.0%2Brocm10.0.0-py3-none-any.whl">other</a>
</body></html>"""


@pytest.fixture
def pypi_pin(project: Any, web: Any) -> Callable[..., Any]:
    """The project with one pypi pin, its index at the server."""
    web.pages["/simple/ply/"] = {"body": SIMPLE.encode(), "content_type": "text/html"}

    def make(version: str = "3.10", package: str = "ply") -> Any:
        project.write(f'  ply:\n    pypi: {package}\n    version: "{version}"\n    index: {web.url}/simple/\n')
        return project

    return make


@pytest.mark.parametrize(("ref", "version"), [("3.11", "3.11"), (None, "3.11"), ("4.1rc1", "4.1rc1")])
def test_version_that_is_there_is_taken(pypi_pin: Callable[..., Any], ref: str | None, version: str) -> None:
    project = pypi_pin()
    before = project.pins.read_text()
    ended = project.run(*(["ply", ref] if ref else ["ply"]))
    assert ended.code == 0, ended.err
    assert project.pins.read_text() == before.replace('"3.10"', f'"{version}"')


def test_yanked_version_is_said(pypi_pin: Callable[..., Any]) -> None:
    ended = pypi_pin().run("ply", "4.0")
    assert (ended.code, "version 4.0 was yanked: broken metadata" in ended.out) == (0, True)


def test_yanked_pin_needs_a_person(pypi_pin: Callable[..., Any]) -> None:
    ended = pypi_pin("4.0").run("--outdated")
    assert (ended.code, "yanked: broken metadata" in ended.out) == (1, True)


@pytest.mark.parametrize(
    ("ref", "message"), [("9.9", "the index ends with"), ("latest", "not an exact version"), ("3.*", "not an exact")]
)
def test_version_that_is_not_there_is_refused(pypi_pin: Callable[..., Any], ref: str, message: str) -> None:
    ended = pypi_pin().run("ply", ref)
    assert (ended.code, message in ended.err) == (3, True)


@pytest.mark.parametrize("ref", ["latest", "3.*", "==3.11", ""])
def test_what_is_no_version_is_refused_offline_as_well(pypi_pin: Callable[..., Any], ref: str) -> None:
    assert "is not an exact version" in pypi_pin().assert_refuses("ply", ref, "--offline").err


def test_package_that_is_not_there_is_refused(pypi_pin: Callable[..., Any]) -> None:
    ended = pypi_pin(package="nothere").run("ply", "1.0")
    assert (ended.code, "no package 'nothere'" in ended.err) == (3, True)


def test_index_in_json_is_read(pypi_pin: Callable[..., Any], web: Any) -> None:
    body = (
        b'{"files": [{"filename": "ply-5.0.tar.gz", "yanked": false}, {"filename": "ply-6.0.tar.gz", "yanked": true}]}'
    )
    web.pages["/simple/ply/"] = {"body": body, "content_type": "application/vnd.pypi.simple.v1+json"}
    project = pypi_pin()
    assert project.run("ply").code == 0
    assert '"5.0"' in project.pins.read_text()


@pytest.mark.parametrize(
    "body", [b"{not json", b"[1, 2]", b'{"files": null}', b"{}", b"[" * 100_000], ids=lambda body: body[:12]
)
def test_page_that_is_none_of_an_index_is_unknown(pypi_pin: Callable[..., Any], web: Any, body: bytes) -> None:
    web.pages["/simple/ply/"] = {"body": body, "content_type": "application/json"}
    ended = pypi_pin().assert_refuses("ply", "3.11", code=4)
    assert "is no page of a package index" in ended.err


@pytest.mark.parametrize(
    "body", [b"", b"<html>Sign in to this network: <a href='/login'>here</a></html>", b"\xff\xfe\x00", b"<![CDATA["]
)
def test_page_that_links_to_no_file_is_unknown(pypi_pin: Callable[..., Any], web: Any, body: bytes) -> None:
    web.pages["/simple/ply/"] = {"body": body, "content_type": "text/html"}
    ended = pypi_pin().assert_refuses("ply", "3.11", code=4)
    assert "is no page of a package index" in ended.err


@pytest.mark.parametrize("body", [b"", b"\xff\xfe"])
def test_page_on_disk_that_is_none_is_unknown(project: Any, tmp_path: Path, body: bytes) -> None:
    page = tmp_path / "simple/ply/index.html"
    page.parent.mkdir(parents=True)
    page.write_bytes(body)
    project.write(f'  ply:\n    pypi: ply\n    version: "3.10"\n    index: file://{tmp_path}/simple/\n')
    assert "is no page of a package index" in project.assert_refuses("ply", code=4).err


def test_empty_page_of_an_index_says_that_there_is_no_version(pypi_pin: Callable[..., Any], web: Any) -> None:
    body = b'<html><head><meta name="pypi:repository-version" content="1.0"></head><body></body></html>'
    web.pages["/simple/ply/"] = {"body": body, "content_type": "text/html"}
    assert "there is no version 3.11" in pypi_pin().assert_refuses("ply", "3.11").err


def test_refusal_of_an_index_is_not_asked_again(pypi_pin: Callable[..., Any], web: Any) -> None:
    web.pages["/simple/ply/"] = {"body": b"no", "status": 403}
    assert "403 Forbidden" in pypi_pin().assert_refuses("ply", "3.11", code=4).err
    assert len(web.asked) == 1


def test_entries_that_name_no_file_of_the_package_are_passed_over(pypi_pin: Callable[..., Any], web: Any) -> None:
    files = ["text", {"url": "x"}, {"filename": None}, {"filename": "other-9.tar.gz"}, {"filename": "ply-3.12.tar.gz"}]
    web.pages["/simple/ply/"] = {"body": json.dumps({"files": files}).encode(), "content_type": "application/json"}
    assert "ply would move to 3.12" in pypi_pin().run("ply", "--dry-run").out


def test_index_that_does_not_answer_is_unknown(pypi_pin: Callable[..., Any], web: Any) -> None:
    web.pages["/simple/ply/"] = {"body": b"busy", "status": 503}
    assert pypi_pin().run("ply", "3.11").code == 4


def test_index_of_pip_s_configuration_is_used(
    project: Any, web: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    web.pages["/mine/ply/"] = {"body": SIMPLE.encode(), "content_type": "text/html"}
    (tmp_path / "pip.conf").write_text(f"[global]\nindex-url = {web.url}/mine\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    monkeypatch.delenv("PIP_INDEX_URL", raising=False)
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    project.write('  ply:\n    pypi: ply\n    version: "3.10"\n')
    assert project.run("ply", "3.11").code == 0
    monkeypatch.setenv("PIP_INDEX_URL", f"{web.url}/other")
    assert project.run("ply", "3.10").code == 3


def test_local_index_is_read_from_disk(project: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "simple/ply/index.html"
    page.parent.mkdir(parents=True)
    page.write_text(SIMPLE)
    monkeypatch.setenv("PIP_INDEX_URL", f"file://{tmp_path}/simple")
    project.write('  ply:\n    pypi: ply\n    version: "3.10"\n')
    assert project.run("ply").code == 0
    assert '"3.11"' in project.pins.read_text()


def test_index_is_asked_at_its_mirror(project: Any, web: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "simple/ply/index.html"
    page.parent.mkdir(parents=True)
    page.write_text(SIMPLE)
    monkeypatch.setenv("IMAGEPINS_MIRRORS", f"https://index.example.org/={tmp_path}/")
    project.write('  ply:\n    pypi: ply\n    version: "3.10"\n    index: https://index.example.org/simple/\n')
    assert project.run("ply").code == 0
    assert "index: https://index.example.org/simple/\n" in project.pins.read_text()


@pytest.fixture
def apt(project: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, web: Any) -> Any:
    """A machine whose apt knows suite bookworm, and whose archive (the server) has trixie as well."""
    tools = tmp_path / "apt"
    tools.mkdir()
    scripts = {
        "apt-cache": "echo ' librccl1 | 6.0-1~bpo12+1 | http://mirror.example/debian bookworm-backports/main amd64 P'\n"
        "echo ' librccl1 | 5.4.3-3+u1 | http://mirror.example/security bookworm-security/main amd64 Packages'\n"
        "echo ' librccl1 | 5.4.3-3 | http://mirror.example/debian bookworm/main amd64 Packages'\n"
        "echo ' librccl1 | 5.2.1-1 | http://mirror.example/debian bookworm/main amd64 Packages'\n",
        "apt-get": f"echo {web.url} amd64\n",
    }
    for name, text in scripts.items():
        (tools / name).write_text(f"#!/bin/sh\n{text}")
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tools), prepend=":")
    packages = "Package: librccl-dev\nVersion: 9\n\nPackage: librccl1\nArchitecture: amd64\nVersion: 6.4.3-1\n"
    web.pages["/dists/trixie/main/binary-amd64/Packages.gz"] = {"body": gzip.compress(packages.encode())}

    def write(suite: str, version: str = "5.0.0", package: str = "librccl1") -> Any:
        project.write(f'  rccl:\n    apt: {package}\n    version: "{version}"\n    suite: {suite}\n')
        return project

    return write


@pytest.mark.parametrize(
    ("suite", "ref", "version"),
    [
        ("bookworm", None, "5.4.3"),
        ("bookworm", "5.4.3", "5.4.3"),
        ("bookworm", "5.4.3-3", "5.4.3"),
        ("trixie", None, "6.4.3"),
    ],
)
def test_version_of_the_suite_is_taken(apt: Any, suite: str, ref: str | None, version: str) -> None:
    project = apt(suite)
    ended = project.run(*(["rccl", ref] if ref else ["rccl"]))
    assert ended.code == 0, ended.err
    assert f'version: "{version}"' in project.pins.read_text()


def test_version_the_suite_does_not_have_is_refused(apt: Any) -> None:
    ended = apt("bookworm").run("rccl", "9.9")
    assert (ended.code, "has no librccl1 9.9, but 5.4.3-3+u1, 5.4.3-3" in ended.err) == (3, True)


@pytest.mark.parametrize("ref", [None, "9.9"])
def test_package_that_a_suite_does_not_have_is_refused(apt: Any, ref: str | None) -> None:
    project = apt("trixie", package="nosuch")
    ended = project.assert_refuses("rccl", *([ref] if ref else []))
    assert "trixie has no nosuch" in ended.err


@pytest.mark.parametrize(
    "page",
    [
        {"status": 503},
        {"status": 403},
        {"body": b"<html>Sign in</html>"},
        {"body": gzip.compress(b"Package: librccl1\nVersion: 9.9-1\n")[:-9]},
    ],
    ids=["busy", "refused", "page", "cut"],
)
def test_version_that_may_stand_in_an_index_that_cannot_be_read_is_unknown(apt: Any, web: Any, page: Any) -> None:
    web.pages["/dists/trixie/contrib/binary-amd64/Packages.gz"] = page
    project = apt("trixie")
    ended = project.assert_refuses("rccl", "9.9", code=4)
    assert "as far as its indexes can be read\n  http://" in ended.err
    ended = project.run("rccl", "6.4.3")
    assert (ended.code, "what an index that cannot be read holds" in ended.out) == (0, True)


def test_version_newer_than_the_lists_of_this_machine_is_looked_up(apt: Any, web: Any) -> None:
    index = lzma.compress(b"Package: librccl1\nVersion: 2:9.9-1\n")
    web.pages["/dists/bookworm/universe/binary-amd64/Packages.xz"] = {"body": index}
    assert apt("bookworm").run("rccl", "2:9.9").code == 0


@pytest.mark.parametrize(("name", "pack"), [("Packages", bytes), ("Packages.bz2", bz2.compress)])
def test_index_is_read_however_it_is_packed(apt: Any, web: Any, name: str, pack: Callable[[bytes], bytes]) -> None:
    web.pages[f"/dists/sid/main/binary-amd64/{name}"] = {"body": pack(b"Package: librccl1\nVersion: 9.9-1\n")}
    assert apt("sid").run("rccl", "9.9").code == 0


def test_archive_is_asked_at_its_mirror(apt: Any, web: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = tmp_path / "mirror/dists/sid/main/binary-amd64/Packages.xz"
    index.parent.mkdir(parents=True)
    index.write_bytes(lzma.compress(b"Package: librccl1\nVersion: 9.9-1\n"))
    monkeypatch.setenv("IMAGEPINS_MIRRORS", f"{web.url}={tmp_path}/mirror")
    assert apt("sid").run("rccl", "9.9").code == 0
    assert web.asked == []


def test_suite_that_cannot_be_read_is_unknown(apt: Any) -> None:
    ended = apt("sid").run("rccl", "9.9")
    assert (ended.code, "add the suite to its apt sources" in ended.err) == (4, True)


@pytest.mark.parametrize(
    "content",
    [gzip.compress(b"Package: x\n" * 99)[:-9], b"\x1f\x8b\x08" + b"\0" * 30, b"page"],
    ids=["cut", "empty", "page"],  # gzip writes the time, and workers are to agree on the names of tests
)
def test_index_of_an_archive_that_is_damaged_is_unknown(apt: Any, web: Any, content: bytes) -> None:
    web.pages["/dists/trixie/main/binary-amd64/Packages.gz"] = {"body": content}
    assert "add the suite to its apt sources" in apt("trixie").assert_refuses("rccl", code=4).err


def test_update_of_a_suite_is_in_it_and_a_backport_is_not(apt: Any, web: Any) -> None:
    for suite, version in (("trixie-updates", "6.5-1"), ("trixie-security", "6.6-1"), ("trixie-backports", "7.0-1")):
        index = lzma.compress(f"Package: librccl1\nVersion: {version}\n".encode())
        web.pages[f"/dists/{suite}/main/binary-amd64/Packages.xz"] = {"body": index}
    project = apt("trixie")
    project.assert_refuses("rccl", "7.0")
    assert project.run("rccl").code == 0
    assert 'version: "6.6"' in project.pins.read_text()


def test_offline_takes_an_apt_version_unchecked(apt: Any) -> None:
    ended = apt("sid").run("rccl", "9.9", "--offline")
    assert (ended.code, "NOT checked" in ended.out) == (0, True)
