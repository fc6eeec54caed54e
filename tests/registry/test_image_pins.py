"""Bumps of image pins against a real registry: index or platform digest, of the same kind as before."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from imagepins.bump.imagepin import propose_image
from imagepins.bump.move import Options
from imagepins.cli.bump import main
from imagepins.errors import NetworkError, RefError
from imagepins.pins.load import loads
from imagepins.pins.model import ImagePin
from imagepins.registry.client import Client


@pytest.fixture
def client() -> Iterator[Client]:
    with Client(sleep=lambda _: None) as opened:
        yield opened


@pytest.fixture
def base(registry: Any) -> dict[str, str]:
    """``base:1`` and ``base:2``, each an index of two platforms and an attestation."""
    found = {"image": f"{registry.address}/base"}
    for tag in ("1", "2"):
        amd = registry.push_image("base", f"amd{tag}", "linux/amd64", n=tag)
        arm = registry.push_image("base", f"arm{tag}", "linux/arm64", n=tag)
        proof = registry.push_image("base", f"proof{tag}", "unknown/unknown", n=tag)
        found[f"I{tag}"] = registry.push_index("base", tag, amd, arm, proof)
        found[f"A{tag}"] = amd["digest"]
    return found


Make = Callable[..., ImagePin]


@pytest.fixture
def pin(base: dict[str, str]) -> Make:
    def make(digest: str | None, more: str = "", tag: str = "1") -> ImagePin:
        line = f"    digest: {digest}\n" if digest else ""
        text = f"schema: 1\npins:\n  base:\n    image: {base['image']}\n    tag: '{tag}'\n{line}{more}images: {{}}\n"
        found = loads(text).pins["base"]
        assert isinstance(found, ImagePin)
        return found

    return make


def changes(pin: ImagePin, ref: str | None, client: Client, *, offline: bool = False) -> dict[str, str | None]:
    move = propose_image(pin, ref, Options(cache=Path("/nowhere"), offline=offline), client)
    return {change.key: change.value for change in move.changes}


def test_first_bump_takes_the_index(pin: Make, base: dict[str, str], client: Client) -> None:
    assert changes(pin(None), None, client) == {"digest": base["I1"]}


def test_new_tag_moves_tag_and_index_digest(pin: Make, base: dict[str, str], client: Client) -> None:
    assert changes(pin(base["I1"]), "2", client) == {"tag": "2", "digest": base["I2"]}
    assert changes(pin(base["I1"]), f"{base['image']}:2", client) == {"tag": "2", "digest": base["I2"]}


def test_pin_of_a_platform_takes_that_platform(pin: Make, base: dict[str, str], client: Client) -> None:
    asked = pin(base["A1"], "    platform: linux/amd64\n")
    assert changes(asked, None, client) == {}
    assert changes(asked, "2", client) == {"tag": "2", "digest": base["A2"]}


def test_platform_digest_of_the_tag_s_index_is_current(pin: Make, base: dict[str, str], client: Client) -> None:
    move = propose_image(pin(base["A1"]), None, Options(cache=Path("/nowhere")), client)
    assert move.is_noop
    assert "the manifest of linux/amd64" in move.notes[0]


def test_platform_digest_stays_one_and_the_platform_is_recorded(
    pin: Make, base: dict[str, str], client: Client
) -> None:
    assert changes(pin(base["A1"]), "2", client) == {
        "tag": "2",
        "digest": base["A2"],
        "platform": "linux/amd64",
    }


def test_arm_digest_stays_an_arm_digest(pin: Make, registry: Any, base: dict[str, str], client: Client) -> None:
    arm = registry.push_image("base", "arm1", "linux/arm64", n="1")["digest"]
    found = changes(pin(arm), "2", client)
    assert (found["platform"], found["tag"]) == ("linux/arm64", "2")


def test_digest_is_taken_once_it_is_there(pin: Make, base: dict[str, str], client: Client) -> None:
    move = propose_image(pin(base["I1"]), base["I2"], Options(cache=Path("/nowhere")), client)
    assert [change.value for change in move.changes] == [base["I2"]]
    assert "tag 1 does not lead to this digest" in move.notes[0]
    with pytest.raises(RefError, match="has no base"):
        changes(pin(base["I1"]), f"sha256:{'0' * 64}", client)


@pytest.mark.parametrize("ref", ["nosuch", "other/image:1"])
def test_what_is_not_there_or_of_another_repository_is_refused(
    pin: Make, base: dict[str, str], client: Client, ref: str
) -> None:
    with pytest.raises(RefError):
        changes(pin(base["I1"]), ref, client)


def test_registry_that_does_not_answer_is_no_absence(base: dict[str, str], client: Client) -> None:
    text = "schema: 1\npins:\n  base:\n    image: 127.0.0.1:9/base\n    tag: '1'\nimages: {}\n"
    found = loads(text).pins["base"]
    assert isinstance(found, ImagePin)
    with pytest.raises(NetworkError):
        changes(found, None, client)


def test_tag_only_pin_moves_its_tag_alone(pin: Make, base: dict[str, str], client: Client) -> None:
    asked = pin(None, "    allow_tag: no registry\n")
    assert changes(asked, None, client) == {}
    assert changes(asked, "2", client) == {"tag": "2"}
    with pytest.raises(RefError):
        changes(asked, "nosuch", client)


def test_offline_takes_a_digest_but_no_tag(pin: Make, base: dict[str, str], client: Client) -> None:
    assert changes(pin(base["I1"]), base["I2"], client, offline=True) == {"digest": base["I2"]}
    with pytest.raises(NetworkError, match="offline"):
        changes(pin(base["I1"]), "2", client, offline=True)


def test_command_moves_the_digest_in_the_file(
    base: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pins = tmp_path / "pins.yaml"
    line = f"  base: {{image: '{base['image']}', tag: '1', digest: '{base['I1']}'}}  # kept\n"
    text = f"schema: 1\npins:\n{line}images: {{}}\n"
    pins.write_text(text)
    assert main(["base", "2", "--pins", str(pins)]) == 0
    assert pins.read_text() == text.replace("tag: '1'", "tag: '2'").replace(base["I1"], base["I2"])
    assert main(["--outdated", "--pins", str(pins)]) == 0
    assert "current" in capsys.readouterr().out


def test_moved_tag_needs_a_person(base: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pins = tmp_path / "pins.yaml"
    pins.write_text(
        f"schema: 1\npins:\n  base: {{image: '{base['image']}', tag: '2', digest: '{base['I1']}'}}\nimages: {{}}\n"
    )
    assert main(["--outdated", "--pins", str(pins)]) == 1
    assert "tag 2 was moved" in capsys.readouterr().out
