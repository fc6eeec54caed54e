"""Names on the command line → the project a bisection is about, and everything its verdicts depend on."""

from pathlib import Path

from imagepins.bump.command import make_options
from imagepins.errors import PinsError, UsageError
from imagepins.evidence.bisection.build import Project, Unbuildable, plan_at
from imagepins.evidence.bisection.history import History
from imagepins.evidence.bisection.trying import Command
from imagepins.pins.edit import remove_key, splice
from imagepins.pins.load import load, loads


def make_project(pins_path: Path, image: str, pin: str) -> Project:
    """Raises UsageError for an image with several variants, or one that does not hold the pin."""
    pinset = load(pins_path)
    targets = pinset.select((image,))
    if len(targets) != 1:
        raise UsageError(f"{image} has {len(targets)} variants; name one: {', '.join(each.name for each in targets)}")
    held = {str(each.name) for each in targets[0].all_pins.values()}
    if pinset.pin(pin).name not in held:
        raise UsageError(f"{targets[0].name} does not hold pin '{pin}', only {', '.join(sorted(held))}")
    if pinset.pin(pin).hold:
        # A hold keeps people from moving the pin; here it only moves in images that bear no tag.
        pinset = loads(splice(pinset.text, [remove_key(pinset.text, ["pins", pin], "hold")]), pinset.path)
    return Project(pinset, pins_path, targets[0].name, pin, make_options().with_mirrors_of(pinset))


def question(project: Project, history: History, command: Command) -> list[str]:
    """What a verdict depends on: the command, and all that the image is made of besides the pin itself."""
    planned = plan_at(project, history.good)
    if isinstance(planned, Unbuildable):
        raise PinsError(f"the good commit {history.good[:12]} gives no image: {planned.why}")
    content = next(node.content for node in planned[1] if node.name == project.target)
    return [project.target, project.pin, content, *command.argv, str(command.on_host), command.network]
