"""What a pin file may hold, and what each mistake in one is told as."""

import json
from pathlib import Path

import jsonschema
import pytest

from imagepins.errors import PinsError
from imagepins.pins.load import load, loads
from imagepins.pins.model import GitPin
from imagepins.pins.schema import json_schema
from imagepins.pins.spec import FILE
from imagepins.pins.text import Findings, Text

SHA = "1c0ab425abda9d1fd80fa977c253556b14eb140b"
DIGEST = "sha256:" + "5e" * 32
MINIMAL = f"""\
schema: 1
pins:
  rccl:
    git: https://example.org/rocm-systems.git
    commit: "{SHA}"
images:
  base:
    template: Dockerfile.j2
    pins: [rccl]
    variants: {{gfx942: {{}}}}
"""


def findings(source: str) -> list[str]:
    with pytest.raises(Findings) as caught:
        loads(source)
    return str(caught.value).splitlines()


def pin(fields: str) -> str:
    """A file whose only wrong part can be the pin x, on line 3."""
    return f"schema: 1\npins:\n  x: {fields}\nimages: {{}}\n"


def test_smallest_file_loads() -> None:
    pinset = loads(MINIMAL)
    assert list(pinset.targets) == ["base/gfx942"]
    assert pinset.pins["rccl"].id == SHA
    assert pinset.place(pinset.pins["rccl"].id or Text()) == "pins.yaml:5"


def test_shipped_file_loads_and_holds_the_two_pins_it_was_made_for(repository: Path) -> None:
    pins = load(repository / "pins.yaml").pins
    runtime, rccl = pins["rocm-runtime"], pins["rccl"]
    assert isinstance(runtime, GitPin)
    assert isinstance(rccl, GitPin)
    assert runtime.commit == "25e14349f2606a6b95c4ccd45eb92a1835646cf2"
    assert runtime.path == ("projects/clr", "projects/hip", "projects/rocr-runtime")
    assert (runtime.version, runtime.component) == ("7.16", "hip")
    assert rccl.commit == SHA
    assert rccl.track is not None
    assert (rccl.track.pull, rccl.track.then) == ("14254", "develop")
    assert rccl.note == "fixes the random hang"


@pytest.mark.parametrize(
    "value",
    ["1234567e8", "0e123456", "01234568", "01234567", "12345678", "7.10", "2026-08-17", "12:30:45", "on", "~", "0x1F"],
)
def test_scalar_is_the_text_in_the_file_whatever_yaml_makes_of_it(value: str) -> None:
    if value in {"~"}:
        assert findings(pin(f"{{image: a/b, tag: {value}, digest: '{DIGEST}'}}"))
        return
    source = pin(f"{{image: a/b, tag: {value.replace(':', '.')}, digest: '{DIGEST}'}}")
    assert loads(source).pins["x"].tag == value.replace(":", ".")  # type: ignore[attr-defined]


