"""Targets → reports: collect what each image shows (or read what was saved), and judge it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from imagepins.errors import UsageError
from imagepins.pins.model import ImagePin, PinSet, Target
from imagepins.verify import observed as documents
from imagepins.verify.client import NoAnswer
from imagepins.verify.container import Observation, Run
from imagepins.verify.findings import Report
from imagepins.verify.observed import Observed
from imagepins.verify.request import make_request
from imagepins.verify.source import collector_source
from imagepins.verify.verify import verify

GPU_DEVICES = ("/dev/kfd", "/dev/dri")


@dataclass(frozen=True, kw_only=True)
class Options:
    """How to verify. Times are in seconds; ``saved`` is a document to judge instead of an image."""

    ref: str | None = None
    against: str = "pins"
    gpu: bool = False
    require_gpu: bool = False
    save: Path | None = None
    saved: Path | None = None
    timeout: int = 300
    load_timeout: int = 120


def verify_all(pins: PinSet, targets: tuple[Target, ...], options: Options) -> Iterator[Report]:
    """Verify each target in turn. Raises UsageError where options for one image are given with several."""
    for name, value in (("--ref", options.ref), ("--save", options.save), ("--from", options.saved)):
        if value and len(targets) > 1:
            raise UsageError(f"{name} speaks of one image, but {len(targets)} are named; add IMAGE/VARIANT")
    for target in targets:
        yield verify_target(pins, target, options)


def verify_target(pins: PinSet, target: Target, options: Options) -> Report:
    """Verify one target. An image that gives no answer is a report with an outcome of its own.

    Raises RefError where the image is not there, EngineError where no engine can be used.
    """
    try:
        observed = observe(target, options)
    except NoAnswer as error:
        return Report(target=target.name, ref=options.ref or target.tags[0], outcome=error.outcome, message=str(error))
    return verify(target, pins, observed, is_gpu_asked=options.gpu, is_gpu_required=options.require_gpu)


def observe(target: Target, options: Options) -> Observed:
    """What the target's image shows, or showed when the document was saved."""
    if options.saved:
        return documents.read_file(options.saved)
    request = make_request(target, seconds=options.timeout, load_seconds=options.load_timeout, want_devices=options.gpu)
    run = Run(
        ref=options.ref or target.tags[0],
        source=collector_source(),
        request=request,
        bases=tuple(pin.value for pin in target.all_pins.values() if isinstance(pin, ImagePin) and pin.is_complete),
        devices=GPU_DEVICES if options.gpu else (),
    )
    with Observation(run) as observation:
        document = observation.result()
    if options.save:
        save(options.save, document)
    return documents.read(document)


def save(path: Path, document: Mapping[str, Any]) -> None:
    """Write a document. Raises UsageError where the file cannot be written."""
    try:
        path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
