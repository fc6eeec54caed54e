"""``tools/image build``."""

import os
from pathlib import Path

import click

from imagepins.cli import pins_option
from imagepins.errors import BuildFailed


@click.command()
@click.argument("images", nargs=-1, metavar="[IMAGE]...")
@click.option("--builder", metavar="NAME", help="Build with this builder of docker buildx ls.")
@click.option("--push", is_flag=True, help="Push what is built, and skip what the registry holds.")
@click.option("--force", is_flag=True, help="Build also what is there already.")
@click.option("--no-cache", is_flag=True, help="Run every step again.")
@click.option("--keep-going", is_flag=True, help="After a failure, build what does not depend on it.")
@click.option("--jobs", type=click.IntRange(1), default=4, show_default=True, help="Targets built at once.")
@click.option("--heavy-jobs", type=click.IntRange(1), default=1, show_default=True, help="Heavy targets among them.")
@click.option("--time-limit", type=click.FloatRange(1), default=360, show_default=True, help="Minutes for one target.")
@pins_option
def build(
    images: tuple[str, ...],
    *,
    builder: str | None,
    push: bool,
    force: bool,
    no_cache: bool,
    keep_going: bool,
    jobs: int,
    heavy_jobs: int,
    time_limit: float,
    pins_path: Path,
) -> None:
    """Build the images whose content is not there yet.

    What an image is made of gives one hash; an image with that hash is neither built nor pulled again.
    """
    from imagepins.build.run import Options
    from imagepins.build.run import build as build_nodes
    from imagepins.build.schedule import Limits
    from imagepins.cli.plan import load_nodes

    pinset, nodes, wanted = load_nodes(pins_path, images)
    options = Options(
        builder=builder,
        push=push,
        force=force,
        no_cache=no_cache,
        network=os.environ.get("IMAGEPINS_BUILD_NETWORK", ""),
        time_limit=60 * time_limit,
        limits=Limits(jobs=jobs, heavy=heavy_jobs, keep_going=keep_going),
    )
    results = build_nodes(pinset, pins_path.parent, nodes, wanted, options)
    for result in results:
        click.echo(f"{result.node.name}\t{result.state}\t{result.node.content_tag}")
    failures = [result.message for result in results if result.state == "failed"]
    if failures:
        raise BuildFailed("\n".join(failures))
