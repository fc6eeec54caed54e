"""PinSet and ``.github/workflows/*.j2`` → workflows whose actions are pinned by pins.yaml, too."""

from pathlib import Path

from jinja2 import Environment

from imagepins.pins.model import PinSet
from imagepins.render.environment import render

DIRECTORY = ".github/workflows"
LEVELS = 3
"""Levels of images that build one after another; ``tools/image matrix`` refuses more."""


def render_workflows(pinset: PinSet, root: Path, env: Environment) -> dict[str, str]:
    """Texts of the workflows by path relative to ``root``. Raises PinsError for a wrong template."""
    texts = {}
    for path in sorted((root / DIRECTORY).glob("*.yml.j2")):
        template = f"{DIRECTORY}/{path.name}"
        header = f"# Generated from pins.yaml and {template} by 'tools/image render'. Do not edit.\n"
        body = render(env, template, {"pins": pinset.pins, "levels": LEVELS})
        texts[template.removesuffix(".j2")] = header + body.rstrip("\n") + "\n"
    return texts
