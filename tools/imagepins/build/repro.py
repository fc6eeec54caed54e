"""Two builds of one target without cache → whether they give the same digest, and what differs where they do not."""

import json
import shutil
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from threading import Event
from typing import IO, Any

from imagepins.build.display import display
from imagepins.build.failure import describe_failure
from imagepins.build.one import Settings
from imagepins.build.options import Job, Options
from imagepins.build.run import Run, settings
from imagepins.errors import BuildFailed
from imagepins.plan.bake import fields
from imagepins.plan.graph import Node


@dataclass(frozen=True)
class Reproduced:
    """Digests of two builds, and one line per difference between them."""

    digests: tuple[str, str]
    differences: tuple[str, ...]

    @property
    def is_equal(self) -> bool:
        """Whether both builds gave the same image."""
        return self.digests[0] == self.digests[1]


def build_twice(job: Job, node: Node, options: Options) -> Reproduced:
    """Build ``node`` twice without cache and compare. Raises BuildFailed where a build fails."""
    folder = job.root / "build" / "repro" / node.slug
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        # One reading of commit and time for both: somebody may commit in between.
        with settings(job, replace(options, no_cache=True)) as base:
            first, second = (_build(job, node, base, folder / f"{number}.tar") for number in (1, 2))
        return compare(first, second)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def compare(first: Path, second: Path) -> Reproduced:
    """Compare two OCI archives of one image each."""
    with tarfile.open(first) as one, tarfile.open(second) as other:
        digests = _manifest_digest(one), _manifest_digest(other)
        if digests[0] == digests[1]:
            return Reproduced(digests, ())
        return Reproduced(digests, tuple(_differences(one, other, digests)))


def _output(path: Path) -> str:
    """As OCI archive, times set to SOURCE_DATE_EPOCH; layers are not compressed, which would only take time here."""
    compression = {"compression": "uncompressed", "force_compression": "true"}
    return fields(type="oci", rewrite_timestamp="true", **compression, dest=str(path))


def _build(job: Job, node: Node, base: Settings, path: Path) -> Path:
    with display() as shown:
        run = Run(job, replace(base, output=_output(path)), shown)
        outcome = run.work(node, Event())
    if outcome.cause:
        raise BuildFailed(describe_failure(job.pinset, job.root, node, outcome, base.workspace.log(node)))
    return path


def _differences(one: tarfile.TarFile, other: tarfile.TarFile, digests: tuple[str, str]) -> Iterator[str]:
    manifests = _blob(one, digests[0]), _blob(other, digests[1])
    configs = [_blob(tar, manifest["config"]["digest"]) for tar, manifest in zip((one, other), manifests, strict=True)]
    for key in sorted({*configs[0], *configs[1]} - {"rootfs", "history"}):
        if configs[0].get(key) != configs[1].get(key):
            yield f"config: {key} is {configs[0].get(key)!r} and {configs[1].get(key)!r}"
    layers = [[layer["digest"] for layer in manifest["layers"]] for manifest in manifests]
    if len(layers[0]) != len(layers[1]):
        yield f"{len(layers[0])} layers and {len(layers[1])}"
        return
    for number, (left, right) in enumerate(zip(*layers, strict=True), 1):
        if left != right:
            yield from (f"layer {number}: {text}" for text in _layer(_entries(one, left), _entries(other, right)))


Entry = Mapping[str, Any]


def _layer(left: Mapping[str, Entry], right: Mapping[str, Entry]) -> Iterator[str]:
    before = len(left), len(right)
    for path in sorted({*left, *right}):
        if path not in left or path not in right:
            yield f"{path}: only in the {'second' if path not in left else 'first'}"
        elif left[path] != right[path]:
            what = ", ".join(key for key in left[path] if left[path][key] != right[path][key])
            yield f"{path}: {what}"
    if before[0] == before[1] and list(left) != list(right):
        yield "the same files in another order"


def _entries(archive: tarfile.TarFile, digest: str) -> dict[str, Entry]:
    blob = archive.extractfile(f"blobs/{digest.replace(':', '/')}")
    found: dict[str, Entry] = {}
    with tarfile.open(fileobj=blob, mode="r:*") as layer:
        for member in layer:
            file = layer.extractfile(member) if member.isreg() else None
            found[member.name] = {
                "type": member.type,
                "mode": member.mode,
                "owner": (member.uid, member.gid),
                "link": member.linkname,
                "time": member.mtime,
                "content": _digest(file) if file else "",
            }
    return found


def _digest(file: IO[bytes]) -> str:
    found = sha256()
    while block := file.read(1 << 20):
        found.update(block)
    return found.hexdigest()


def _manifest_digest(archive: tarfile.TarFile) -> str:
    return str(_read(archive, "index.json")["manifests"][0]["digest"])


def _blob(archive: tarfile.TarFile, digest: str) -> Any:
    return _read(archive, f"blobs/{digest.replace(':', '/')}")


def _read(archive: tarfile.TarFile, name: str) -> Any:
    file = archive.extractfile(name)
    if file is None:
        raise BuildFailed(f"{archive.name!s}: no {name} in the OCI archive that the builder wrote")
    return json.loads(file.read())
