"""url, pypi and apt pins: what is hashed, and what an index says."""

import gzip
import hashlib
import http.server
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

TARBALL = gzip.compress(b"content", mtime=0)


@dataclass
class Page:
    """What the server answers for a path. ``length`` overrides Content-Length; the connection is closed after it."""

    body: bytes = TARBALL
    status: int = 200
    content_type: str = "application/gzip"
    length: int | None = None
    location: str | None = None
    encoding: str | None = None


@dataclass
class Web:
    """A server on the loopback; ``asked`` counts requests by path."""

    url: str
    pages: dict[str, Page | list[Page]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def page(self, path: str) -> Page:
        self.asked.append(path)
        found = self.pages.get(path, Page(b"gone", 404, "text/plain"))
        return found if isinstance(found, Page) else (found.pop(0) if len(found) > 1 else found[0])


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = made.page(self.path)
            self.send_response(page.status)
            self.send_header("Content-Type", page.content_type)
            self.send_header("Content-Length", str(len(page.body) if page.length is None else page.length))
            if page.encoding:
                self.send_header("Content-Encoding", page.encoding)
            if page.location:
                self.send_header("Location", page.location)
            self.end_headers()
            self.wfile.write(page.body)
            self.close_connection = True

        def log_message(self, *_: Any) -> None:
            pass

    monkeypatch.setattr("time.sleep", lambda _: None)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made = Web(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield made
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def url_pin(project: Any, web: Web) -> Callable[..., Any]:
    """The project with one url pin of ``NAME`` at the server; ``sha256`` as given."""

    def make(name: str = "old.tar.gz", sha256: str = "a" * 64) -> Any:
        project.write(f'  tool:\n    url: {web.url}/{name}\n    sha256: "{sha256}"  # checked\n')
        return project

    return make


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_address_and_checksum_move_together(url_pin: Callable[..., Any], web: Web) -> None:
    web.pages["/new.tar.gz"] = Page()
    project = url_pin()
    before = project.pins.read_text()
    ended = project.run("tool", f"{web.url}/new.tar.gz")
    assert ended.code == 0, ended.err
    assert project.pins.read_text() == before.replace("old.tar.gz", "new.tar.gz").replace("a" * 64, sha256(TARBALL))
    assert f"{len(TARBALL)} bytes from {web.url}/new.tar.gz" in ended.out
    assert f"ARG TOOL_SHA256={sha256(TARBALL)}\n" in project.dockerfile.read_text()


@pytest.mark.parametrize(
    ("name", "page", "code", "message"),
    [
        ("x.tar.gz", Page(b"<!DOCTYPE html><html>ad</html>", content_type="text/html; charset=utf-8"), 3, "a web page"),
        ("x.tar.gz", Page(b"<html>sorry</html>", content_type="application/gzip"), 3, "a web page"),
        ("x.py", Page(b"<!doctype html>\n<html>", content_type="text/plain"), 3, "a web page"),
        ("x.tar.gz", Page(b"plain words", content_type="text/plain"), 3, "not a file of its kind"),
        ("x.whl", Page(TARBALL), 3, "not a file of its kind"),
        ("x.tar.xz", Page(TARBALL), 3, "not a file of its kind"),
        ("x.tar.gz", Page(b""), 3, "empty"),
        ("x.tar.gz", Page(b"gone", 404), 3, "is not there"),
        ("x.tar.gz", Page(b"gone", 410), 3, "is not there"),
        ("x.tar.gz", Page(TARBALL, 206), 3, "answers 206"),
        ("x.tar.gz", Page(b"no", 403), 4, "may not be read"),
        ("x.tar.gz", Page(b"busy", 503), 4, "after 3 tries"),
        ("x.tar.gz", Page(b"busy", 429), 4, "after 3 tries"),
        ("x.tar.gz", Page(TARBALL, length=2 * len(TARBALL)), 4, "after 3 tries"),
    ],
)
def test_what_is_not_the_file_is_never_hashed(
    url_pin: Callable[..., Any], web: Web, name: str, page: Page, code: int, message: str
) -> None:
    web.pages[f"/{name}"] = page
    project = url_pin()
    before = project.snapshot()
    ended = project.run("tool", f"{web.url}/{name}")
    assert (ended.code, project.snapshot()) == (code, before)
    assert message in ended.err


def test_redirect_is_followed_and_its_end_is_said(url_pin: Callable[..., Any], web: Web) -> None:
    web.pages["/x.tar.gz"] = Page(b"", 302, location="/mirror/y.tar.gz")
    web.pages["/mirror/y.tar.gz"] = Page()
    project = url_pin()
    assert f"from {web.url}/mirror/y.tar.gz" in project.run("tool", f"{web.url}/x.tar.gz").out


def test_signature_in_the_address_a_redirect_leads_to_is_not_shown(url_pin: Callable[..., Any], web: Web) -> None:
    web.pages["/x.tar.gz"] = Page(b"", 302, location="/store/x?signature=s3cret")
    project = url_pin()
    for page, code in ((Page(), 0), (Page(b"<html>expired</html>"), 3)):
        web.pages["/store/x?signature=s3cret"] = page
        ended = project.run("tool", f"{web.url}/x.tar.gz", "--force")
        assert (ended.code, "s3cret" in ended.out + ended.err) == (code, False)
        assert f"{web.url}/store/x" in ended.out + ended.err


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip", "br"])
def test_what_is_hashed_are_the_bytes_that_are_sent(url_pin: Callable[..., Any], web: Web, encoding: str) -> None:
    web.pages["/x.tar.gz"] = Page(encoding=encoding)
    ended = url_pin().run("tool", f"{web.url}/x.tar.gz")
    assert (ended.code, f"{len(TARBALL)} bytes" in ended.out) == (0, True), ended.err
    assert sha256(TARBALL) in ended.out


def test_redirect_to_an_error_page_is_said_with_its_address(url_pin: Callable[..., Any], web: Web) -> None:
    web.pages["/x.tar.gz"] = Page(b"", 302, location="/ad")
    web.pages["/ad"] = Page(b"<html>buy</html>", content_type="text/html")
    ended = url_pin().run("tool", f"{web.url}/x.tar.gz")
    assert (ended.code, f"{web.url}/ad" in ended.err) == (3, True)


def test_server_that_comes_back_is_asked_again(url_pin: Callable[..., Any], web: Web) -> None:
    web.pages["/x.tar.gz"] = [Page(b"busy", 503), Page(TARBALL, length=500), Page()]
    assert url_pin().run("tool", f"{web.url}/x.tar.gz").code == 0
    assert web.asked.count("/x.tar.gz") == 3


def test_other_content_at_the_same_address_needs_leave(url_pin: Callable[..., Any], web: Web) -> None:
    web.pages["/old.tar.gz"] = Page()
    project = url_pin()
    ended = project.run("tool")
    assert (ended.code, "now holds another file" in ended.err) == (3, True)
    assert project.run("tool", "--force").code == 0
    assert sha256(TARBALL) in project.pins.read_text()
    assert project.run("tool").out.startswith("tool is already at")


@pytest.mark.parametrize("url", ["ftp://x/y.tgz", "http://example.org/x", "x.tar.gz", "https://u:p@h/x", "file://../x"])
def test_address_of_another_kind_is_refused(url_pin: Callable[..., Any], url: str) -> None:
    assert url_pin().run("tool", url).code == 3


def test_file_of_this_machine_is_refused_as_no_build_can_fetch_it(url_pin: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "x.tar.gz").write_bytes(TARBALL)
    ended = url_pin().run("tool", f"file://{tmp_path}/x.tar.gz")
    assert (ended.code, "no build can fetch a file of this machine" in ended.err) == (3, True)


def test_mirror_on_this_machine_is_hashed_from_disk(
    url_pin: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.tar.gz").write_bytes(TARBALL)
    monkeypatch.setenv("IMAGEPINS_MIRRORS", f"https://example.org/=file://{tmp_path}/")
    project = url_pin()
    assert project.run("tool", "https://example.org/x.tar.gz").code == 0
    assert sha256(TARBALL) in project.pins.read_text()


def test_offline_cannot_hash(url_pin: Callable[..., Any], web: Web) -> None:
    ended = url_pin().run("tool", f"{web.url}/x.tar.gz", "--offline")
    assert (ended.code, web.asked) == (4, [])


SIMPLE = """<!DOCTYPE html><html><body>
<a href="../../f/ply-3.10.tar.gz#sha256=0">ply-3.10.tar.gz</a>
<a href="ply-3.11-py2.py3-none-any.whl">ply</a>
<a href="ply-4.0-py3-none-any.whl" data-yanked="broken metadata">ply</a>
<a href="ply-4.1rc1-py3-none-any.whl">ply</a>
<a href="torch-2.12.0%2Brocm10.0.0-py3-none-any.whl">other</a>
</body></html>"""


@pytest.fixture
def pypi_pin(project: Any, web: Web) -> Callable[..., Any]:
    """The project with one pypi pin, its index at the server."""
    web.pages["/simple/ply/"] = Page(SIMPLE.encode(), content_type="text/html")

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


def test_package_that_is_not_there_is_refused(pypi_pin: Callable[..., Any]) -> None:
    ended = pypi_pin(package="nothere").run("ply", "1.0")
    assert (ended.code, "no package 'nothere'" in ended.err) == (3, True)


def test_index_in_json_is_read(pypi_pin: Callable[..., Any], web: Web) -> None:
    body = (
        b'{"files": [{"filename": "ply-5.0.tar.gz", "yanked": false}, {"filename": "ply-6.0.tar.gz", "yanked": true}]}'
    )
    web.pages["/simple/ply/"] = Page(body, content_type="application/vnd.pypi.simple.v1+json")
    project = pypi_pin()
    assert project.run("ply").code == 0
    assert '"5.0"' in project.pins.read_text()


def test_index_that_does_not_answer_is_unknown(pypi_pin: Callable[..., Any], web: Web) -> None:
    web.pages["/simple/ply/"] = Page(b"busy", 503)
    assert pypi_pin().run("ply", "3.11").code == 4


def test_index_of_pip_s_configuration_is_used(
    project: Any, web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    web.pages["/mine/ply/"] = Page(SIMPLE.encode(), content_type="text/html")
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


@pytest.fixture
def apt(project: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, web: Web) -> Any:
    """A machine whose apt knows suite bookworm, and whose archive (the server) has trixie as well."""
    tools = tmp_path / "apt"
    tools.mkdir()
    scripts = {
        "apt-cache": "echo ' librccl1 | 5.4.3-3 | http://mirror.example/debian bookworm/main amd64 Packages'\n"
        "echo ' librccl1 | 2:5.2.1-1 | http://mirror.example/debian bookworm/main amd64 Packages'\n",
        "apt-get": f"echo {web.url} amd64\n",
    }
    for name, text in scripts.items():
        (tools / name).write_text(f"#!/bin/sh\n{text}")
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tools), prepend=":")
    packages = "Package: librccl-dev\nVersion: 9\n\nPackage: librccl1\nArchitecture: amd64\nVersion: 6.4.3-1\n"
    web.pages["/dists/trixie/main/binary-amd64/Packages.gz"] = Page(gzip.compress(packages.encode()))

    def write(suite: str, version: str = "5.0.0") -> Any:
        project.write(f'  rccl:\n    apt: librccl1\n    version: "{version}"\n    suite: {suite}\n')
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
    assert (ended.code, "has no librccl1 9.9, but 5.4.3-3" in ended.err) == (3, True)


def test_suite_that_cannot_be_read_is_unknown(apt: Any) -> None:
    ended = apt("sid").run("rccl", "9.9")
    assert (ended.code, "add the suite to its apt sources" in ended.err) == (4, True)


def test_offline_takes_an_apt_version_unchecked(apt: Any) -> None:
    ended = apt("sid").run("rccl", "9.9", "--offline")
    assert (ended.code, "NOT checked" in ended.out) == (0, True)
