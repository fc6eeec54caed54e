"""An image of the engine → what runs inside it tells: the document that verify judges, and a list of everything."""

import json
import secrets
from contextlib import closing
from importlib.resources import files
from typing import Any

from imagepins.engine.dockercli import last_line
from imagepins.errors import EngineError
from imagepins.evidence.bench.container import NOT_THERE, Setup, run_once
from imagepins.pins.model import Target
from imagepins.verify import observed as documents
from imagepins.verify.keeper import Keeper
from imagepins.verify.observed import Observed
from imagepins.verify.run import Options, collect

INVENTORY_SECONDS = 900.0


def look_inside(target: Target, ref: str) -> Observed:
    """What verify would judge of ``ref``. Raises NoAnswer, RefError or EngineError."""
    with closing(Keeper()) as keeper:
        return documents.read(collect(target, Options(ref=ref), keeper))


def list_contents(ref: str, *, python: str, with_content: bool) -> dict[str, Any] | str:
    """Packages and files of ``ref`` as ``inventory`` lists them, or why it could not be run there."""
    source = (files("imagepins.evidence.images") / "inventory.py").read_text(encoding="utf-8")
    mark = f"--{secrets.token_hex(12)}--"
    request = json.dumps({"root": "/", "with_content": with_content})
    argv = (python, "-X", "utf8", "-I", "-S", "-c", source, "collect", mark, request)
    options = ("--read-only", "--log-driver", "none", "--user", "0")
    setup = Setup(ref, argv, network="none", options=options)
    try:
        done = run_once(setup, purpose="inventory", timeout=INVENTORY_SECONDS)
    except EngineError as error:
        return str(error)
    if done is None:
        return f"{ref}: {python}: no end after {INVENTORY_SECONDS:g} s"
    if done.code == NOT_THERE:
        return f"{python} is not in {ref}"
    if done.code != 0:
        return f"{ref}: {python}: {last_line(done)}"
    try:
        document: dict[str, Any] = json.loads(done.stdout.split(mark)[1])
    except (IndexError, ValueError):
        return f"{ref}: {python} printed something else than what it was asked for"
    return document
