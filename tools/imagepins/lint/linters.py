"""hadolint and BuildKit's own checks → problems, or why a file could not be checked.

Not checked is an answer of its own: a linter that crashes, is missing or cannot read a file has found nothing wrong,
and nothing right either (hadolint/hadolint#960).
"""

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from imagepins.lint.rules import Problem
from imagepins.plan.dockerfile import Parsed
from imagepins.plan.stages import sources
from imagepins.process import Completed, ProcessFailed, run

HADOLINT_SECONDS = 60.0
BUILDKIT_SECONDS = 120.0
STAND_IN = "debian:trixie-slim"
"""Image that stands for every outside image: a check reads no more of it than that it is there."""

UNKNOWN_BASE = "imagepins.invalid/unknown:base"


class NotLinted(Exception):
    """Why a linter has nothing to say of a file."""


def hadolint(dockerfile: Path, config: Path) -> list[Problem]:
    """Problems that hadolint finds. Raises NotLinted."""
    beside = Path(sys.executable).with_name("hadolint")
    program = str(beside) if beside.exists() else shutil.which("hadolint")
    if program is None:
        raise NotLinted("hadolint is not installed; make installs it into .venv")
    options = ["--config", str(config)] if config.is_file() else []
    done = _run([program, "--no-color", "--format", "json", *options, str(dockerfile)], HADOLINT_SECONDS)
    found = _decode(done, "hadolint")
    for each in found:
        if each["code"] == "DL1000":
            raise NotLinted(f"hadolint cannot read line {each['line']}: {each['message'].splitlines()[0]}")
    return [Problem(each["line"], each["code"], each["message"]) for each in found]


def buildkit(dockerfile: Path, parsed: Parsed, platform: str) -> list[Problem]:
    """Problems that ``docker buildx build --check`` finds. Raises NotLinted, and PinsError as ``sources``."""
    argv = ["docker", "buildx", "build", "--call=check,format=json", "--progress=plain"]
    images = sources(parsed, dockerfile.name, platform).images
    for name in {use.name for use in images if "$" not in use.name} | {UNKNOWN_BASE}:
        argv += ["--build-context", f"{name}=docker-image://{STAND_IN}"]
    for name in _missing_bases(parsed):
        argv += ["--build-arg", f"{name}={UNKNOWN_BASE}"]
    with TemporaryDirectory(prefix="imagepins-lint-") as context:
        done = _run([*argv, "--file", str(dockerfile), context], BUILDKIT_SECONDS)
    return list(_problems(_decode(done, "docker buildx build --check")))


def _missing_bases(parsed: Parsed) -> Iterator[str]:
    """ARGs of bases that nobody knows yet, which stop a build before anything can be checked."""
    for each in parsed.instructions:
        if each.keyword == "FROM" and ":?" in each.rest:
            yield each.rest.partition("${")[2].partition(":?")[0]


def _problems(document: dict[str, Any]) -> Iterator[Problem]:
    for each in document.get("warnings") or ():
        yield Problem(_line(each), each["ruleName"], each.get("detail") or each["description"])
    error = document.get("buildError") or {}
    if error and not error["message"].startswith("lint violation found"):
        if "location" not in error or not _line(error):
            raise NotLinted(error["message"])
        yield Problem(_line(error), "Dockerfile", error["message"])


def _line(entry: dict[str, Any]) -> int:
    ranges = (entry.get("location") or {}).get("ranges") or [{"start": {"line": 0}}]
    return int(ranges[0]["start"]["line"])


def _run(argv: list[str], seconds: float) -> Completed:
    try:
        return run(argv, timeout=seconds, check=False)
    except ProcessFailed as error:
        raise NotLinted(f"{Path(argv[0]).name}: {error.reason}") from None


def _decode(done: Completed, what: str) -> Any:
    try:
        return json.loads(done.stdout)
    except ValueError:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:] or [f"exit code {done.code}"]
        raise NotLinted(f"{what}: {last[0]}") from None
