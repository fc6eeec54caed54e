"""What a person types or pastes for a commit → what exactly is asked of the repository."""

import re
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import unquote

from imagepins.errors import RefError
from imagepins.gitrepo.url import is_same_repository

Kind = Literal["sha", "short", "name", "branch", "tag", "pull", "head", "tree"]

_PAGE = re.compile(
    r"(?P<repository>(?:https?://)[^/\s]+/.+?)(?:/-)?/"
    r"(?P<page>commits?|tree|blob|src/branch|src/tag|src/commit|branch|tags|releases/(?:tag|download)|archive"
    r"|tarball|zipball|pulls?|merge_requests)"
    r"/(?P<rest>[^?#]+)(?:[?#].*)?"
)
_PULL = re.compile(
    r"(?:refs/)?(?:pulls?|pr|mr|merge-requests?|merge_requests)/(\d+)(?:/head)?|[#!](\d+)", re.IGNORECASE
)
_NAME_LIMIT = 250
_NOT_IN_NAMES = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|^/|/$|\.$|\.lock(/|$)|(^|/)\.|^@$")


@dataclass(frozen=True)
class Wanted:
    """One way of naming a commit. ``value`` is lower-case hex, a full name without refs/..., or a number.

    ``name`` may be a branch or a tag, or, if ``value`` is hex, a short sha (``short``); ``tree`` is a name that may be
    followed by a path, as in a pasted URL; ``head`` is the repository's default branch. ``pull`` is the number of the
    pull request that is meant, or on whose page a commit was found.
    """

    kind: Kind
    value: str
    text: str
    pull: str = ""


def parse_wanted(text: str, repository: str) -> Wanted:
    """``text`` as typed, for a pin of ``repository`` → Wanted. Raises RefError for what can name nothing there."""
    typed = text.strip()
    if not typed:
        raise RefError("the ref is empty; give a commit, a branch, a tag or pull/N")
    page = _PAGE.fullmatch(typed)
    if page:
        return _from_page(page, typed, repository)
    if re.match(r"\w+://|[\w.-]+@[\w.-]+:", typed):
        raise RefError(f"{typed}: no commit, tree, tag or pull URL of a repository")
    if named := re.fullmatch(r"([\w.-]+/[\w.-]+)#(\d+)", typed):
        _check_same(f"{repository.rsplit('/', 2)[0]}/{named[1]}", typed, repository)
        return _pull(named[2], typed)
    return _from_name(typed)


def _from_page(page: re.Match[str], typed: str, repository: str) -> Wanted:
    _check_same(page["repository"], typed, repository)
    rest = unquote(page["rest"]).strip("/")
    match page["page"]:
        case "pull" | "pulls" | "merge_requests":
            return _from_pull_page(_without_format(rest), typed)
        case "archive" | "tarball" | "zipball":
            return _from_name(_archived(rest))
        case "releases/download":
            return Wanted("tag", _checked(rest.partition("/")[0], typed), typed)
        case "releases/tag" | "tags" | "src/tag":
            return Wanted("tag", _checked(rest, typed), typed)
        case "branch" | "src/branch":
            return Wanted("branch", _checked(rest, typed), typed)
        case "commit" | "src/commit":
            return _from_name(_without_format(rest.partition("/")[0]))
        case _:
            first = rest.partition("/")[0]
            if re.fullmatch(r"[0-9a-fA-F]{40}", first):
                return Wanted("sha", first.lower(), typed)
            return Wanted("tree", _checked(rest, typed), typed)


def _without_format(rest: str) -> str:
    """The page itself of ``SHA.patch`` and the like."""
    return re.sub(r"\.(patch|diff)$", "", rest)


def _from_pull_page(rest: str, typed: str) -> Wanted:
    number, _, below = rest.partition("/")
    if commit := re.match(r"commits/([0-9a-fA-F]{7,40})", below):
        return replace(_from_name(commit[1]), pull=_number(number, typed))
    return _pull(number, typed)


def _from_name(typed: str) -> Wanted:
    if typed == "HEAD":
        return Wanted("head", "", typed)
    if pull := _PULL.fullmatch(typed):
        return _pull(pull[1] or pull[2], typed)
    if qualified := re.fullmatch(r"(?:refs/)?(heads|tags)/(.+)", typed):
        return Wanted("branch" if qualified[1] == "heads" else "tag", _checked(qualified[2], typed), typed)
    if typed.startswith("refs/"):
        raise RefError(f"{typed}: only branches, tags and pull requests are followed")
    digits = typed.lower()
    if not re.fullmatch(r"[0-9a-f]+", digits) or len(digits) < 4:
        return Wanted("name", _checked(typed, typed), typed)
    if len(digits) == 40:
        return Wanted("sha", digits, typed)
    if len(digits) >= 39:
        raise RefError(f"{typed}: {len(digits)} hex digits; a commit has 40")
    return Wanted("short", typed, typed)


def _checked(name: str, typed: str) -> str:
    if name.startswith("-") or _NOT_IN_NAMES.search(name) or len(name) > _NAME_LIMIT:
        raise RefError(
            f"{typed[:80]!r}: cannot be the name of a branch or tag; give a commit, a branch, a tag or pull/N"
        )
    return name


def _archived(rest: str) -> str:
    """What ``NAME.tar.gz``, or ``NAME/PROJECT-NAME.tar.gz`` as GitLab has it, is an archive of."""
    name = re.sub(r"\.(tar(\.\w+)?|tgz|tbz2|zip)$", "", rest)
    folder, _, file = name.rpartition("/")
    return folder if folder and file.endswith("-" + folder.replace("/", "-")) else name


def _pull(digits: str, typed: str) -> Wanted:
    number = _number(digits, typed)
    return Wanted("pull", number, typed, number)


def _number(digits: str, typed: str) -> str:
    if not re.fullmatch(r"[1-9]\d{0,9}", digits):
        raise RefError(f"{typed}: '{digits}' is not the number of a pull request")
    return digits


def _check_same(url: str, typed: str, repository: str) -> None:
    if not is_same_repository(url, repository):
        raise RefError(f"{typed}: is of another repository; this pin comes from {repository}")
