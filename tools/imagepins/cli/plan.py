"""``tools/image plan``, ``graph`` and ``matrix``, and what they share with ``build``."""

from pathlib import Path

import click

from imagepins.pins.model import PinSet
from imagepins.plan.graph import Node


def load_nodes(pins_path: Path, images: tuple[str, ...]) -> tuple[PinSet, tuple[Node, ...], tuple[str, ...]]:
    """The PinSet, nodes of the images and their parents in build order, and the names of the images themselves.

    Dockerfiles are rendered from pins.yaml; where the committed ones differ, that is said on stderr.
    """
    from imagepins.pins.load import load
    from imagepins.pins.model import with_parents
    from imagepins.plan.graph import make_graph
    from imagepins.render.dockerfile import render_all
    from imagepins.render.freshness import stale

    pinset = load(pins_path)
    wanted = pinset.select(images)
    targets = tuple(with_parents(wanted))
    root = pins_path.parent.absolute()
    texts = render_all(pinset, root, targets)
    for path in stale(texts, root):
        click.echo(f"{path} is not what {pinset.path} gives now; run tools/image render", err=True)
    return pinset, make_graph(pinset, root, targets, texts), tuple(target.name for target in wanted)
