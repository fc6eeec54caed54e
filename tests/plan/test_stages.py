"""What a Dockerfile takes from outside."""

import pytest

from imagepins.errors import PinsError
from imagepins.plan.dockerfile import parse
from imagepins.plan.stages import Sources, sources


def read(text: str) -> Sources:
    """What the Dockerfile takes from outside when it is built for amd64."""
    return sources(parse(text + "\n", "D"), "D", "linux/amd64")


@pytest.mark.parametrize(
    ("text", "images"),
    [
        ("FROM a:1", ["a:1"]),
        ("FROM --platform=linux/amd64 a:1", ["a:1"]),
        ("FROM a AS one\nFROM one\nFROM ONE AS two\nFROM b", ["a", "b"]),
        ("ARG B=x:1\nFROM ${B}", ["x:1"]),
        ("ARG R=reg\nARG B=$R/x\nFROM $B:1", ["reg/x:1"]),
        ("ARG B\nFROM ${B:-fallback:2}", ["fallback:2"]),
        ("FROM scratch\nCOPY --from=tools:1 /a /b", ["tools:1"]),
        ("FROM a AS one\nFROM b\nCOPY --from=0 /x /\nCOPY --from=one /x /", ["a", "b"]),
        ("FROM a\nRUN --mount=type=bind,from=m:1,source=/x,target=/x true", ["a", "m:1"]),
        ("FROM a\nRUN --mount=type=cache,target=/c true", ["a"]),
        ("FROM a@sha256:" + "0" * 64, ["a@sha256:" + "0" * 64]),
        ("FROM a\nFROM a", ["a"]),
        ("FROM x AS on-amd64\nFROM on-${TARGETARCH}", ["x"]),
        ("ARG TARGETARCH=zz\nFROM x-$TARGETARCH", ["x-zz"]),
        ("ARG V=3.12.1\nFROM python:${V%.*}", ["python:3.12"]),
        ("ARG V=u/v\nFROM ${V//\\//-}", ["u-v"]),
        ("ARG B\nFROM ${B:?run-bump_pin}", ["${B:?run-bump_pin}"]),
        ('FROM "a:1"', ["a:1"]),
        ("FROM a\nENV T=t:1\nRUN --mount=from=$T,target=/x true", ["a", "t:1"]),
        ("FROM a\nADD ssh://git@h/r.git /r", ["a"]),
    ],
)
def test_outside_images_are_found_wherever_a_build_takes_one(text: str, images: list[str]) -> None:
    assert [use.name for use in read(text).images] == images


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("COPY a b /x/", ["a", "b"]),
        ('COPY ["a b", "/x"]', ["a b"]),
        ("ADD https://example.org/f /f", []),
        ("ADD --checksum=sha256:0 https://example.org/f local /f/", ["local"]),
        ("COPY --from=one a /x", []),
        ("COPY <<EOF /x\nbody\nEOF", []),
        ("ARG D=dir\nCOPY ${D}/f /x", ["dir/f"]),
        ("RUN --mount=type=bind,source=s,target=/s true", ["s"]),
        ("RUN --mount=target=/all true", ["."]),
        ("RUN --mount=type=secret,id=ca true", []),
        ("ARG D=dir\nRUN --mount=source=$D,target=/s true", ["dir"]),
        ("COPY [ab].txt /x/", ["[ab].txt"]),
        ("COPY f.$TARGETARCH.txt /x/", ["f..txt"]),
        ("ARG TARGETARCH\nCOPY f.$TARGETARCH.txt /x/", ["f.amd64.txt"]),
        ("ENV D one/two\nCOPY $D /x", ["one/two"]),
        ("ENV A=0\nENV A=1 B=$A\nCOPY $A$B /x", ["10"]),
        ("ARG A=0\nARG A=1 B=$A\nCOPY $A$B /x", ["11"]),
        ("ARG A=1\nFROM one\nCOPY f$A /x", ["f1"]),
        ("ENV A='$B'\nCOPY $A /x", ["$B"]),
        ("ARG U=https://example.org/f\nADD $U /f", []),
    ],
)
def test_context_patterns_are_those_that_are_read_from_the_context(text: str, files: list[str]) -> None:
    assert [use.name for use in read(f"FROM scratch AS one\n{text}").files] == files


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("FROM a\nCOPY $OF_BASE /x", "D:2: $OF_BASE: only a can tell what OF_BASE is; give it a value here"),
        ("FROM a AS b\nFROM b\nCOPY $OF_BASE /x", "D:3: $OF_BASE: only a can tell"),
        ("FROM a\nENV P=/x:$PATH\nCOPY $P /x", "D:3: $P: only a can tell what PATH is"),
        ("FROM scratch\nENV BUILDOS=x\nARG BUILDOS\nCOPY $BUILDOS /x", "D:4: $BUILDOS: only the builder can tell"),
        ("FROM tool-$BUILDARCH", "D:1: tool-$BUILDARCH: only the builder can tell what BUILDARCH is"),
        ("FROM scratch\nCOPY ${A:0:1} /x", "D:2: ${A:0:1}: Docker knows no ':0' behind a name"),
    ],
)
def test_name_that_only_the_build_can_tell_is_an_error_at_its_line(text: str, reason: str) -> None:
    with pytest.raises(PinsError) as error:
        read(text)
    assert reason in str(error.value)
