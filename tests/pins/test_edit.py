"""Edits change the value's own characters and nothing else in the file."""

import random
from collections.abc import Callable
from unittest.mock import Mock

import pytest
import yaml as pyyaml

from imagepins.errors import PinsError
from imagepins.pins import text as yaml
from imagepins.pins.edit import (
    insert_key,
    quoted,
    remove_key,
    rename_key,
    replace_value,
    splice,
    tag_comment,
)
from imagepins.pins.text import Text

OLD = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
NEW = "25e14349f2606a6b95c4ccd45eb92a1835646cf2"


def value_of(source: str, *path: str) -> Text:
    value: yaml.Value | None = yaml.parse(source, "pins.yaml").top
    for name in path:
        assert isinstance(value, yaml.Mapping)
        value = value.get(name)
    assert isinstance(value, Text)
    return value


def replaced(source: str, *path: str, new: str = NEW) -> str:
    return splice(source, [replace_value(source, value_of(source, *path), new, place="pins.yaml:1")])


@pytest.mark.parametrize(
    "source",
    [
        f'# do not bump\npins:\n  rccl:\n    ref: "{OLD}"      # release/2.27\n    patches: {{}}   # none for now\n',
        f"pins: {{rccl: {{ref: '{OLD}', other: x}}}}\n",
        f"pins:\n  rccl: {{ref: {OLD}}}\n",
        f'pins:\r\n  rccl:\r\n    ref: "{OLD}"\r\n  b: c\r\n',
        f'pins:\r\n  rccl:\n    ref: "{OLD}"\n  b: c\r\n',
        f'é: "“quoted” 🎉"\npins:\n  rccl:\n    ref: "{OLD}" # ünï\n',
        f'pins:\n  rccl:\n    ref:\n      "{OLD}"\n',
        f"pins:\n  rccl:\n    ref: &tri '{OLD}'   # shared\n  b: {{ref: *tri}}\n",
        f'pins:\n  rccl: {{"ref": "{OLD}"}}',
        f"? pins\n: ? rccl\n  : ref: '{OLD}'\n",
    ],
    ids=["comments", "flow", "plain", "crlf", "mixed", "unicode", "own line", "anchor", "no end", "explicit keys"],
)
def test_only_the_value_changes(source: str) -> None:
    assert replaced(source, "pins", "rccl", "ref") == source.replace(OLD, NEW, 1)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("1234567e8", '"1234567e8"'),
        ("4225332178759948e04347560002921719079454", '"4225332178759948e04347560002921719079454"'),
        ("12345678", '"12345678"'),
        ("01234568", '"01234568"'),
        ("7.10", '"7.10"'),
        ("2026-08-17", '"2026-08-17"'),
        ("12:30:45", '"12:30:45"'),
        ("0x1f", '"0x1f"'),
        ("yes", '"yes"'),
        ("Null", '"Null"'),
        ("a b", '"a b"'),
        ('say "x"\\', '"say \\"x\\"\\\\"'),
        (NEW, NEW),
        ("v2.27.0", "v2.27.0"),
    ],
)
def test_bare_value_gets_quotes_where_a_reader_could_see_a_number(value: str, written: str) -> None:
    source = f"a: {{ref: {OLD}}}\nb: 1\n"
    assert replaced(source, "a", "ref", new=value) == source.replace(OLD, written, 1)


@pytest.mark.parametrize(("style", "written"), [("'", "'it''s'"), ('"', '"it\'s"')])
def test_quotes_are_kept_and_escaped(style: str, written: str) -> None:
    assert quoted("it's", style) == written


def test_alias_is_refused_with_its_place() -> None:
    source = f'a: &tri "{OLD}"\nb: *tri\n'
    with pytest.raises(PinsError, match=r"pins.yaml:2: .*alias"):
        replace_value(source, value_of(source, "b"), NEW, place="pins.yaml:2")


