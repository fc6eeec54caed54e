"""An image of the engine or a registry, or a saved document → what can be compared of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from imagepins.errors import NetworkError, RefError
from imagepins.evidence.images.looking import list_contents, look_inside
from imagepins.labels import PINS, TARGET, Document, label_fault, stored_pins
from imagepins.pins.model import PinSet, Target
from imagepins.verify.client import connect, translate
from imagepins.verify.facts import image_facts
from imagepins.verify.observed import Observed, read
from imagepins.verify.outcome import NoAnswer
from imagepins.verify.run import read_saved
from imagepins.verify.verify import verify

if TYPE_CHECKING:
    from imagepins.registry.client import Client

File = tuple[Any, ...]
"""Mode, owner, size, time of change, target of a link, and, where it was asked for, a digest of the content."""


@dataclass(frozen=True)
class Step:
    """A step of an image's history, and the size in bytes of the layer it made."""

    text: str
    size: int


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """What is known of an image; None where nobody looked, and ``notes`` say why.

    ``is_compressed`` tells that the sizes of ``steps`` are those of a registry's compressed layers.
    """

    name: str
    platform: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    steps: tuple[Step, ...] | None = None
    is_compressed: bool = False
    pins: Document = field(default_factory=dict)
    observed: Observed | None = None
    found: Mapping[str, str] = field(default_factory=dict)
    apt: Mapping[str, str] | None = None
    pip: Mapping[str, str] | None = None
    files: Mapping[str, File] | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """How closely to look: the image's name in pins.yaml where its labels do not tell, files, and their content."""

    image: str | None = None
    files: bool = True
    content: bool = False


def take(source: str, pinset: PinSet, wanted: Wanted) -> Snapshot:
    """The snapshot of an image ref or of a document saved by ``verify --save``, named with a slash or ``.json``.

    Raises RefError where there is no such image here or in its registry, EngineError, UsageError for a file that is no
    document.
    """
    if _is_document(source):
        return from_document(source, read(read_saved(Path(source)), source=source), pinset, wanted)
    answer = _inspect(source)
    if isinstance(answer, RefError):
        return _from_registry(source, answer)
    image_id, snapshot = answer
    python = _python(snapshot, pinset, wanted)
    return _with_inventory(_with_observed(snapshot, image_id, pinset, wanted), image_id, wanted, python=python)


def _is_document(source: str) -> bool:
    """Whether a source means a file: an image may be called as some file here is, so a bare name is always an image."""
    return source.endswith(".json") or ("/" in source and Path(source).is_file())


def from_document(name: str, observed: Observed, pinset: PinSet, wanted: Wanted) -> Snapshot:
    """The snapshot of a saved document: it holds pinned packages and libraries, no other packages and no files."""
    image = observed.image
    pins, notes = _carried(name, image.labels)
    snapshot = Snapshot(
        name=name,
        platform=image.platform,
        env=image.env,
        labels=image.labels,
        pins=pins,
        observed=observed,
        notes=(*notes, f"{name} is a saved document: layers, files and packages that are not pinned are not in it"),
    )
    return _judged(snapshot, pinset, wanted)


def _carried(name: str, labels: Mapping[str, str]) -> tuple[Document, tuple[str, ...]]:
    """The pins in an image's label, and a note where there is one that holds none."""
    fault = label_fault(labels) if PINS in labels else ""
    return stored_pins(labels) or {}, (f"pins of {name} are not known: label {PINS}: {fault}",) if fault else ()


def _inspect(ref: str) -> tuple[str, Snapshot] | RefError:
    """The id of an image and what the engine says of it and its history, or that it has none of that name.

    By its id the same image is looked into, whatever its ref names by then.
    """
    client = connect()
    try:
        facts = image_facts(client, ref, ())
        history = client.history(facts["id"])  # type: ignore[no-untyped-call]
    except Exception as error:
        told = translate(error, ref)
        if isinstance(told, RefError):
            return told
        raise told from error
    finally:
        client.close()
    steps = tuple(Step(step_text(each["CreatedBy"]), int(each["Size"])) for each in reversed(history))
    pins, notes = _carried(ref, facts["labels"])
    config = {key: facts[key] for key in ("platform", "env", "labels")}
    return facts["id"], Snapshot(name=ref, steps=steps, pins=pins, notes=notes, **config)


