"""docs/images.md: made from the pins, and only where there is a template."""

from pathlib import Path

from imagepins.pins.load import loads
from imagepins.render.dockerfile import render_all

PINS = """\
schema: 1
pins:
  debian:
    image: debian
    tag: trixie-slim
    arg: BASE_IMAGE
    allow_tag: for this test
  rccl:
    git: https://example.org/rccl.git
    commit: "1c0ab425abda9d1fd80fa977c253556b14eb140b"
  other:
    git: https://example.org/rccl.git
    track: {branch: main}
    arg: RCCL_COMMIT
images:
  app:
    template: Dockerfile.j2
    pins: [debian, rccl]
    variants:
      a: {archs: [gfx942]}
      b: {archs: [gfx950], pins: {rccl: other}}
"""
DOCKERFILE = """\
[[[ pin_args ]]]
FROM ${BASE_IMAGE} AS base
FROM base AS build_rccl
ARG RCCL_COMMIT
# from=nothing: a comment
FROM scratch AS rccl
COPY --from=build_rccl / /
FROM base AS image
RUN --mount=type=bind,from=rccl,target=/rccl true
"""
PAGE = "[[[ images_table ]]]\n[[[ pin_tables.app ]]]\n[[[ graph['app/a'] ]]]\n[[[ unknown | join(',') ]]]\n"


def page(root: Path) -> str:
    """The page as it is rendered in a directory."""
    return render_all(loads(PINS), root)["docs/images.md"]


def test_the_page_tells_images_pins_and_stages(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile.j2").write_text(DOCKERFILE)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "images.md.j2").write_text(PAGE)
    assert page(tmp_path).splitlines()[2:] == [
        "| image | built from | architectures | tags |",
        "|---|---|---|---|",
        "| `app/a` | `debian:trixie-slim` | gfx942 | `app:a` |",
        "| `app/b` | `debian:trixie-slim` | gfx950 | `app:b` |",
        "| pin | a | b |",
        "|---|---|---|",
        "| debian | `trixie-slim` | `trixie-slim` |",
        "| rccl | `1c0ab425abda` | not known yet |",
        "graph LR",
        "  base --> build_rccl",
        "  build_rccl --> rccl",
        "  base --> image",
        "  rccl --> image",
        "other",
    ]


def test_a_project_without_the_template_has_no_page(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile.j2").write_text(DOCKERFILE)
    assert set(render_all(loads(PINS), tmp_path)) == {"images/app/a/Dockerfile", "images/app/b/Dockerfile"}


def test_the_projects_page_names_every_image_and_every_unknown_pin(repository: Path) -> None:
    from imagepins.pins.load import load

    pinset = load(repository / "pins.yaml")
    text = (repository / "docs" / "images.md").read_text()
    assert all(f"| `{name}` |" in text for name in pinset.targets)
    assert all(f"- `{pin.name}`\n" in text for pin in pinset.pins.values() if not pin.is_complete)