def test_block_text_is_refused() -> None:
    source = f"a: >-\n  {OLD}\nb: 1\n"
    with pytest.raises(PinsError, match="one line"):
        replace_value(source, value_of(source, "a"), NEW, place="pins.yaml:1")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            'p:\n  a:\n    g: x\n    c: "y"  # note\n    z: 1\n',
            'p:\n  a:\n    g: x\n    c: "y"  # note\n    v: "2.30"\n    z: 1\n',
        ),
        ('p: {a: {g: x, c: "y", z: 1}}\n', 'p: {a: {g: x, c: "y", v: "2.30", z: 1}}\n'),
        ('p:\r\n  a:\r\n    c: "y"\r\n', 'p:\r\n  a:\r\n    c: "y"\r\n    v: "2.30"\r\n'),
        ('p:\n  a:\n    c: "y"', 'p:\n  a:\n    c: "y"\n    v: "2.30"'),
        ('p:\r  a:\r    c: "y"  # é\r', 'p:\r  a:\r    c: "y"  # é\r    v: "2.30"\r'),
        ('{"p": {"a": {"c": "y"}}}\n', '{"p": {"a": {"c": "y", "v": "2.30"}}}\n'),
        (
            "p:\n  a:\n    c:\n      - 1\n      - 2\n    z: 1\n",
            'p:\n  a:\n    c:\n      - 1\n      - 2\n    v: "2.30"\n    z: 1\n',
        ),
    ],
)
def test_key_is_added_in_the_style_of_its_mapping(before: str, after: str) -> None:
    assert splice(before, [insert_key(before, ["p", "a"], "c", "v", "2.30")]) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("p:\n  a:\n    g: x\n    v: y\n    z: 1\n", "p:\n  a:\n    g: x\n    z: 1\n"),
        ("p:\n  a:\n    v: |\n      y\n      # text\n    z: 1\n", "p:\n  a:\n    z: 1\n"),
        ('p:\n  a:\n    v: "y # text"\n    z: 1\n', "p:\n  a:\n    z: 1\n"),
        ("p: {a: {g: x, v: y, z: 1}}\n", "p: {a: {g: x, z: 1}}\n"),
        ("p: {a: {v: y, z: 1}}\n", "p: {a: {z: 1}}\n"),
        ("p: {a: {g: x, v: y}}\n", "p: {a: {g: x}}\n"),
        ("p:\r\n  a:\r\n    g: x\r\n    v: y\r\n", "p:\r\n  a:\r\n    g: x\r\n"),
        ("p:\r  a:\r    v: y\r    g: x\r", "p:\r  a:\r    g: x\r"),
        ("p:\n  a:\n    g: x\n    v: y", "p:\n  a:\n    g: x\n"),
    ],
)
def test_key_is_taken_out_whole(before: str, after: str) -> None:
    assert splice(before, [remove_key(before, ["p", "a"], "v")]) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("p:\n  a:\n    v: y  # stays\n    z: 1\n", "p:\n  a:\n    # stays\n    z: 1\n"),
        ("p:\r\n  a:\r\n    v: y  # é\r\n    z: 1\r\n", "p:\r\n  a:\r\n    # é\r\n    z: 1\r\n"),
        ("p:\n  a:\n    v:  # one\n      y  # two\n    z: 1\n", "p:\n  a:\n    # one\n    # two\n    z: 1\n"),
        ("p:\n  a:\n    z: 1\n    v: y  # stays", "p:\n  a:\n    z: 1\n    # stays\n"),
        ("p:\n  a: {\n    v: y,  # a, b\n    z: 1 }\n", "p:\n  a: {\n      # a, b\n    z: 1 }\n"),
        ("p:\n  a: { v: y  # one\n    , z: 1}\n", "p:\n  a: {   # one\n     z: 1}\n"),
        ("p:\n  a: {z: 1,  # one\n    v: y  # two\n    }\n", "p:\n  a: {z: 1  # one\n      # two\n    }\n"),
    ],
)
def test_comments_beside_a_key_that_is_taken_out_stay(before: str, after: str) -> None:
    written = splice(before, [remove_key(before, ["p", "a"], "v")])
    assert written == after
    assert value_of(written, "p", "a", "z") == "1"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("p: {branch: main}\n", 'p: {pull: "7", then: main}\n'),
        ("p: {'branch': &b 'main'}\n", "p: {'pull': \"7\", 'then': &b 'main'}\n"),
        ("p:\n  branch: main  # why\n", 'p:\n  pull: "7"\n  then: main  # why\n'),
        ("p:\r\n  branch:  # why\r\n    main\r\n", 'p:\r\n  pull: "7"\r\n  then:  # why\r\n    main\r\n'),
    ],
)
def test_key_gets_another_name_and_one_before_it(before: str, after: str) -> None:
    assert splice(before, [rename_key(before, ["p"], "branch", "then", before=[("pull", '"7"')])]) == after


