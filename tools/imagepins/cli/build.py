"""``tools/image build`` and ``repro-check``."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from imagepins.cli import json_option, pins_option
from imagepins.cli.plan import load_nodes, registry_option
from imagepins.errors import BuildFailed, UsageError

if TYPE_CHECKING:
    from imagepins.build.options import Options
    from imagepins.build.results import Result


@click.command()
@click.argument("images", nargs=-1, metavar="[IMAGE]...")
@click.option("--builder", metavar="NAME", help="Build with this builder of docker buildx ls.")
@registry_option
@click.option("--push", is_flag=True, help="Push what is built; what the registry holds is neither built nor pulled.")
@click.option("--load", is_flag=True, help="Have the images in the local engine too, pulled if need be.")
@click.option("--force", is_flag=True, help="Build also what is there already.")
@click.option("--no-cache", is_flag=True, help="Run every step again.")
@click.option(
    "--cache",
    metavar="HOST/PATH",
    envvar="IMAGEPINS_CACHE",
    help="Keep layers in this registry and take them from there (IMAGEPINS_CACHE).",
)
@click.option(
    "--cache-read-only",
    is_flag=True,
    envvar="IMAGEPINS_CACHE_READ_ONLY",
    help="Keep no layers there (IMAGEPINS_CACHE_READ_ONLY=1).",
)
@click.option("--provenance", is_flag=True, help="Attach a provenance attestation.")
@click.option("--sbom", is_flag=True, help="Attach a list of the software inside.")
@click.option("--keep-going", is_flag=True, help="After a failure, build what does not depend on it.")
@click.option("--atomic", is_flag=True, help="Tag and push nothing unless all is built and verified.")
@click.option("--jobs", type=click.IntRange(1), default=4, show_default=True, help="Targets built at once.")
@click.option("--heavy-jobs", type=click.IntRange(1), default=1, show_default=True, help="Heavy targets among them.")
@click.option(
    "--time-limit",
    type=click.FloatRange(0, min_open=True),
    default=360,
    show_default=True,
    help="Minutes for one target.",
)
@click.option(
    "--summary", type=click.Path(path_type=Path, dir_okay=False), help="Append a Markdown table to this file."
)
@json_option
@pins_option
def build(images: tuple[str, ...], *, as_json: bool, summary: Path | None, pins_path: Path, **flags: Any) -> int:
    """Build the images whose content is not there yet.

    What an image is made of gives one hash; an image with that hash is neither built nor pulled again.
    """
    from imagepins.build.session import build_wanted

    pinset, nodes, wanted = load_nodes(pins_path, images)
    results = build_wanted(pinset, pins_path.parent.absolute(), nodes, wanted, _options(flags))
    _tell(results, as_json=as_json, summary=summary)
    return BuildFailed.exit_code if any(each.message for each in results) else 0


def _options(flags: Mapping[str, Any]) -> "Options":
    from imagepins.build.options import Limits, Options
    from imagepins.plan.destination import destination

    attest = [f"type={name}" for name in ("provenance", "sbom") if flags[name]]
    same = {name: flags[name] for name in ("builder", "push", "force", "atomic", "load", "no_cache", "cache_read_only")}
    return Options(
        **same,
        destination=destination(flags["registry"]),
        cache=destination(flags["cache"], option="--cache").prefix,
        network=os.environ.get("IMAGEPINS_BUILD_NETWORK", ""),
        attest=tuple(attest),
        time_limit=60 * flags["time_limit"],
        limits=Limits(jobs=flags["jobs"], heavy=flags["heavy_jobs"], keep_going=flags["keep_going"]),
    )


def _tell(results: "Sequence[Result]", *, as_json: bool, summary: Path | None) -> None:
    from imagepins.build import results as told

    if summary:
        from imagepins.writing import append_text

        append_text(summary, told.markdown(results))
    if as_json:
        import json

        click.echo(json.dumps(told.as_json(results), indent=2))
    else:
        for each in results:
            click.echo(f"{each.node.name}\t{each.state}\t{each.ref}")
    if any(each.outcome for each in results):
        click.echo(told.table(results), err=True)
    for each in results:
        if each.outcome and each.outcome.cause:
            click.echo(each.message, err=True)


@click.command("repro-check")
@click.argument("image", metavar="IMAGE")
@click.option("--builder", metavar="NAME", help="Build with this builder of docker buildx ls.")
@json_option
@pins_option
def repro_check(image: str, *, builder: str | None, as_json: bool, pins_path: Path) -> int:
    """Build IMAGE twice without cache and list what differs; exit code 1 where the digests do."""
    from imagepins.build.choose import find
    from imagepins.build.options import Job, Options
    from imagepins.build.repro import build_twice
    from imagepins.build.session import only_session
    from imagepins.plan.destination import Destination

    pinset, nodes, wanted = load_nodes(pins_path, (image,))
    if len(wanted) != 1:
        raise UsageError(f"{image} has several variants ({', '.join(wanted)}); name one")
    node = next(each for each in nodes if each.name == wanted[0])
    found = find(nodes, Destination(), push=False)
    job = Job(pinset=pinset, root=pins_path.parent.absolute(), nodes=nodes, todo=(node,), found=found)
    network = os.environ.get("IMAGEPINS_BUILD_NETWORK", "")
    options = Options(builder=builder, network=network)
    with only_session(job.root, options.time_limit):
        result = build_twice(job, node, options)
    if as_json:
        import json

        document = {"digests": result.digests, "equal": result.is_equal, "differences": result.differences}
        click.echo(json.dumps(document, indent=2))
    else:
        told = [f"both builds gave {result.digests[0]}"] if result.is_equal else result.differences
        click.echo("\n".join(told))
    if not result.is_equal:
        click.echo(f"{node.name}: {len(result.differences)} differences", err=True)
    return 0 if result.is_equal else 1
