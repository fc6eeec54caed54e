"""``tools/image plan``, ``graph`` and ``matrix``, and what they share with ``build``."""

from collections.abc import Iterable
from pathlib import Path

import click

from imagepins.cli import json_option, pins_option
from imagepins.errors import UsageError
from imagepins.pins.model import PinSet, Target
from imagepins.plan.graph import Node

registry_option = click.option(
    "--registry",
    metavar="HOST/PATH",
    envvar="IMAGEPINS_REGISTRY",
    help="Registry for tags that name none (IMAGEPINS_REGISTRY).",
)


def load_nodes(pins_path: Path, images: tuple[str, ...]) -> tuple[PinSet, tuple[Node, ...], tuple[str, ...]]:
    """The PinSet, nodes of the images and their parents in build order, and the names of the images themselves.

    Dockerfiles are rendered from pins.yaml; where the committed ones differ, that is said on stderr.
    """
    from imagepins.pins.load import load
    from imagepins.plan.graph import make_graph
    from imagepins.render.dockerfile import render_all
    from imagepins.render.freshness import stale

    pinset, root = load(pins_path), pins_path.parent.absolute()
    wanted = pinset.select(images)

    def rendered(targets: tuple[Target, ...]) -> dict[str, str]:
        texts = render_all(pinset, root, targets)
        for path in stale(texts, root):
            click.echo(f"{path} is not what {pinset.path} gives now; run tools/image render", err=True)
        return texts

    return pinset, make_graph(pinset, root, wanted, rendered), tuple(target.name for target in wanted)


@click.command()
@click.argument("images", nargs=-1, metavar="[IMAGE]...")
@click.option("--explain", is_flag=True, help="Say which input moved since the last build.")
@registry_option
@json_option
@pins_option
def plan(images: tuple[str, ...], *, explain: bool, registry: str | None, as_json: bool, pins_path: Path) -> None:
    """Show what a build would do: content hashes, what is there, what would be built, in which order."""
    import json

    from imagepins.build.forecast import forecast, forecast_json, forecast_table
    from imagepins.plan.destination import destination

    _, nodes, wanted = load_nodes(pins_path, images)
    rows = forecast(nodes, wanted, destination(registry), pins_path.parent / "build" / "state.json", explain=explain)
    click.echo(json.dumps(forecast_json(rows), indent=2) if as_json else forecast_table(rows))


@click.command()
@click.argument("images", nargs=-1, metavar="[IMAGE]...")
@click.option("--format", "form", type=click.Choice(["text", "dot", "json"]), default="text", show_default=True)
@pins_option
def graph(images: tuple[str, ...], *, form: str, pins_path: Path) -> None:
    """Show which image is built from which."""
    import json

    from imagepins.plan import drawing

    _, nodes, _ = load_nodes(pins_path, images)
    if form == "json":
        click.echo(json.dumps(drawing.as_json(nodes), indent=2))
    else:
        click.echo(drawing.as_dot(nodes) if form == "dot" else drawing.as_text(nodes))


@click.command()
@click.argument("images", nargs=-1, metavar="[IMAGE]...")
@click.option("--since", metavar="REV", help="Only what is made of something else than at this commit.")
@registry_option
@click.option("--chunk", type=int, metavar="N", help="Print a list of matrices of at most N jobs each.")
@click.option("--runner", "runners", multiple=True, metavar="WEIGHT=LABEL", help="Runner for a weight: heavy=big.")
@click.option("--github-output", type=click.Path(path_type=Path, dir_okay=False), help="Append outputs to this file.")
@pins_option
def matrix(
    images: tuple[str, ...],
    *,
    since: str | None,
    registry: str | None,
    chunk: int | None,
    runners: tuple[str, ...],
    github_output: Path | None,
    pins_path: Path,
) -> None:
    """Print the CI matrix: {"include": [...]} on one line.

    With --since, what changed since that commit; with --registry, what the registry lacks; with both, either; with
    neither, every target. Images whose pins are not all known are left out, and named on stderr.
    """
    from imagepins.build.missing import buildable, to_list
    from imagepins.plan import matrix as making
    from imagepins.plan.destination import destination

    pinset, nodes, wanted = load_nodes(pins_path, images)
    listed = to_list(pins_path.parent.absolute(), pinset.path, nodes, wanted, destination(registry), since=since)
    listed, refused = buildable(nodes, listed)
    for line in refused:
        click.echo(line, err=True)
    labels = {"light": "ubuntu-24.04", **_runners(runners, {target.weight for target in pinset.targets.values()})}
    entries = [making.entry(node, labels) for node in listed]
    size = making.MAX_JOBS if chunk is None else chunk
    if chunk is None and (len(entries) <= making.MAX_JOBS or not github_output):
        click.echo(making.line(making.one_matrix(entries)))
    else:
        click.echo(making.line(making.chunks(entries, size)))
    if github_output:
        from imagepins.writing import append_text

        append_text(github_output, making.github_outputs(entries, size))


def _runners(options: Iterable[str], weights: set[str]) -> dict[str, str]:
    """Labels by weight. Raises UsageError for another form, and for a weight that no target could have meant."""
    found: dict[str, str] = {}
    for text in options:
        weight, equals, label = text.partition("=")
        if not (weight and equals and label):
            raise UsageError(f"--runner {text}: expected WEIGHT=LABEL, such as heavy=ubuntu-24.04-32core")
        if weight not in {"light", "heavy", *weights}:
            raise UsageError(f"--runner {text}: no image has that weight; known: {', '.join(sorted(weights))}")
        found[weight] = label
    return found
