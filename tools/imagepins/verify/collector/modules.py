"""The image's plain interpreter → its search path, and every file that an import of a name could take."""

from __future__ import annotations

import sys

from imagepins.verify.collector.paths import canonical, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any


def find_modules(names: Iterable[str]) -> dict[str, Any]:
    """For each name: the file an import takes, and the files of all other finders and folders. Imports nothing."""
    import importlib.util

    found = {}
    for name in names:
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, AttributeError, ValueError):
            spec = None
        found[name] = {"taken": _file(spec), "candidates": sorted(set(_candidates(name)))}
    return {"path": [shown(part) for part in sys.path], "modules": found}


def _candidates(name: str) -> Iterator[str]:
    from importlib.machinery import PathFinder

    specs = [PathFinder.find_spec(name, [part]) for part in sys.path if isinstance(part, str)]
    # Editable installs put finders of their own here.
    finders = [each for each in sys.meta_path if each is not PathFinder and hasattr(each, "find_spec")]
    specs += [finder.find_spec(name, None) for finder in finders]
    for spec in specs:
        file = _file(spec)
        if file:
            yield file


def _file(spec: Any) -> str:
    if spec is None:
        return ""
    places = list(spec.submodule_search_locations or [])
    origin = spec.origin if spec.has_location else (places[0] if places else "")
    return shown(canonical(origin)) if origin else ""
