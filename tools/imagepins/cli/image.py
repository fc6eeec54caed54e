"""``tools/image``: the commands on images, each in a module of its own."""

from collections.abc import Sequence

import click

from imagepins.cli import LazyGroup, run_command

COMMANDS = {
    "bench": "imagepins.cli.bench:bench",
    "bisect": "imagepins.cli.bisect:bisect",
    "build": "imagepins.cli.build:build",
    "compare": "imagepins.cli.compare:compare",
    "diff": "imagepins.cli.diff:diff",
    "graph": "imagepins.cli.plan:graph",
    "inspect": "imagepins.cli.verify:inspect",
    "lint": "imagepins.cli.lint:lint",
    "matrix": "imagepins.cli.plan:matrix",
    "plan": "imagepins.cli.plan:plan",
    "render": "imagepins.cli.render:render",
    "repro-check": "imagepins.cli.build:repro_check",
    "schema": "imagepins.cli.render:schema",
    "verify": "imagepins.cli.verify:verify",
}


@click.group(cls=LazyGroup, lazy=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
def image() -> None:
    """Render, plan, build, verify and compare the images of pins.yaml.

    IMAGE is the name of an image, or image/variant.
    """


def main(argv: Sequence[str] | None = None, keeper: object = None) -> int:
    """Run ``tools/image`` and return the exit code; ``keeper`` is the one that ``image_command`` has started."""
    return run_command(image, argv, name="image", obj=keeper)
