"""The comment behind a commit + the tag it now stands for → the comment, true again; what else it says stays."""

import re

_NAMES = r"tag|branch|version|ref|release"
_VALUE = r"[^\s,;]+"
# "v1.2.3", "rocm-6.2.0", "2.10-rc1"; a bare number, or words that go on, could mean anything.
_BARE = r"(?:[A-Za-z]\w*[-_/])*(?:v\d+(?:\.\w+)*|\d+(?:\.\w+)+)(?:[-+.]\w+)*(?=\s*(?:$|[,;(]))"
_TOKEN = re.compile(
    rf"(?P<before>^\#[ \t]*|(?<=[,;])[ \t]*|(?<=[,;][ \t])|\b(?=frozen:))"
    rf"(?:(?P<name>frozen|{_NAMES}):[ \t]*(?P<value>{_VALUE})|(?P<bare>{_BARE}))"
    rf"(?P<after>(?:[ \t]*[,;])?[ \t]*)",
    re.IGNORECASE,
)


def retold(comment: str, tag: str | None, branch: str | None) -> str:
    """``comment``, from its '#' on, with what it says of the commit made true: '' where nothing is left of it.

    Told are ``frozen: TAG`` anywhere, and at the beginning or behind a comma a bare version, ``tag:``, ``version:``,
    ``branch:`` and the like. Without a ``tag`` these go, for a wrong name is worse than none; ``branch`` is the one the
    new commit is part of, which stays true where it is named.
    """
    tokens = [each for each in _tokens(comment) if not (_is_branch(each) and each["value"] == branch)]
    if not tokens and tag is None:
        return comment
    told = [each for each in tokens if tag and not _is_branch(each)]
    for token in reversed(tokens):
        start, end = token.span("value" if token["name"] else "bare")
        if token in told:
            written = f" {tag}" if comment[start - 1] == ":" else str(tag)
        else:
            start, end, written = token.end("before"), token.end(), ""
        comment = comment[:start] + written + comment[end:]
    if tag and not told:
        rest = comment.lstrip("# \t")
        comment = f"# frozen: {tag}" + (f", {rest}" if rest else "")
    if not comment.strip("# \t,;"):
        return ""
    return comment if tag else comment.rstrip(" \t,;")


def told_tag(comment: str) -> str | None:
    """The tag that ``comment`` says the commit was pinned by: ``frozen:``, ``tag:`` or a bare one."""
    told = _tokens(comment)
    tags = (each["value"] or each["bare"] for each in told if (each["name"] or "tag").lower() in ("frozen", "tag"))
    return next(tags, None)


def _tokens(comment: str) -> list[re.Match[str]]:
    """What names something; a bare name only at the beginning, where nothing says what else it could be."""
    return [each for each in _TOKEN.finditer(comment) if each["name"] or each.start() == 0]


def _is_branch(token: re.Match[str]) -> bool:
    return (token["name"] or "").lower() == "branch"
