"""An image of the engine → what runs inside it tells: the document that verify judges, and a list of everything."""

import json
import os
import secrets
from contextlib import closing
from importlib.resources import files
from pathlib import Path
from typing import Any

from imagepins.evidence.bench.container import remove
from imagepins.pins.model import Target
from imagepins.process import ProcessFailed, run
from imagepins.verify import observed as documents
from imagepins.verify.keeper import Keeper
from imagepins.verify.observed import Observed
from imagepins.verify.run import Options, collect
from imagepins.verify.run import read_saved as saved_document

INVENTORY_SECONDS = 900.0


def look_inside(target: Target, ref: str) -> Observed:
    """What verify would judge of ``ref``. Raises NoAnswer, RefError or EngineError."""
    with closing(Keeper()) as keeper:
        return documents.read(collect(target, Options(ref=ref), keeper))


def read_saved(path: Path) -> Observed:
    """A document saved by ``verify --save``. Raises UsageError where it cannot be read or is none."""
    return documents.read(saved_document(path), source=str(path))


def list_contents(ref: str, *, python: str, with_content: bool) -> dict[str, Any] | str:
    """Packages and files of ``ref`` as ``inventory`` lists them, or why it could not be run there."""
    source = (files("imagepins.evidence.images") / "inventory.py").read_text(encoding="utf-8")
    name, mark = f"imagepins-inventory-{os.getpid()}-{secrets.token_hex(4)}", f"--{secrets.token_hex(12)}--"
    request = json.dumps({"root": "/", "with_content": with_content})
    argv = ["docker", "run", "--rm", "--name", name, "--pull", "never", "--network", "none", "--read-only"]
    argv += ["--log-driver", "none", "--user", "0", "--entrypoint", python, "--", ref]
    try:
        done = run([*argv, "-X", "utf8", "-I", "-S", "-c", source, "collect", mark, request], timeout=INVENTORY_SECONDS)
    except ProcessFailed as error:
        if "executable file not found" in error.output or "no such file or directory" in error.output:
            return f"{python} is not in {ref}"
        return f"{ref}: {python}: {(error.output.strip() or error.reason).splitlines()[-1]}"
    finally:
        remove(name)
    try:
        document: dict[str, Any] = json.loads(done.stdout.split(mark)[1])
    except (IndexError, ValueError):
        return f"{ref}: {python} printed something else than what it was asked for"
    return document
