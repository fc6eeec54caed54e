"""What people type and paste, and what is asked for then."""

import pytest

from imagepins.errors import RefError
from imagepins.gitrepo.wanted import parse_wanted

URL = "https://github.com/ROCm/rccl.git"
SHA = "1c0ab425abda9d1fd80fa977c253556b14eb140b"


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        (SHA, "sha", SHA),
        (f" {SHA.upper()}\n", "sha", SHA),
        ("1c0ab425", "short", "1c0ab425"),
        ("deadbeef", "short", "deadbeef"),
        ("20260817", "short", "20260817"),
        ("1234567e8", "short", "1234567e8"),
        ("main", "name", "main"),
        ("abc", "name", "abc"),
        ("users/x/main", "name", "users/x/main"),
        ("v2.27.0", "name", "v2.27.0"),
        ("heads/rel", "branch", "rel"),
        ("refs/heads/foo/main", "branch", "foo/main"),
        ("tags/rel", "tag", "rel"),
        ("refs/tags/v1", "tag", "v1"),
        ("HEAD", "head", ""),
        ("pull/7", "pull", "7"),
        ("pr/7", "pull", "7"),
        ("#7", "pull", "7"),
        ("!7", "pull", "7"),
        ("refs/pull/7/head", "pull", "7"),
        ("merge-requests/7", "pull", "7"),
        ("ROCm/rccl#7", "pull", "7"),
        (f"https://github.com/ROCm/rccl/commit/{SHA}", "sha", SHA),
        (f"https://github.com/ROCm/rccl/commit/{SHA.upper()}?diff=split#L1", "sha", SHA),
        (f"https://github.com/rocm/RCCL/tree/{SHA}/projects", "sha", SHA),
        ("https://github.com/ROCm/rccl/tree/foo/main", "tree", "foo/main"),
        ("https://github.com/ROCm/rccl/tree/foo%2Fmain/", "tree", "foo/main"),
        ("https://github.com/ROCm/rccl/blob/main/src/init.cc#L10", "tree", "main/src/init.cc"),
        ("https://github.com/ROCm/rccl/releases/tag/v1", "tag", "v1"),
        ("https://github.com/ROCm/rccl/pull/7", "pull", "7"),
        ("https://github.com/ROCm/rccl/pull/7.diff", "pull", "7"),
        (f"https://github.com/ROCm/rccl/commit/{SHA}.patch", "sha", SHA),
        ("https://github.com/ROCm/rccl/pull/7/files", "pull", "7"),
        (f"https://github.com/ROCm/rccl/pull/7/commits/{SHA}", "sha", SHA),
        ("https://github.com/ROCm/rccl/archive/refs/tags/v1.tar.gz", "tag", "v1"),
        ("https://github.com/ROCm/rccl/archive/refs/heads/foo/main.zip", "branch", "foo/main"),
        (f"https://github.com/ROCm/rccl/archive/{SHA}.tar.gz", "sha", SHA),
        ("https://github.com/ROCm/rccl/archive/v1.2.tar.gz", "name", "v1.2"),
        ("https://github.com/ROCm/rccl/tarball/v1", "name", "v1"),
        ("https://github.com/ROCm/rccl/releases/download/v1/rccl.tgz", "tag", "v1"),
    ],
)
def test_forms_of_a_ref(text: str, kind: str, value: str) -> None:
    wanted = parse_wanted(text, URL)
    assert (wanted.kind, wanted.value) == (kind, value)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        (f"https://gitlab.com/a/b/c/-/commit/{SHA}", "sha", SHA),
        ("https://gitlab.com/a/b/c/-/merge_requests/7", "pull", "7"),
        ("https://gitlab.com/a/b/c/-/tree/foo/main?ref_type=heads", "tree", "foo/main"),
        ("https://gitlab.com/a/b/c/-/tags/v1", "tag", "v1"),
        ("https://gitlab.com/a/b/c/-/archive/v1.2/c-v1.2.tar.bz2", "name", "v1.2"),
        ("https://gitlab.com/a/b/c/-/archive/foo/main/c-foo-main.zip", "name", "foo/main"),
    ],
)
def test_pages_of_gitlab(text: str, kind: str, value: str) -> None:
    wanted = parse_wanted(text, "git@gitlab.com:a/b/c.git")
    assert (wanted.kind, wanted.value) == (kind, value)


@pytest.mark.parametrize("sha", [SHA, SHA[:8]])
def test_commit_on_the_page_of_a_pull_keeps_the_pull(sha: str) -> None:
    assert parse_wanted(f"https://github.com/ROCm/rccl/pull/7/commits/{sha}", URL).pull == "7"
    assert parse_wanted("pull/7", URL).pull == "7"
    assert parse_wanted(SHA, URL).pull == ""


@pytest.mark.parametrize("digits", [39, 41, 64])
def test_hex_of_nearly_the_right_length_is_an_error_and_no_branch(digits: int) -> None:
    with pytest.raises(RefError, match=f"{digits} hex digits; a commit has 40"):
        parse_wanted("a" * digits, URL)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "--upload-pack=x",
        "-x",
        "a b",
        "main~1",
        "main^",
        "a..b",
        "x:y",
        "a\\b",
        "*",
        "x.lock",
        "@{u}",
        "refs/keep/x",
    ],
)
def test_text_that_cannot_name_a_commit_is_refused(text: str) -> None:
    with pytest.raises(RefError):
        parse_wanted(text, URL)


@pytest.mark.parametrize(
    "text", ["https://github.com/me/rccl/pull/7", "me/rccl#7", f"https://evil.org/ROCm/rccl/commit/{SHA}"]
)
def test_page_of_another_repository_is_refused(text: str) -> None:
    with pytest.raises(RefError, match="another repository"):
        parse_wanted(text, URL)


@pytest.mark.parametrize("text", ["https://github.com/ROCm/rccl", "https://a.org", "git@github.com:ROCm/rccl.git"])
def test_address_that_names_no_commit_is_refused(text: str) -> None:
    with pytest.raises(RefError):
        parse_wanted(text, URL)


def test_pull_number_is_a_number() -> None:
    with pytest.raises(RefError, match="not the number"):
        parse_wanted("pull/0", URL)
