"""``tools/image verify debian_rocm``, Python's start included, against the least that any look into an image costs."""

import os
import subprocess
from collections.abc import Iterator

import harness

TAG = "debian_rocm:trixie"


def build_image() -> None:
    """Have the image, built or found built."""
    subprocess.run([f"{harness.REPOSITORY}/tools/image", "build", "debian_rocm"], check=True, capture_output=True)


def results() -> Iterator[harness.Result]:
    """The whole command against ``docker run --rm IMAGE true``."""
    build_image()
    yield harness.ratio(
        "tools/image verify debian_rocm / docker run --rm debian_rocm true",
        harness.command([f"{harness.REPOSITORY}/tools/image", "verify", "debian_rocm"]),
        harness.command(["docker", "run", "--rm", TAG, "true"]),
        limit=1.6,
        runs=int(os.environ.get("BENCH_RUNS", "15")),
    )
