"""What was asked on the command line → refused where options contradict each other or would be ignored."""

from collections.abc import Mapping
from typing import Any

from imagepins.errors import UsageError

PERMISSIONS = (
    "force",
    "allow_unreachable",
    "allow_downgrade",
    "allow_moved_tag",
    "break_alias",
    "min_age",
    "reason",
    "offline",
)
"""Options of the command line that ``command.make_options`` takes."""

_OF_A_MOVE = ("dry_run", "commit", "branch", *(each for each in PERMISSIONS if each != "offline"))
_NOT_WITH = {
    "check": ("name", "group", "everything", "outdated", *_OF_A_MOVE),
    "outdated": ("ref", *_OF_A_MOVE),
    "everything": ("name", "group"),
}
_NAMES = {"everything": "--all", "name": "a pin", "ref": "a ref", "as_json": "--json"}


def check_usage(asked: Mapping[str, Any]) -> None:
    """Raise UsageError for options, by their names in Python, that do not go together."""
    if not any(asked[key] for key in ("name", "group", "everything", "outdated", "check")):
        raise UsageError("name a pin, or say --group, --all, --outdated or --check; see bump_pin --help")
    for option, others in _NOT_WITH.items():
        if asked[option]:
            refuse(asked, option_name(option), others)
    if asked["outdated"] and asked["name"] and asked["group"]:
        raise UsageError("--outdated takes a pin or a group, not both")
    if asked["reason"] and not asked["allow_unreachable"]:
        raise UsageError("--reason belongs to --allow-unreachable")


def refuse(asked: Mapping[str, Any], option: str, others: tuple[str, ...]) -> None:
    """Raise UsageError where one of ``others`` was given beside ``option``."""
    # 0 is a value: --min-age 0.
    if given := [option_name(key) for key in others if asked[key] is not None and asked[key] is not False]:
        raise UsageError(f"{option} does not go with {', '.join(given)}")


def option_name(key: str) -> str:
    """An option as people type it."""
    return _NAMES.get(key, f"--{key.replace('_', '-')}")
