"""``tools/image lint``."""

from pathlib import Path

import click

from imagepins.cli import json_option, pins_option

TOOLS = ("own", "hadolint", "buildkit")


@click.command()
@click.argument("images", nargs=-1, metavar="[IMAGE]...")
@click.option("--tool", "tools", multiple=True, type=click.Choice(TOOLS), help="Only this linter; may be repeated.")
@json_option
@pins_option
def lint(images: tuple[str, ...], *, tools: tuple[str, ...], as_json: bool, pins_path: Path) -> int:
    """Lint the rendered Dockerfiles: the project's own rules, hadolint, and BuildKit's checks.

    Findings point at the line of the template or of pins.yaml. What a linter could not look at is said as that, and is
    no finding. Exit code 1 for either.
    """
    import json
    from dataclasses import asdict

    from imagepins.lint.run import lint as lint_all
    from imagepins.pins.load import load

    pinset = load(pins_path)
    report = lint_all(pinset, pins_path.parent, pinset.select(images), tools or TOOLS)
    if as_json:
        click.echo(json.dumps(asdict(report), indent=2))
    else:
        for each in report.findings:
            others = f" (in {len(each.targets)} images)" if len(each.targets) > 1 else f" (in {each.targets[0]})"
            click.echo(f"{each.place}: {each.rule}: {each.message}{others}")
    for reason in report.not_linted:
        click.echo(reason, err=True)
    click.echo(f"{len(report.findings)} findings, {len(report.not_linted)} not linted", err=True)
    return 1 if report.findings or report.not_linted else 0
