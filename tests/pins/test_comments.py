"""The comment behind a commit: what it says of the commit is kept true, all else stays."""

import pytest

from imagepins.pins import text as yaml
from imagepins.pins.edit import splice, tag_comment, tag_told
from imagepins.pins.text import Text


def commit_in(source: str) -> Text:
    """The value of ``r``, at the top or below ``a``."""
    tree = yaml.parse(source, "pins.yaml").top
    below = tree.get("a")
    value = (below if isinstance(below, yaml.Mapping) else tree).get("r")
    assert isinstance(value, Text)
    return value


@pytest.mark.parametrize(
    ("before", "tag", "after"),
    [
        ('r: "x"  # frozen: v2.26.1, keep: NAVI fix\n', "v2.27.0", 'r: "x"  # frozen: v2.27.0, keep: NAVI fix\n'),
        ('r: "x"  # frozen: v2.26.1, keep: NAVI fix\n', None, 'r: "x"  # keep: NAVI fix\n'),
        ('r: "x"  # frozen: v2.26.1\n', None, 'r: "x"\n'),
        ('r: "x"  # frozen: v2.26.1\r\nb: 1\r\n', None, 'r: "x"\r\nb: 1\r\n'),
        ('r: "x"  # frozen:v1\n', "v2", 'r: "x"  # frozen: v2\n'),
        ('r: "x"  # keep: NAVI fix; frozen: v1\n', None, 'r: "x"  # keep: NAVI fix\n'),
        ('r: "x"  # keep: NAVI fix\n', None, 'r: "x"  # keep: NAVI fix\n'),
        ('r: "x"  # keep: NAVI fix\n', "v2", 'r: "x"  # frozen: v2, keep: NAVI fix\n'),
        ('r: "x"\n', "v2", 'r: "x"  # frozen: v2\n'),
        ('r: "x"', "v2", 'r: "x"  # frozen: v2'),
        ('r: "x"\r\n', "v2", 'r: "x"  # frozen: v2\r\n'),
        ('r: "x"\n', None, 'r: "x"\n'),
        ('a: {r: "x"}   # frozen: v1, é\n', "v2", 'a: {r: "x"}   # frozen: v2, é\n'),
        ('a: {r: "x", n: "a # frozen: v0"}  # frozen: v1\n', "v2", 'a: {r: "x", n: "a # frozen: v0"}  # frozen: v2\n'),
        ("a: {r: 'x', n: it's}  # frozen: v1\n", None, "a: {r: 'x', n: it's}\n"),
        ('a: {r: "x", n: "y"}\n', "v2", 'a: {r: "x", n: "y"}\n'),
        ('a: {r: "x"}\n', "v2", 'a: {r: "x"}  # frozen: v2\n'),
        ('r: "x#frozen: v1"\n', None, 'r: "x#frozen: v1"\n'),
        ('r: "x"  # frozen: v1 and then words\n', None, 'r: "x"  # and then words\n'),
        ('r: "x"  # v1\n', None, 'r: "x"\n'),
        ('r: "x" #v1\n', None, 'r: "x"\n'),
        ('r: "x"  # v1\n', "20260817", 'r: "x"  # 20260817\n'),
        ('r: "x"  # v1.2.3 (release)\n', None, 'r: "x"  # (release)\n'),
        ('r: "x"  # v1.2.3 (release)\n', "v1.3.0", 'r: "x"  # v1.3.0 (release)\n'),
        ('r: "x"  # v2.26.1-rc1, keep: NAVI fix\n', None, 'r: "x"  # keep: NAVI fix\n'),
        ('r: "x"  # rocm-6.2.0\n', "rocm-7.0.0", 'r: "x"  # rocm-7.0.0\n'),
        ('r: "x"  # release/2.10\n', None, 'r: "x"\n'),
        ('r: "x"  # tag: v1\n', None, 'r: "x"\n'),
        ('r: "x"  # Tag:v1\n', "v2", 'r: "x"  # Tag: v2\n'),
        ('r: "x"  # version: 1.2; keep\n', "v2", 'r: "x"  # version: v2; keep\n'),
        ('r: "x"  # keep, tag: v1\n', None, 'r: "x"  # keep\n'),
        ('r: "x"  # keep, tag: v1\n', "v2", 'r: "x"  # keep, tag: v2\n'),
        ('r: "x"  # branch: rel\n', None, 'r: "x"\n'),
        ('r: "x"  # branch: rel\n', "v2", 'r: "x"  # frozen: v2\n'),
        ('r: "x"  # branch: rel, NAVI\n', "v2", 'r: "x"  # frozen: v2, NAVI\n'),
        ('r: "x"  # branch: main\n', None, 'r: "x"  # branch: main\n'),
        ('r: "x"  # frozen: v1, tag: v1\n', None, 'r: "x"\n'),
        ('r: "x"  # frozen: v1, tag: v1\n', "v2", 'r: "x"  # frozen: v2, tag: v2\n'),
        ('r: "x"  # 2 GPUs\n', None, 'r: "x"  # 2 GPUs\n'),
        ('r: "x"  # 1.5 times faster\n', None, 'r: "x"  # 1.5 times faster\n'),
        ('r: "x"  # v1 needs a fix\n', None, 'r: "x"  # v1 needs a fix\n'),
        ('r: "x"  # see the branch: rel\n', None, 'r: "x"  # see the branch: rel\n'),
        ('r: "x"  # needs v1.2\n', None, 'r: "x"  # needs v1.2\n'),
        ('r: "x"  # https://e.org/tag:v1\n', None, 'r: "x"  # https://e.org/tag:v1\n'),
        ('r: "x"  #\n', None, 'r: "x"  #\n'),
        ('r: "x"  #\n', "v2", 'r: "x"  # frozen: v2\n'),
        ('r: "x"  # branch: main, v1\n', None, 'r: "x"  # branch: main, v1\n'),
        ('r: "x"  # keep ,\n', None, 'r: "x"  # keep ,\n'),
        ('r: "x"  # frozen: v1\rb: 1\r', None, 'r: "x"\rb: 1\r'),
        ('{"r": "x"}\n', "v2", '{"r": "x"}\n'),
    ],
)
def test_comment_with_the_tag_is_kept_true(before: str, tag: str | None, after: str) -> None:
    edit = tag_comment(before, commit_in(before), tag, branch="main")
    assert splice(before, [edit] if edit else []) == after


@pytest.mark.parametrize(
    ("comment", "tag"),
    [
        ("# frozen: v1, keep", "v1"),
        ("# keep; frozen: v1", "v1"),
        ("# v1", "v1"),
        ("# v1.2.3 (release)", "v1.2.3"),
        ("# tag: light", "light"),
        ("# branch: rel", None),
        ("# version: 1.2", None),
        ("# keep", None),
        ("", None),
    ],
)
def test_tag_that_a_comment_tells(comment: str, tag: str | None) -> None:
    source = f'r: "x"  {comment}\nb: 1  # frozen: other\n'
    assert tag_told(source, commit_in(source)) == tag
