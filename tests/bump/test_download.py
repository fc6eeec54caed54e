"""url pins: what is hashed, and what never is."""

import gzip
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TARBALL = gzip.compress(b"content", mtime=0)


Page = dict[str, Any]


def answer(body: bytes = TARBALL, status: int = 200, **more: Any) -> Page:
    """What the server answers."""
    return {"body": body, "status": status, **more}


@pytest.fixture
def url_pin(project: Any, web: Any) -> Callable[..., Any]:
    """The project with one url pin of ``NAME`` at the server; ``sha256`` as given."""

    def make(name: str = "old.tar.gz", sha256: str = "a" * 64) -> Any:
        project.write(f'  tool:\n    url: {web.url}/{name}\n    sha256: "{sha256}"  # checked\n')
        return project

    return make


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_address_and_checksum_move_together(url_pin: Callable[..., Any], web: Any) -> None:
    web.pages["/new.tar.gz"] = answer()
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
        (
            "x.tar.gz",
            answer(b"<!DOCTYPE html><html>ad</html>", content_type="text/html; charset=x"),
            3,
            "a web page",
        ),
        ("x.tar.gz", answer(b"<html>sorry</html>", content_type="application/gzip"), 3, "a web page"),
        ("x.py", answer(b"<!doctype html>\n<html>", content_type="text/plain"), 3, "a web page"),
        ("x.tar.gz", answer(b"plain words", content_type="text/plain"), 3, "not a file of its kind"),
        ("x.whl", answer(TARBALL), 3, "not a file of its kind"),
        ("x.tar.xz", answer(TARBALL), 3, "not a file of its kind"),
        ("x.tar.gz", answer(b""), 3, "empty"),
        ("x.tar.gz", answer(b"gone", 404), 3, "is not there"),
        ("x.tar.gz", answer(b"gone", 410), 3, "is not there"),
        ("x.tar.gz", answer(TARBALL, 206), 3, "answers 206"),
        ("x.tar.gz", answer(b"no", 403), 4, "may not be read"),
        ("x.tar.gz", answer(b"busy", 503), 4, "after 3 tries"),
        ("x.tar.gz", answer(b"busy", 429), 4, "after 3 tries"),
        ("x.tar.gz", answer(TARBALL, length=2 * len(TARBALL)), 4, "after 3 tries"),
    ],
)
def test_what_is_not_the_file_is_never_hashed(
    url_pin: Callable[..., Any], web: Any, name: str, page: Page, code: int, message: str
) -> None:
    web.pages[f"/{name}"] = page
    project = url_pin()
    before = project.snapshot()
    ended = project.run("tool", f"{web.url}/{name}")
    assert (ended.code, project.snapshot()) == (code, before)
    assert message in ended.err


def test_redirect_is_followed_and_its_end_is_said(url_pin: Callable[..., Any], web: Any) -> None:
    web.pages["/x.tar.gz"] = answer(b"", 302, location="/mirror/y.tar.gz")
    web.pages["/mirror/y.tar.gz"] = answer()
    project = url_pin()
    assert f"from {web.url}/mirror/y.tar.gz" in project.run("tool", f"{web.url}/x.tar.gz").out


def test_signature_in_the_address_a_redirect_leads_to_is_not_shown(url_pin: Callable[..., Any], web: Any) -> None:
    web.pages["/x.tar.gz"] = answer(b"", 302, location="/store/x?signature=s3cret")
    project = url_pin()
    for page, code in ((answer(), 0), (answer(b"<html>expired</html>"), 3)):
        web.pages["/store/x?signature=s3cret"] = page
        ended = project.run("tool", f"{web.url}/x.tar.gz", "--force")
        assert (ended.code, "s3cret" in ended.out + ended.err) == (code, False)
        assert f"{web.url}/store/x" in ended.out + ended.err


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip", "br"])
def test_what_is_hashed_are_the_bytes_that_are_sent(url_pin: Callable[..., Any], web: Any, encoding: str) -> None:
    web.pages["/x.tar.gz"] = answer(encoding=encoding)
    ended = url_pin().run("tool", f"{web.url}/x.tar.gz")
    assert (ended.code, f"{len(TARBALL)} bytes" in ended.out) == (0, True), ended.err
    assert sha256(TARBALL) in ended.out


def test_redirect_to_an_error_page_is_said_with_its_address(url_pin: Callable[..., Any], web: Any) -> None:
    web.pages["/x.tar.gz"] = answer(b"", 302, location="/ad")
    web.pages["/ad"] = answer(b"<html>buy</html>", content_type="text/html")
    ended = url_pin().run("tool", f"{web.url}/x.tar.gz")
    assert (ended.code, f"{web.url}/ad" in ended.err) == (3, True)


def test_server_that_comes_back_is_asked_again(url_pin: Callable[..., Any], web: Any) -> None:
    web.pages["/x.tar.gz"] = [answer(b"busy", 503), answer(TARBALL, length=500), answer()]
    assert url_pin().run("tool", f"{web.url}/x.tar.gz").code == 0
    assert web.asked.count("/x.tar.gz") == 3


def test_other_content_at_the_same_address_needs_leave(url_pin: Callable[..., Any], web: Any) -> None:
    web.pages["/old.tar.gz"] = answer()
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


def test_offline_cannot_hash(url_pin: Callable[..., Any], web: Any) -> None:
    ended = url_pin().run("tool", f"{web.url}/x.tar.gz", "--offline")
    assert (ended.code, web.asked) == (4, [])
