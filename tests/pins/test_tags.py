"""Tags that name a pin's version, so that it stands in one place."""

import pytest

from imagepins.errors import PinsError
from imagepins.pins.load import loads

PINS = """\
schema: 1
pins:
  app:
    git: https://example.org/app.git
    track: {{tag: v0.5.21}}
  torch:
    pypi: torch
    version: "2.12.0+rocm10.0.0"
  main:
    git: https://example.org/app.git
    track: {{branch: main}}
    arg: MAIN_BRANCH
images:
  app:
    template: Dockerfile.j2
    pins: [app, torch, main]
    variants:
      a: {{tags: ["{tag}"]}}
"""


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("org/app:v{app}-mi30x", "org/app:v0.5.21-mi30x"),
        ("app:{app}", "app:0.5.21"),
        ("app:torch{torch}", "app:torch2.12.0rocm10.0.0"),
        ("app:{main}", "app:unknown"),
        ("app:plain", "app:plain"),
    ],
)
def test_a_tag_says_the_version_of_the_pin_it_names(tag: str, expected: str) -> None:
    assert loads(PINS.format(tag=tag)).targets["app/a"].tags == (expected,)


def test_a_version_read_from_the_source_wins_over_the_tag_that_is_tracked() -> None:
    source = PINS.format(tag="app:{app}").replace("tag: v0.5.21}", 'tag: v0.5.21}\n    version: "0.5.22"')
    assert loads(source).targets["app/a"].tags == ("app:0.5.22",)


def test_a_tag_that_names_a_pin_the_image_has_not_is_told_with_the_nearest() -> None:
    with pytest.raises(PinsError, match=r"pins\.yaml:18:18: .*tags: the image has no pin 'ap'; did you mean 'app'\?"):
        loads(PINS.format(tag="app:{ap}"))


@pytest.mark.parametrize(
    "tag", ["app:é", "app:v\u0663", "a___b:1", "a-_b:1", "a..b:1", "host:\u0663/a:1", "App:1", "a//b:1"]
)
def test_a_tag_that_docker_would_not_take_is_told(tag: str) -> None:
    with pytest.raises(PinsError, match=r"expected an image ref with a tag"):
        loads(PINS.format(tag=tag))


@pytest.mark.parametrize("name", ["a__b.c-d--e", "a.b_c"])
def test_names_that_docker_takes_are_names(name: str) -> None:
    source = PINS.format(tag="x:1").replace("images:\n  app:", f"images:\n  {name}:")
    assert f"{name}/a" in loads(source).targets


def test_a_name_that_gives_a_tag_which_docker_would_not_take_is_told() -> None:
    with pytest.raises(PinsError, match="expected a name of lower-case letters"):
        loads(PINS.format(tag="x:1").replace("images:\n  app:", "images:\n  a___b:"))
