"""What a Dockerfile takes from outside."""

import pytest

from imagepins.plan.dockerfile import parse
from imagepins.plan.stages import expand, sources


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
    ],
)
def test_outside_images_are_found_wherever_a_build_takes_one(text: str, images: list[str]) -> None:
    assert [use.name for use in sources(parse(text + "\n", "D")).images] == images


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
    ],
)
def test_context_patterns_are_those_that_are_read_from_the_context(text: str, files: list[str]) -> None:
    assert [use.name for use in sources(parse(f"FROM scratch AS one\n{text}\n", "D")).files] == files


@pytest.mark.parametrize(
    ("text", "value"),
    [("$A", "1"), ("${A}x", "1x"), ("${N:-d}", "d"), ("${A:-d}", "1"), ("${A:+y}", "y"), ("${N:+y}", ""), ("$N", "")],
)
def test_variables_expand_as_buildkit_expands_them(text: str, value: str) -> None:
    assert expand(text, {"A": "1"}) == value
