"""Commands people type all day, against the Python imports they cannot do without."""

from collections.abc import Iterator

from harness import PYTHON, REPOSITORY, Result, command, ratio


def results() -> Iterator[Result]:
    """``render --check`` and ``bump_pin --help`` against ``import yaml, jinja2``."""
    baseline = command([PYTHON, "-c", "import yaml, jinja2"])
    check = command([str(REPOSITORY / "tools/image"), "render", "--check"])
    yield ratio("image render --check / import yaml, jinja2", check, baseline, limit=1.5)
    helping = command([str(REPOSITORY / "tools/bump_pin"), "--help"])
    yield ratio("bump_pin --help / import yaml, jinja2", helping, baseline, limit=1.2)
