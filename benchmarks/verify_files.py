"""The collector on an image of 200,000 files: its own time, and the most memory it holds."""

import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import harness
import verify

FILES = 200_000
TAG = "imagepins-bench-files"
MAKE = f"""
import os
for folder in range({FILES} // 500):
    path = f"/opt/many/{{folder // 20}}/{{folder}}"
    os.makedirs(path)
    for number in range(500):
        open(f"{{path}}/module_{{number}}.py", "w").close()
"""


def results() -> Iterator[harness.Result]:
    """Limits: 3 s and 100 MB."""
    verify.build_image()
    with tempfile.TemporaryDirectory() as folder:
        try:
            documents = collect(Path(folder))
        finally:
            subprocess.run(["docker", "rmi", "--force", TAG], check=False, capture_output=True)
    seconds = min(each["seconds"] for each in documents)
    memory = max(each["peak_kib"] for each in documents) / 1000
    entries = documents[0]["entries"]
    assert entries > FILES
    yield harness.Result("collector on 200,000 files, seconds", seconds, 3.0, f"{entries} entries, best of 3")
    yield harness.Result("collector on 200,000 files, MB held at most", memory, 100.0, f"{entries} entries")


def collect(context: Path) -> list[dict[str, Any]]:
    """Build the image and collect from it three times."""
    (context / "make.py").write_text(MAKE)
    (context / "Dockerfile").write_text(f"FROM {verify.TAG}\nCOPY make.py /\nRUN python3 /make.py\n")
    subprocess.run(["docker", "buildx", "build", "--load", "--tag", TAG, str(context)], check=True, capture_output=True)
    saved = context / "saved.json"
    tool = [f"{harness.REPOSITORY}/tools/image", "verify", "debian_rocm", f"--ref={TAG}", f"--save={saved}"]
    documents = []
    for _ in range(3):
        harness.command(tool)()
        documents.append(json.loads(saved.read_text()))
    return documents
