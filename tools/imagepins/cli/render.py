"""``tools/image render`` and ``tools/image schema``."""

from pathlib import Path

import click

from imagepins.cli import pins_option


@click.command()
@click.argument("images", nargs=-1, metavar="[IMAGE]...")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 with a diff where a rendered file is stale.")
@pins_option
def render(images: tuple[str, ...], *, check: bool, pins_path: Path) -> int:
    """Render the Dockerfiles from pins.yaml and the templates."""
    from imagepins.render import memo

    if check and not images and (said := memo.recall(pins_path)):
        click.echo(said, err=True)
        return 0
    return _check(images, pins_path) if check else _write(images, pins_path)


def _check(images: tuple[str, ...], pins_path: Path) -> int:
    from imagepins.files import shared
    from imagepins.pins.load import load
    from imagepins.render import memo
    from imagepins.render.dockerfile import render_all
    from imagepins.render.freshness import difference, stale, strays

    root = pins_path.parent
    with shared(pins_path):
        pinset = load(pins_path)
        texts = render_all(pinset, root, pinset.select(images) if images else None)
        changed = stale(texts, root)
        extra = [] if images else strays(pinset, root)
        differences = [difference(root, path, texts[path]) for path in changed]
    click.echo("".join(differences), nl=False)
    for path in extra:
        click.echo(f"{path}: no image of {pinset.path} renders to it; remove it")
    if problems := len(changed) + len(extra):
        click.echo(f"{len(texts)} files, {problems} stale; 'tools/image render' writes them", err=True)
        return 1
    said = f"{len(texts)} files, all fresh"
    click.echo(said, err=True)
    if not images:
        memo.remember(pins_path, [root / path for path in texts], said)
    return 0


def _write(images: tuple[str, ...], pins_path: Path) -> int:
    from imagepins.files import exclusive, replace_all
    from imagepins.pins.load import load
    from imagepins.render.dockerfile import render_all

    root = pins_path.parent
    with exclusive(pins_path):
        pinset = load(pins_path, is_locked=True)
        texts = render_all(pinset, root, pinset.select(images) if images else None)
        written = replace_all(pins_path, {root / path: text.encode() for path, text in texts.items()})
    for path in (path for path in texts if (root / path).resolve() in written):
        click.echo(path)
    click.echo(f"{len(texts)} files, {len(written)} written", err=True)
    return 0


@click.command()
@click.option("--markdown", "as_markdown", is_flag=True, help="Print the reference of docs/pins.md instead.")
def schema(*, as_markdown: bool) -> None:
    """Print the JSON Schema of pins.yaml."""
    import json

    from imagepins.pins.reference import markdown
    from imagepins.pins.schema import json_schema
    from imagepins.pins.spec import FILE

    if as_markdown:
        click.echo(markdown(FILE), nl=False)
        return
    document = {"$schema": "https://json-schema.org/draft/2020-12/schema", **json_schema(FILE)}
    click.echo(json.dumps(document, indent=2))
