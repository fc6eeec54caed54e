"""Plans of many targets: time, memory, growth."""

import resource
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from harness import REPOSITORY, Result, command

TEMPLATE = """\
[[[ pin_args ]]]
FROM ${BASE_IMAGE} AS build
ARG TOOL_COMMIT
RUN --mount=type=cache,target=/root/.cache <<EOR
set -eux
git init /src
git -C /src fetch --depth 1 https://example.org/tool.git ${TOOL_COMMIT}
git -C /src checkout --detach ${TOOL_COMMIT}
EOR

FROM ${BASE_IMAGE}
COPY --from=build /src /src
COPY files/ /files/
[[[ env_lines ]]]
"""


def write_project(root: Path, count: int) -> None:
    """A project of ``count`` targets: images of ten variants each, with a base and a pin of their own per variant."""
    pins = ["  base: {image: debian, tag: trixie-slim, arg: BASE_IMAGE, allow_tag: a benchmark}"]
    images = []
    for image in range(count // 10):
        variants = []
        for variant in range(10):
            number = image * 10 + variant
            source = f'git: "https://example.org/tool.git", commit: "{number:040x}", arg: TOOL_COMMIT'
            pins.append(f"  tool-{number}: {{{source}}}")
            variants.append(f"      v{variant}: {{pins: {{tool: tool-{number}}}}}")
        images.append(
            f"  image-{image}:\n    template: app.j2\n    pins: [base]\n    variants:\n" + "\n".join(variants)
        )
        files = root / f"images/image-{image}/context/files"
        files.mkdir(parents=True)
        (files / "config").write_text(f"{image}\n")
    (root / "app.j2").write_text(TEMPLATE.replace("TOOL_COMMIT\nRUN", "TOOL_COMMIT\nRUN"))
    (root / "pins.yaml").write_text("schema: 1\npins:\n" + "\n".join(pins) + "\nimages:\n" + "\n".join(images) + "\n")


def timed(root: Path, *args: str) -> float:
    """Processor seconds of ``tools/image ARGS`` and its children, best of five, on a project that is rendered.

    These limits are seconds and no ratios, so what else the machine does must not count.
    """
    call = command([str(REPOSITORY / "tools/image"), *args, "--pins", str(root / "pins.yaml")])
    return min(_spent(call) for _ in range(5))


def _spent(call: Callable[[], object]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    call()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def results() -> Iterator[Result]:
    """plan of 200, 1,000 and 2,000 targets, and a matrix of 1,000 entries."""
    times: dict[int, float] = {}
    with TemporaryDirectory(prefix="imagepins-bench-") as directory:
        for count in (200, 1000, 2000):
            root = Path(directory) / str(count)
            root.mkdir()
            write_project(root, count)
            command([str(REPOSITORY / "tools/image"), "render", "--pins", str(root / "pins.yaml")])()
            times[count] = timed(root, "plan", "--json")
            if count == 1000:
                matrix = timed(root, "matrix", "--chunk", "256")
    yield Result("plan of 200 targets, processor seconds", times[200], 1.0, "best of 5")
    yield Result("plan of 2,000 targets, processor seconds", times[2000], 5.0, "best of 5")
    growth = times[2000] / (2 * times[1000])
    yield Result("plan of 2,000 / twice a plan of 1,000", growth, 1.2, f"{times[2000]:.2f} s, {times[1000]:.2f} s")
    yield Result("matrix of 1,000 entries, processor seconds", matrix, 1.0, "best of 5")
    megabytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    yield Result("memory of the largest plan, MiB", megabytes, 200, "largest child of this benchmark")
