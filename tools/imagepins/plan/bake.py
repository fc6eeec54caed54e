"""Plain values → text of a bake file, and back.

Bake expands ``${...}`` and ``%{...}`` in every string, also in JSON (docker/buildx#2305), so both are doubled; there
are no variable blocks, which the environment would override (docker/bake-action#378).
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from imagepins.errors import EngineError


@dataclass(frozen=True, kw_only=True)
class BakeTarget:
    """The keys of a bake target that this tool writes, and no others: bake ignores unknown ones without a word."""

    context: str
    dockerfile: str
    platforms: Sequence[str]
    tags: Sequence[str] = ()
    output: Sequence[str] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    args: Mapping[str, str] = field(default_factory=dict)
    contexts: Mapping[str, str] = field(default_factory=dict)
    secret: Sequence[str] = ()
    network: str = ""
    attest: Sequence[str] = ()
    cache_from: Sequence[str] = ()
    cache_to: Sequence[str] = ()

    def as_json(self) -> dict[str, Any]:
        """The target as bake spells it, empty keys left out."""
        return {key.replace("_", "-"): _plain(value) for key, value in asdict(self).items() if value}


def fields(**values: str) -> str:
    """``key=value,key=value`` as bake reads it: a field with a comma or a quote in it, as in a path, is quoted."""
    pairs = (f"{key.replace('_', '-')}={value}" for key, value in values.items())
    quoted = ('"' + pair.replace('"', '""') + '"' if re.search('[,"]', pair) else pair for pair in pairs)
    return ",".join(quoted)


def bake_text(targets: Mapping[str, BakeTarget]) -> str:
    """Text of a bake file in which every string stands for itself."""
    document = {"target": {name: target.as_json() for name, target in targets.items()}}
    return json.dumps(_map_strings(document, _escape), indent=2, sort_keys=True) + "\n"


def read_printed(text: str) -> dict[str, dict[str, Any]]:
    """Targets that ``bake --print`` shows, strings as bake will use them. Raises EngineError for other output."""
    try:
        targets = json.loads(text)["target"]
    except (ValueError, KeyError, TypeError) as error:
        raise EngineError(f"docker buildx bake --print did not print a definition but {text[:80]!r}") from error
    return {name: _map_strings(target, _unescape) for name, target in targets.items()}


def differences(written: Mapping[str, BakeTarget], printed: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What bake resolved to something else than was written: ``debian_rocm-trixie: labels.x is 'b', not 'a'``."""
    found = []
    for name, target in written.items():
        resolved = printed.get(name, {})
        for key in ("context", "dockerfile", "platforms", "tags", "labels", "args", "contexts", "network"):
            wanted, got = target.as_json().get(key), resolved.get(key)
            if wanted != got:
                found.append(f"{name}: {key} is {got!r}, not {wanted!r}")
    return found


def _escape(text: str) -> str:
    return text.replace("${", "$${").replace("%{", "%%{")


def _unescape(text: str) -> str:
    return text.replace("$${", "${").replace("%%{", "%{")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): str(item) for key, item in value.items()}
    return str(value) if isinstance(value, str) else [str(item) for item in value]


def _map_strings(value: Any, change: Any) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(key): _map_strings(item, change) for key, item in value.items()}
    if isinstance(value, list):
        return [_map_strings(item, change) for item in value]
    return value