def test_edits_at_one_place_keep_their_order() -> None:
    source = 'a:\n  c: "x"\nb: 1\n'
    comment = tag_comment(source, value_of(source, "a", "c"), "v1")
    assert comment is not None
    assert splice(source, [comment, insert_key(source, ["a"], "c", "v", "2")]) == (
        'a:\n  c: "x"  # frozen: v1\n  v: "2"\nb: 1\n'
    )


def test_text_is_composed_once_for_all_edits_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    composed = Mock(wraps=pyyaml.compose)
    monkeypatch.setattr(pyyaml, "compose", composed)
    source = "p: {" + ", ".join(f"k{number}: {{c: x}}" for number in range(50)) + "}\n"
    edits = [insert_key(source, ["p", f"k{number}"], "c", "v", "2.30") for number in range(50)]
    assert splice(source, edits).count('v: "2.30"') == 50
    assert composed.call_count == 1


def test_five_thousand_generated_files_change_in_the_value_alone() -> None:
    """Styles, quotes, comments, line ends, order, indentation and odd characters, mixed at random from a fixed seed."""
    rng = random.Random(20261130)  # noqa: S311 - the same files in every run
    for _ in range(5000):
        source, name, token = _generated(rng)
        value = value_of(source, "pins", name, "commit")
        new = _random_value(rng)
        edit = replace_value(source, value, new, place="pins.yaml:1")
        assert source[edit.start : edit.end] == token
        after = splice(source, [edit])
        assert after == source[: edit.start] + edit.new + source[edit.end :]
        assert edit.new in (new, f'"{new}"', f"'{new}'")
        assert value_of(after, "pins", name, "commit") == new
        assert _without(after, name) == _without(source, name)


def _without(source: str, name: str) -> object:
    tree = yaml.parse(source, "pins.yaml").top
    pins = tree.get("pins")
    assert isinstance(pins, yaml.Mapping)
    entries = {str(key): _plain(value) for key, value in pins.entries.items()}
    fields = entries[name]
    assert isinstance(fields, dict)
    return {**entries, name: {**fields, "commit": None}}


def _plain(value: yaml.Value) -> object:
    if isinstance(value, yaml.Mapping):
        return {str(key): _plain(item) for key, item in value.entries.items()}
    return [_plain(item) for item in value.items] if isinstance(value, yaml.Sequence) else str(value)


def _random_value(rng: random.Random) -> str:
    makers: list[Callable[[], str]] = [
        lambda: "".join(rng.choices("0123456789abcdef", k=40)),
        lambda: "".join(rng.choices("0123456789", k=rng.choice([7, 8, 12, 40]))),
        lambda: f"{rng.randrange(10**7)}e{rng.randrange(10**9)}",
        lambda: f"v{rng.randrange(9)}.{rng.randrange(99)}.{rng.randrange(9)}",
        lambda: f"sha256:{rng.getrandbits(256):064x}",
    ]
    return rng.choice(makers)()


def _generated(rng: random.Random) -> tuple[str, str, str]:
    """A pin file, the name of one of its pins, and the token of that pin's commit."""
    names = rng.sample(["rccl", "hip", "triton", "aiter", "mori", "torch-2.x", "a_b"], k=rng.randint(1, 5))
    chosen, token = rng.choice(names), ""
    step = " " * rng.choice([1, 2, 4])
    lines = [*rng.choices(["# ä comment", "", "# 🎉 frozen: v0"], k=rng.randrange(3)), "pins:"]
    for name in names:
        same_value = rng.choice([OLD, NEW, "deadbeefdeadbeefdeadbeefdeadbeefdeadbeef"])
        quote = rng.choice(["", "'", '"'])
        commit = f"{quote}{same_value}{quote}"
        token = commit if name == chosen else token
        anchor = rng.choice(["", "", f"&{name.replace('.', '-')} "])
        fields = [f"commit: {anchor}{commit}", f"note: 'it''s {same_value} # no comment'", f'git: "https://x/{name}"']
        rng.shuffle(fields)
        comment = rng.choice(["", "  # frozen: v1, keep", f" # {same_value} ü"])
        if rng.random() < 0.4:
            lines.append(f"{step}{name}: {{{', '.join(fields)}}}{comment}")
        else:
            lines.append(f"{step}{name}:")
            lines += [f"{step * 2}{field}{rng.choice(['', comment])}" for field in fields]
        lines += rng.choices(["", "# between"], k=rng.randrange(2))
    ends = rng.choice([["\n"], ["\r\n"], ["\n", "\r\n"]])
    return "".join(line + rng.choice(ends) for line in lines), chosen, token