def test_sha_that_is_a_float_to_yaml_keeps_its_40_characters() -> None:
    sha = "4225332178759948e04347560002921719079454"
    assert loads(pin(f"{{git: 'https://example.org/x.git', commit: {sha}}}")).pins["x"].id == sha


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("{git: 'https://h/x.git', commit: §abc123}", "a short sha of 6 digits"),
        (f"{{git: 'https://h/x.git', commit: §{SHA.upper()}}}", "write it in lower case"),
        (f"{{git: 'https://h/x.git', commit: §{SHA}0}}", "41 digits"),
        ("{git: 'https://h/x.git', commit: §develop}", "a branch or tag name"),
        ("{git: 'https://h/x.git', §comit: a}", "a git pin has no key 'comit'; did you mean 'commit'?"),
        ("{git: 'https://h/x.git', commit: §}", "found nothing"),
        ("{git: 'https://h/x.git', commit: §[a]}", "found a list"),
        ("§{git: 'https://h/x.git'}", "needs a track"),
        ("{git: §'http://h/x.git', track: {branch: a}}", "use https"),
        ("{git: §'ext::sh -c id', track: {branch: a}}", "expected a git URL"),
        ("{git: §'--upload-pack=id', track: {branch: a}}", "expected a git URL"),
        ("{git: §'git@-oProxyCommand=id:x', track: {branch: a}}", "expected a git URL"),
        ("{git: §'ssh://-oProxyCommand=id/x', track: {branch: a}}", "expected a git URL"),
        ("{git: §'https://me:secret@h/x.git', track: {branch: a}}", "credentials never stand in pins.yaml"),
        ("{git: 'https://h/x.git', track: {branch: §--upload-pack=id}}", "expected a branch or tag name"),
        ("{git: 'https://h/x.git', track: {branch: §a..b}}", "expected a branch or tag name"),
        ("{git: 'https://h/x.git', track: §{branch: a, tag: b}}", "exactly one of branch, tag, pull"),
        ("{git: 'https://h/x.git', track: §{pull: '7'}}", "a pull request needs 'then'"),
        ("{git: 'https://h/x.git', track: {branch: a}, path: §../x}", "without '..'"),
        ("§{gti: 'https://h/x.git'}", "found none of them; did you mean 'git'?"),
        ("§{git: 'https://h/x.git', pypi: torch}", "found git and pypi"),
        ("{image: §'ubuntu:24.04', tag: x}", "write the tag under 'tag:'"),
        ("{image: ubuntu, tag: §'24.04  # was 22.04'}", "expected an image tag"),
        ("{image: ubuntu, tag: a, digest: §'sha256:abc'}", "3 digits"),
        (f"{{image: ubuntu, tag: a, digest: §{'5e' * 32}}}", "write sha256: before it"),
        (f"{{image: ubuntu, tag: a, digest: '{DIGEST}', allow_tag: §x}}", "remove one of the two"),
        (f"{{url: 'https://h/f', sha256: §'{DIGEST}'}}", "leave sha256: out"),
        ("{url: §'http://h/f', sha256: ''}", "use https"),
        ("{pypi: torch, version: §'>=2.0'}", "an exact version"),
        ("§{pypi: torch}", "a pypi pin lacks version"),
        ("{apt: librccl1, version: §'5.4.3-*', suite: trixie}", "an exact version"),
        ('{pypi: torch, version: "2", note: §"a\\nRUN id"}', "expected one line of text"),
        ("{pypi: torch, version: '2', review_by: §'2026-13-01'}", "expected a date"),
    ],
)
def test_wrong_pin_is_told_with_place_key_and_hint(fields: str, message: str) -> None:
    """``§`` marks where the finding must point."""
    column = pin(fields).splitlines()[2].index("§") + 1
    told = findings(pin(fields.replace("§", "")))
    assert any(line.startswith(f"pins.yaml:3:{column}: pins.x") and message in line for line in told), told


def test_credentials_in_a_url_are_not_repeated_in_the_message() -> None:
    told = findings(pin("{git: 'https://me:secret@h/x.git', track: {branch: a}}"))
    assert "secret" not in "".join(told)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("", "pins.yaml:1:1: is empty"),
        ("# only a comment\n", "pins.yaml:1:1: is empty"),
        ("- a\n", "pins.yaml:1:1: expected a mapping at the top, found a list"),
        ("schema: 1\n---\nschema: 1\n", "pins.yaml:2:1: a second document"),
        ("schema: 1\npins:\n\trccl: {}\n", "pins.yaml:3:1: a tab stands"),
        ("schema: 1\npins: {a: [\n", "is not YAML"),
        ("schema: !!python/object:os.system 1\n", "python/object:os.system means nothing here"),
        ("schema: !thing 1\n", "the tag !thing means nothing here"),
        ("schema: 1\n<<: {a: b}\n", "merge keys are not supported"),
        ("schema: 1\npins: &a {b: *a}\n", "an alias refers to the collection it stands in"),
        ("schema: 1\n? [a, b]\n: c\n", "a key must be plain text"),
        ("schema: 1\nx: \x07\n", "is not allowed"),
        ("schema: 2\npins: {}\nimages: {}\n", "expected schema 1, the only one this tool knows, found the text '2'"),
        ("schema: 1\npins: {}\nimages: {}\nimagse: {}\n", "did you mean 'images'?"),
    ],
)
def test_file_that_is_not_a_pin_file_is_told(source: str, expected: str) -> None:
    assert any(expected in line for line in findings(source)), findings(source)


def test_duplicate_key_names_both_lines() -> None:
    source = "schema: 1\npins:\n  rccl: {pypi: a, version: '1'}\n  rccl: {pypi: b, version: '2'}\nimages: {}\n"
    assert findings(source) == ["pins.yaml:4:3: pins.rccl: is given twice, first on line 3"]


def test_duplicate_keys_and_tags_hide_no_other_mistake() -> None:
    source = MINIMAL.replace("schema: 1", "schema: 3\nschema: 1").replace(f'"{SHA}"', "!x develop")
    told = findings(source)
    assert [line.split(": ")[1] for line in told] == ["schema", "schema", "pins.rccl.commit", "pins.rccl.commit"]


@pytest.mark.parametrize("pins", ["&a {a: *a}", "{<<: {a: b}}", "{a: {<<: {pypi: a}, version: '1'}}"])
def test_value_that_could_not_be_read_is_judged_no_further(pins: str) -> None:
    assert len(findings(f"schema: 1\npins: {pins}\nimages: {{}}\n")) == 1