def _from_registry(ref: str, local: RefError) -> Snapshot:
    """What the registry tells without a layer being pulled."""
    from imagepins.registry.answers import ImageConfig, Unknown
    from imagepins.registry.client import Client
    from imagepins.registry.documents import environment, layer_makers
    from imagepins.registry.images import read_config

    file = f"; the file of that name here is ./{ref}" if Path(ref).is_file() else ""
    with Client() as client:
        answer = read_config(client, ref)
        if isinstance(answer, Unknown):
            raise NetworkError(f"{local}; and its registry did not tell: {answer.reason}{file}")
        if not isinstance(answer, ImageConfig):
            raise RefError(f"{ref}: neither here nor in its registry; build it with tools/image build{file}")
        sizes = _layer_sizes(client, ref, answer.digest)
    pins, notes = _carried(ref, answer.labels)
    texts = layer_makers(answer.config)
    return Snapshot(
        name=ref,
        platform=answer.platform,
        env=environment(answer.config),
        labels=answer.labels,
        steps=tuple(Step(step_text(text), size) for text, size in zip(texts, sizes, strict=False)),
        is_compressed=True,
        pins=pins,
        notes=(*notes, f"{ref} is only in its registry: packages, libraries and files are compared once it is pulled"),
    )


def _layer_sizes(client: Client, ref: str, digest: str) -> list[int]:
    from imagepins.registry.documents import MANIFEST_TYPES, layer_sizes, parsed
    from imagepins.registry.reference import parse_reference
    from imagepins.web import Reply

    reply = client.ask("GET", parse_reference(ref), f"manifests/{digest}", MANIFEST_TYPES)
    return layer_sizes(parsed(reply.body) or {}) if isinstance(reply, Reply) else []


def _target(snapshot: Snapshot, pinset: PinSet, wanted: Wanted) -> Target | None:
    if wanted.image:
        return pinset.select((wanted.image,))[0]
    return pinset.targets.get(snapshot.labels.get(TARGET, ""))


def _python(snapshot: Snapshot, pinset: PinSet, wanted: Wanted) -> str:
    target = _target(snapshot, pinset, wanted)
    return str(target.python) if target else "python3"


def _with_observed(snapshot: Snapshot, image_id: str, pinset: PinSet, wanted: Wanted) -> Snapshot:
    target = _target(snapshot, pinset, wanted)
    if target is None:
        reason = f"{snapshot.name} does not say which image of pins.yaml it is: libraries are compared with --image"
        return replace(snapshot, notes=(*snapshot.notes, reason))
    try:
        observed = look_inside(target, image_id)
    except NoAnswer as error:
        reason = str(error).replace(image_id, snapshot.name)
        return replace(snapshot, notes=(*snapshot.notes, f"libraries are not compared: {reason}"))
    return _judged(replace(snapshot, observed=observed), pinset, wanted)


def _judged(snapshot: Snapshot, pinset: PinSet, wanted: Wanted) -> Snapshot:
    """With what each check of verify found: the versions and gates as the best evidence has them."""
    target = _target(snapshot, pinset, wanted)
    if target is None or snapshot.observed is None:
        return snapshot
    report = verify(target, pinset, snapshot.observed)
    kinds = {*map(str, target.all_pins), "gates"}
    return replace(snapshot, found={each.name: each.found for each in report.checks if each.subject in kinds})


def _with_inventory(snapshot: Snapshot, image_id: str, wanted: Wanted, *, python: str) -> Snapshot:
    document = list_contents(image_id, python=python, with_content=wanted.files and wanted.content)
    if isinstance(document, str):
        reason = document.replace(image_id, snapshot.name)
        return replace(snapshot, notes=(*snapshot.notes, f"packages and files are not compared: {reason}"))
    files = {path: tuple(facts) for path, facts in document["files"].items()} if wanted.files else None
    return replace(snapshot, apt=document["apt"], pip=document["pip"], files=files)


def step_text(created_by: str) -> str:
    """A step as its Dockerfile has it: builders add their name, the shell, and its ARGs (``|2 A=1 B=2``)."""
    text = created_by.removesuffix("# buildkit").strip().removeprefix("/bin/sh -c #(nop)").strip()
    before, shell, command = text.partition("/bin/sh -c ")
    is_run = bool(shell) and (not before or before.startswith(("RUN ", "|")))
    return f"RUN {command}" if is_run else text or "(imported)"
