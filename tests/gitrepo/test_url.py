"""Which addresses are given to git, and where they lead."""

import pytest

from imagepins.errors import RefError, UsageError
from imagepins.gitrepo.url import check_url, git_address, is_same_repository, mirrored, parse_mirrors, web_url


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/ROCm/rocm-systems.git",
        "https://example.org:8443/a/b",
        "ssh://git@example.org:2222/a/b.git",
        "git@github.com:ROCm/aiter.git",
        "file:///srv/git/up",
    ],
)
def test_usual_addresses_are_allowed(url: str) -> None:
    assert check_url(url) == url


@pytest.mark.parametrize(
    "url",
    [
        "ext::sh -c touch% /tmp/owned",
        "--upload-pack=touch /tmp/owned",
        "-oProxyCommand=touch",
        "ssh://-oProxyCommand=touch/x",
        "git@-oProxyCommand=x:path",
        "git@host::path",
        "fd::17/foo",
        "http://example.org/a.git",
        "git://example.org/a.git",
        "file://host/path",
        "/srv/git/up",
        "../up",
        "https://example.org/a b",
        "",
    ],
)
def test_addresses_git_could_run_or_misread_are_refused(url: str) -> None:
    with pytest.raises(RefError):
        check_url(url)


@pytest.mark.parametrize("url", ["https://me:secret@example.org/a", "https://secret@example.org/a"])
def test_credentials_in_an_address_are_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(RefError, match="credential helper") as caught:
        check_url(url)
    assert "secret" not in str(caught.value)


def test_mirror_with_the_longest_prefix_wins() -> None:
    mirrors = {"https://github.com/": "https://mirror/gh/", "https://github.com/ROCm/": "https://mirror/rocm/"}
    assert mirrored("https://github.com/ROCm/aiter.git", mirrors) == "https://mirror/rocm/aiter.git"
    assert mirrored("https://github.com/vllm/x", mirrors) == "https://mirror/gh/vllm/x"


def test_mirror_prefix_does_not_match_inside_a_name() -> None:
    mirrors = {"https://github.com/ROCm/aiter": "https://mirror/a"}
    assert mirrored("https://github.com/ROCm/aiter-fork", mirrors) == "https://github.com/ROCm/aiter-fork"
    assert mirrored("https://github.com/ROCm/aiter.git", mirrors) == "https://mirror/a.git"


@pytest.mark.parametrize(
    "mirror", ["https://m/", "http://m:8080/", "git://m/", "ssh://git@m:22/", "git@m:", "file:///srv/"]
)
def test_mirror_of_any_transport_git_has_is_taken(mirror: str) -> None:
    mirrors = parse_mirrors(f"https://h/={mirror}")
    assert git_address("https://h/o/r", mirrors) == f"{mirror}o/r"


@pytest.mark.parametrize(
    "mirror", ["ssh://-oProxyCommand=touch/", "ssh://", "ext::sh -c ", "-oProxyCommand=x@host:", "git@m::", "file://"]
)
def test_address_that_a_mirror_leads_to_is_checked_like_any(mirror: str) -> None:
    with pytest.raises(RefError, match="its mirror"):
        git_address("https://h/-oProxyCommand=touch/r", {"https://h/": mirror})


def test_mirrors_of_the_environment_are_pairs_parted_by_blanks_or_commas() -> None:
    text = "https://github.com/=file:///srv/gh/, git@github.com:=/srv/gh/\n"
    assert parse_mirrors(text) == {"https://github.com/": "file:///srv/gh/", "git@github.com:": "file:///srv/gh/"}
    assert parse_mirrors("") == {}


@pytest.mark.parametrize(
    "text",
    [
        "https://github.com/",
        "=x",
        "https://a/=ext::sh -c id",
        "https://a/=--upload-pack=x",
        "https://a/=ssh://-oProxyCommand=touch",
        "https://a/=-oProxyCommand=x@host:",
        "https://a/=https://me:secret@host/",
    ],
)
def test_mirrors_that_are_no_pair_of_addresses_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="IMAGEPINS_MIRRORS"):
        parse_mirrors(text)


@pytest.mark.parametrize(
    ("url", "page"),
    [
        ("https://github.com/ROCm/aiter.git", "https://github.com/ROCm/aiter"),
        ("git@github.com:ROCm/aiter.git", "https://github.com/ROCm/aiter"),
        ("ssh://git@github.com:22/ROCm/aiter", "https://github.com/ROCm/aiter"),
        ("https://example.org:8443/a/b/", "https://example.org:8443/a/b"),
        ("file:///srv/up", None),
    ],
)
def test_web_page_of_a_repository(url: str, page: str | None) -> None:
    assert web_url(url) == page


def test_one_repository_has_many_addresses() -> None:
    assert is_same_repository("https://github.com/rocm/AITER", "git@github.com:ROCm/aiter.git")
    assert not is_same_repository("https://github.com/me/aiter", "https://github.com/ROCm/aiter")
