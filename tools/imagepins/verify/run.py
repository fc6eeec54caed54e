"""Targets → reports: collect what each image shows (or read what was saved), and judge it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from imagepins.errors import RefError, UsageError
from imagepins.labels import TARGET, stored_pins
from imagepins.pins.model import ImagePin, PinSet, Target
from imagepins.verify.findings import Report
from imagepins.verify.keeper import Keeper
from imagepins.verify.outcome import NoAnswer
from imagepins.verify.request import make_request, unasked
from imagepins.writing import write_text

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


def verify_all(pins: PinSet, targets: tuple[Target, ...], options: Options, keeper: Keeper) -> Iterator[Report]:
    """Verify each target in turn, the first with ``keeper``.

    Raises UsageError where options for one image are given with several, RefError where the only one is not there.
    """
    for name, value in (("--ref", options.ref), ("--save", options.save), ("--from", options.saved)):
        if value and len(targets) > 1:
            raise UsageError(f"{name} speaks of one image, but {len(targets)} are named; add IMAGE/VARIANT")
    for name, is_given in (("--ref", options.ref), ("--save", options.save), ("--gpu", options.gpu or None)):
        if is_given and options.saved:
            raise UsageError(
                f"{name} speaks of an image on the engine, but --from judges what was saved; leave one out"
            )
    for number, target in enumerate(targets):
        with closing(keeper if number == 0 else Keeper()) as mine:
            try:
                report = verify_target(pins, target, options, mine)
            except RefError as error:
                if len(targets) == 1:
                    raise
                report = unanswered(target, None, "no-image", str(error))
        yield report


def verify_target(pins: PinSet, target: Target, options: Options, keeper: Keeper) -> Report:
    """Verify one target. An image that gives no answer is a report with an outcome of its own.

    Raises RefError where the image is not there, EngineError where no engine can be used, UsageError where a saved
    document is damaged or shows an image of another target.
    """
    try:
        document = read_saved(options.saved) if options.saved else _collect_all(pins, target, options, keeper)
    except NoAnswer as error:
        return unanswered(target, options.ref, error.outcome, str(error))
    if options.save:
        text = json.dumps({**document, "target": target.name}, indent=1, ensure_ascii=False)
        write_text(options.save, text + "\n")
    return _judge(pins, target, options, document)


def _collect_all(pins: PinSet, target: Target, options: Options, keeper: Keeper) -> dict[str, Any]:
    """The observed document, with what only the pins speak of that the image was built from.

    Those of other packages than pins.yaml has now can be told only once the image's labels are known. Where pins.yaml
    judges, pins that it does not have are left out; by which pins a saved document will be judged, nobody knows.
    """
    from imagepins.verify.stored import with_stored

    document = collect(target, options, keeper)
    labels = document["image"]["labels"]
    if stored_pins(labels) is None:
        return document
    stored, _ = with_stored(target, pins, labels)
    if options.against != "image" and not options.save:
        known = {pin.name for pin in target.all_pins.values()}
        stored = replace(stored, pins={role: pin for role, pin in stored.pins.items() if pin.name in known})
    if not unasked(make_request(stored), document["request"]):
        return document
    everything = {f"stored {name}": pin for name, pin in stored.all_pins.items()} | dict(target.all_pins)
    same = replace(options, ref=document["image"]["id"])  # its tag may name another one by now
    with Keeper() as again:
        fuller = collect(replace(target, pins=everything, parent=None), same, again)
    return {**fuller, "image": {**fuller["image"], "ref": document["image"]["ref"]}}


def collect(target: Target, options: Options, keeper: Keeper) -> dict[str, Any]:
    """The observed document of the target's image. Raises as ``Keeper.answer``."""
    pins = target.all_pins.values()
    keeper.tell(
        {
            "ref": options.ref or target.tags[0],
            "owner": os.getpid(),
            "bases": [pin.value for pin in pins if isinstance(pin, ImagePin) and pin.is_complete],
            "devices": GPU_DEVICES if options.gpu else (),
            "request": make_request(
                target, seconds=options.timeout, load_seconds=options.load_timeout, want_devices=options.gpu
            ),
        }
    )
    # What judges is loaded while the container works.
    import packaging.version  # noqa: F401

    from imagepins.verify import reports, verify  # noqa: F401

    return keeper.answer()


def _judge(pins: PinSet, target: Target, options: Options, document: Mapping[str, Any]) -> Report:
    from imagepins.verify import observed
    from imagepins.verify.verify import verify

    seen = observed.read(document, source=str(options.saved or "the collector's document"))
    saved = document.get("target") or seen.image.labels.get(TARGET)
    if options.saved and saved and saved != target.name:
        raise UsageError(f"{options.saved} shows an image of {saved}, not of {target.name}; name {saved}")
    return verify(
        target,
        pins,
        seen,
        against_image=options.against == "image",
        is_gpu_asked=options.gpu,
        is_gpu_required=options.require_gpu,
    )


def unanswered(target: Target, ref: str | None, outcome: str, message: str) -> Report:
    """The report of an image that gave nothing to judge."""
    return Report(target=target.name, ref=ref or target.tags[0], outcome=outcome, message=message)


def read_saved(path: Path) -> dict[str, Any]:
    """Read a saved document. Raises UsageError where it cannot be read or is no JSON."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is no JSON: {error}") from None
    return value if isinstance(value, dict) else {}
