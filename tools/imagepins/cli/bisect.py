"""``tools/image bisect``."""

from pathlib import Path

import click

from imagepins.cli import json_option, pins_option
from imagepins.cli.compare import show


@click.command()
@click.argument("image")
@click.argument("pin")
@click.argument("good")
@click.argument("bad")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, required=True)
@click.option("--host", "on_host", is_flag=True, help="Run COMMAND here, with the image's ref for {ref}.")
@click.option("--dry-run", is_flag=True, help="Tell how many commits and builds to expect; build nothing.")
@click.option("--restart", is_flag=True, help="Forget what an interrupted run has found out.")
@click.option(
    "--time-limit",
    type=click.FloatRange(0, min_open=True),
    default=60,
    show_default=True,
    help="Minutes for one COMMAND.",
)
@click.option("--network", default="none", show_default=True, help="Network of COMMAND's container.")
@json_option
@pins_option
def bisect(
    image: str,
    pin: str,
    good: str,
    bad: str,
    command: tuple[str, ...],
    *,
    on_host: bool,
    dry_run: bool,
    restart: bool,
    time_limit: float,
    network: str,
    as_json: bool,
    pins_path: Path,
) -> int:
    """Find the commit of PIN that broke IMAGE.

    Only commits under the pin's path are tried, from GOOD to BAD. COMMAND runs in the image of each: exit code 0 is
    good, 125 cannot tell, any other is bad. What does not build is skipped. Interrupted, the same command goes on where
    it was. Nothing is tagged, and pins.yaml stays as it is.
    """
    from imagepins.evidence.bisection.history import read_history
    from imagepins.evidence.bisection.report import bisect_json, bisect_text, forecast_json, forecast_text
    from imagepins.evidence.bisection.setup import make_project, question
    from imagepins.evidence.bisection.trials import Trials, read_trials
    from imagepins.evidence.bisection.trying import Command
    from imagepins.evidence.bisection.trying import bisect as find

    project = make_project(pins_path, image, pin)
    history = read_history(project.pinset.pin(pin), good, bad, project.options)
    asked = Command(command, on_host=on_host, seconds=60 * time_limit, network=network)
    trials = read_trials(pins_path.parent / "build" / "bisect", question(project, history, asked))
    if restart:
        trials = Trials(trials.path)
    if dry_run:
        show(forecast_json(history, trials) if as_json else forecast_text(history, trials))
        return 0
    found, trials = find(project, history, asked, trials, tell=lambda text: click.echo(text, err=True))
    show(bisect_json(history, found, trials) if as_json else bisect_text(history, found, trials))
    return 0
