"""Rendering: the project's own images, and a thousand made for this."""

import resource
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from harness import REPOSITORY, Result, command

from imagepins.pins.load import load
from imagepins.render.dockerfile import render_all

PINS = """\
schema: 1
pins:
  debian:
    image: debian
    tag: trixie-slim
    arg: BASE_IMAGE
    allow_tag: for this benchmark
  rccl:
    git: https://github.com/ROCm/rocm-systems.git
    path: projects/rccl
    commit: "1c0ab425abda9d1fd80fa977c253556b14eb140b"
    version: "2.32.3"
    version_from: projects/rccl/makefiles/version.mk
images:
"""
IMAGE = """\
  app{number}:
    template: Dockerfile.j2
    pins: [debian, rccl]
    archs: [gfx942]
    args: {{COMPILER_CACHE: none}}
    variants: {{a: {{}}}}
"""
TEMPLATE = """\
[[% import 'images/_recipes/macros.j2' as recipe %]]
[[% import 'images/_recipes/rccl.j2' as rccl %]]
[[[ pin_args ]]]
[[[ plain_args ]]]
FROM ${BASE_IMAGE} AS base
[[[ recipe.build_base() ]]]
[[[ rccl.stages(pins.rccl, archs) ]]]

FROM base AS image
[[[ rccl.install(1) ]]]
"""


def results() -> Iterator[Result]:
    """Process time of a command that renders everything; 1,000 images in a process, and how that grows."""
    render = command([str(REPOSITORY / "tools/image"), "render"])
    render()
    took = median(_child_seconds(render) for _ in range(5))
    count = len(list((REPOSITORY / "images").glob("*/*/Dockerfile")))
    yield Result("image render, process time in s", took, 0.5, f"{count} Dockerfiles, median of 5")
    few, many = _synthetic_seconds(250), _synthetic_seconds(1000)
    yield Result("1,000 images read and rendered, process time in s", many, 3.0, "one recipe each")
    yield Result("1,000 images / 250 images", many / few, 5.0, f"{many:.2f} s against {few:.2f} s; 4.0 is linear")


def _child_seconds(call: object) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert callable(call)
    call()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def _synthetic_seconds(count: int) -> float:
    with TemporaryDirectory() as directory:
        root = Path(directory)
        (root / "images").mkdir()
        (root / "images" / "_recipes").symlink_to(REPOSITORY / "images" / "_recipes")
        (root / "Dockerfile.j2").write_text(TEMPLATE)
        (root / "pins.yaml").write_text(PINS + "".join(IMAGE.format(number=number) for number in range(count)))
        start = time.process_time()
        texts = render_all(load(root / "pins.yaml"), root)
        assert len(texts) == count
        return time.process_time() - start