def test_aliases_of_aliases_are_refused_before_they_fill_the_memory() -> None:
    levels = "".join(f"  l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]\n" for n in range(1, 10))
    told = findings(f"schema: 1\npins:\n  l0: &l0 [a]\n{levels}images: {{}}\n")
    assert len(told) == 1
    assert "aliases repeat more than 10000 values; write them out" in told[0]


def test_collections_nested_too_deep_are_told() -> None:
    assert any("is nested too deep" in line for line in findings(f"schema: 1\npins: {'[' * 900}{']' * 900}\n"))


def chain(count: int) -> list[str]:
    """``count`` images, each built on the one before it."""
    parents = ["", *(f", parent: i{n}" for n in range(count - 1))]
    return [f"  i{n}: {{template: t.j2, pins: [], variants: {{v: {{}}}}{each}}}\n" for n, each in enumerate(parents)]


@pytest.mark.parametrize("step", [1, -1], ids=["parents first", "parents last"])
@pytest.mark.parametrize("count", [102, 1500])
def test_chain_of_more_parents_than_an_image_has_layers_is_told(count: int, step: int) -> None:
    told = findings(f"schema: 1\npins: {{}}\nimages:\n{''.join(chain(count)[::step])}")
    assert any("a chain of more than 100 parents" in line for line in told), told


def test_chain_of_a_hundred_parents_is_read() -> None:
    assert len(loads(f"schema: 1\npins: {{}}\nimages:\n{''.join(chain(101))}").targets) == 101


def test_all_mistakes_of_a_file_come_at_once_in_its_order() -> None:
    source = MINIMAL.replace(SHA, "develop").replace("pins: [rccl]", "pins: [rcl]").replace("schema: 1", "schema: 3")
    told = findings(source)
    assert [line.split(": ")[1] for line in told] == ["schema", "pins.rccl.commit", "images.base.pins"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("pins: [rccl]", "pins: [rcll]", "no pin 'rcll'; did you mean 'rccl'?"),
        ("pins: [rccl]", "pins: [rccl]\n    gates: [nope]", "no gate 'nope'"),
        ("pins: [rccl]", "pins: [rccl]\n    parent: bsae", "no image 'bsae'; did you mean 'base'?"),
        ("pins: [rccl]", "pins: [rccl]\n    parent: base", "parents form a cycle: base -> base"),
        ("{gfx942: {}}", "{gfx942: {archs: [gfx9402]}}", "unknown GPU architecture 'gfx9402'; did you mean 'gfx942'?"),
        ("{gfx942: {}}", "{gfx942: {pins: {rccl: rcll}}}", "no pin 'rcll'"),
        ("{gfx942: {}}", "{}", "an image has at least one variant"),
        ("pins: [rccl]", "pins: [rccl]\n    env: {A: {value: '1', when: rcll < 2.32}}", "no pin or component 'rcll'"),
        ("pins: [rccl]", "pins: [rccl]\n    env: {A: {value: '1', when: rccl less 2}}", "expected a condition"),
        ("{gfx942: {}}", "{a: {tags: ['x:1']}, b: {tags: ['x:1']}}", "the tag x:1 is also that of base/a"),
        ("{gfx942: {}}", "{a: {}, b: {tags: ['base:a']}}", "the tag base:a is also that of base/a"),
        ("{gfx942: {}}", "{a: {}, b: {}}\n    tags: ['x:1']", "every variant would carry these tags"),
        (
            "pins: [rccl]",
            "pins: [rccl]\n    args: {RCCL_COMMIT: x}",
            "ARG RCCL_COMMIT would be given twice in base, first by line 3",
        ),
        ("images:", "gates: {g: hip >= 7}\nimages:", "no pin or component 'hip'"),
        ("pins: [rccl]", "pins: [rccl]\n    tags: ['x:latest ']", "expected an image ref"),
    ],
)
def test_wrong_reference_is_told_with_the_nearest_name(old: str, new: str, message: str) -> None:
    told = findings(MINIMAL.replace(old, new))
    assert any(message in line for line in told), told


def test_component_that_two_pins_of_an_image_claim_is_told() -> None:
    source = MINIMAL.replace("images:", "  other: {pypi: rccl, version: '1', component: rccl}\nimages:")
    source = source.replace("    commit:", "    component: rccl\n    commit:").replace("[rccl]", "[rccl, other]")
    assert findings(source) == [
        "pins.yaml:7:48: pins.other.component: both rccl and other are the component 'rccl' of base"
    ]


def test_condition_over_a_pin_that_the_image_does_not_hold_is_told() -> None:
    source = MINIMAL.replace("images:", "  other: {pypi: rccl, version: '1'}\nimages:")
    source = source.replace("pins: [rccl]", "pins: [rccl]\n    env: {A: {value: '1', when: other < 2}}")
    assert findings(source) == [
        "pins.yaml:11:11: images.base.env.A.when: 'other < 2' speaks of what no variant of base holds"
    ]


