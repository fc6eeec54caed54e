"""Revision of the repository → content hashes of all targets as they were there."""

import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

from imagepins.errors import PinsError, RefError
from imagepins.plan.graph import make_graph
from imagepins.process import ProcessFailed, run


def hashes_at(root: Path, pins_name: str, revision: str) -> dict[str, str] | None:
    """Content hash by target at ``revision``; None where pins.yaml was not there or cannot be read by this tool.

    ``root`` is the directory of pins.yaml. Raises RefError for a revision that git does not know.
    """
    from imagepins.pins.load import load
    from imagepins.render.dockerfile import render_all

    commit = _commit(root, revision)
    with TemporaryDirectory(prefix="imagepins-") as directory:
        there = Path(directory)
        if not _extract(root, commit, there) or not (there / pins_name).is_file():
            return None
        try:
            pinset = load(there / pins_name)
            targets = tuple(pinset.targets.values())
            nodes = make_graph(pinset, there, targets, lambda some: render_all(pinset, there, some))
        except PinsError:
            return None
    return {node.name: node.content for node in nodes}


def _commit(root: Path, revision: str) -> str:
    try:
        argv = [
            "git",
            "-C",
            str(root),
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            f"{revision}^{{commit}}",
        ]
        return run(argv, timeout=20).stdout.strip()
    except ProcessFailed:
        hint = "; a shallow clone lacks older commits (fetch-depth: 0)"
        raise RefError(f"--since {revision}: git knows no such commit in {root}{hint}") from None


def _extract(root: Path, commit: str, into: Path) -> bool:
    """Write the tree of ``commit`` below ``root`` to ``into``; git archive keeps modes and links."""
    archive = into.parent / f"{into.name}.tar"
    try:
        run(["git", "-C", str(root), "archive", "--format=tar", f"--output={archive}", commit], timeout=120)
        with tarfile.open(archive) as tree:
            tree.extractall(into, filter=_keep)  # noqa: S202 - the filter is Python's own, but for links
    except ProcessFailed:
        # git refuses where the directory of pins.yaml did not exist at that commit.
        return False
    finally:
        archive.unlink(missing_ok=True)
    return True


def _keep(member: tarfile.TarInfo, directory: str) -> tarfile.TarInfo | None:
    """Links that lead out of the tree are kept, as hashes count where they lead; nothing is written through them."""
    try:
        return tarfile.data_filter(member, directory)
    except (tarfile.AbsoluteLinkError, tarfile.LinkOutsideDestinationError):
        if not member.issym():
            raise
        return member
