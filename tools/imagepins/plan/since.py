"""Revision of the repository → content hashes of all targets as they were there."""

from pathlib import Path
from tempfile import TemporaryDirectory

from imagepins.errors import CheckFailed, PinsError, RefError
from imagepins.gitrepo.command import own_environment
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
        there = Path(directory) / "tree"
        if not _check_out(root, commit, Path(directory), there) or not (there / pins_name).is_file():
            return None
        try:
            pinset = load(there / pins_name)
            targets = tuple(pinset.targets.values())
            nodes = make_graph(pinset, there, targets, lambda some: render_all(pinset, there, some))
        except (PinsError, CheckFailed):
            return None
    return {node.name: node.content for node in nodes}


def _commit(root: Path, revision: str) -> str:
    argv = ["git", "-C", str(root), "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"]
    try:
        return run(argv, env=own_environment(), timeout=20).stdout.strip()
    except ProcessFailed as error:
        # With --quiet git is silent about a commit it does not know, and nothing else.
        unknown = f"git knows no such commit in {root}; a shallow clone lacks older commits (fetch-depth: 0)"
        reason = next(iter(error.output.strip().splitlines()), unknown)
        raise RefError(f"--since {revision}: {reason}") from None


def _check_out(root: Path, commit: str, scratch: Path, into: Path) -> bool:
    """Write what stands below ``root`` at ``commit`` as a checkout would, into ``into``; False where nothing does.

    Line ends and filters are those of a checkout, so that hashes compare; ``git archive`` would leave out what is
    marked export-ignore. ``scratch`` holds an index of its own, as the repository's is not ours.
    """
    env = {**own_environment(), "GIT_INDEX_FILE": str(scratch / "index")}
    git = ["git", "-C", str(root)]
    below = run([*git, "rev-parse", "--show-prefix"], env=env, timeout=20).stdout.strip()
    prefix = [f"--prefix={below}"] if below else []
    if run([*git, "read-tree", *prefix, f"{commit}:{below}"], env=env, timeout=120, check=False).code != 0:
        return False
    argv = ["checkout-index", "--all", "--quiet", "--ignore-skip-worktree-bits", f"--prefix={scratch}/all/"]
    run([*git, *argv], env=env, timeout=300)
    if not (scratch / "all" / below).is_dir():
        return False  # a tree without files
    (scratch / "all" / below).rename(into)
    return True