def test_date_that_the_calendar_lacks_is_told() -> None:
    told = findings(pin("{pypi: torch, version: '2', review_by: '2026-02-30'}"))
    assert told == ["pins.yaml:3:45: pins.x.review_by: the calendar has no day 2026-02-30"]


def test_cycle_over_several_images_is_printed_as_a_cycle() -> None:
    images = "".join(
        f"  {name}: {{template: t, pins: [], parent: {parent}, variants: {{v: {{}}}}}}\n"
        for name, parent in (("a", "b"), ("b", "c"), ("c", "a"))
    )
    told = findings(f"schema: 1\npins: {{}}\nimages:\n{images}")
    assert told == ["pins.yaml:4:3: images.a.parent: parents form a cycle: a -> b -> c -> a"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xef\xbb\xbfschema: 1\n", "starts with a byte order mark"),
        (b"schema: 1\nx: \xff\n", "pins.yaml:2:4: byte 0xff is not UTF-8"),
    ],
)
def test_bytes_that_are_no_plain_utf8_are_told(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "pins.yaml").write_bytes(data)
    with pytest.raises(Findings, match=message):
        load(tmp_path / "pins.yaml")


def test_missing_and_unreadable_files_are_told(tmp_path: Path) -> None:
    with pytest.raises(PinsError, match=r"pins\.yaml: cannot be read: No such file or directory"):
        load(tmp_path / "pins.yaml")
    with pytest.raises(PinsError, match="cannot be read: Is a directory"):
        load(tmp_path)


def test_parents_come_before_children_whatever_the_order_in_the_file() -> None:
    source = MINIMAL.replace(
        "images:\n",
        "images:\n  app: {template: t, pins: [], parent: base, variants: {v: {}}}\n",
    )
    pinset = loads(source)
    assert list(pinset.targets) == ["base/gfx942", "app/v"]
    app = pinset.targets["app/v"]
    assert app.parent is pinset.targets["base/gfx942"]
    assert list(app.all_pins) == ["rccl"]


def test_variant_overrides_pins_archs_args_and_env() -> None:
    source = MINIMAL.replace("images:", f"  other: {{git: 'https://h/o.git', commit: '{SHA}'}}\nimages:").replace(
        "{gfx942: {}}",
        "{gfx942: {pins: {rccl: other}, archs: [gfx942], args: {A: '2'}, env: {E: '2'}}, plain: {}}\n"
        "    args: {A: '1', B: '1'}\n    env: {E: '1', F: '1'}",
    )
    targets = loads(source).targets
    first, second = targets["base/gfx942"], targets["base/plain"]
    assert (first.pins["rccl"].name, second.pins["rccl"].name) == ("other", "rccl")
    assert (dict(first.args), dict(second.args)) == ({"A": "2", "B": "1"}, {"A": "1", "B": "1"})
    assert {name: var.value for name, var in first.env.items()} == {"E": "2", "F": "1"}
    assert first.archs == ("gfx942",)


@pytest.mark.parametrize(("version", "is_set"), [("2.30.7", True), ("2.32.3", False), ("2.32", False), (None, False)])
def test_env_value_stands_only_while_its_condition_holds(version: str | None, is_set: bool) -> None:
    source = MINIMAL.replace("pins: [rccl]", "pins: [rccl]\n    env: {X: {value: '64', when: rccl < 2.32}}")
    if version:
        source = source.replace("    commit:", f"    version: '{version}'\n    commit:")
    assert ("X" in loads(source).targets["base/gfx942"].env) is is_set


def test_json_schema_accepts_the_shipped_file_and_refuses_what_the_loader_refuses(repository: Path) -> None:
    import yaml

    schema = json.loads(json.dumps(json_schema(FILE)))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    document = yaml.load((repository / "pins.yaml").read_text(), Loader=yaml.BaseLoader)  # noqa: S506 - makes text only
    assert [error.message for error in validator.iter_errors(document)] == []
    document["pins"]["rccl"]["commit"] = "develop"
    assert not validator.is_valid(document)


def test_pin_tells_what_it_lacks() -> None:
    git = "git: 'https://h/x.git', track: {branch: main}"
    known = f"git: 'https://h/x.git', commit: '{SHA}', reverts: [{{short: abcdef123, reason: r}}]"
    assert loads(pin(f"{{{git}}}")).pins["x"].gap == "has no commit yet; run tools/bump_pin x"
    assert loads(pin("{image: a/b, tag: v}")).pins["x"].gap == "has no digest yet; run tools/bump_pin x"
    assert "knows the first digits only of abcdef123" in loads(pin(f"{{{known}}}")).pins["x"].gap
