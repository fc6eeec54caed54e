"""The image's plain interpreter → its search path, and every file that an import of a name could take."""

from __future__ import annotations

import os
import sys

from imagepins.verify.collector.children import describe
from imagepins.verify.collector.paths import canonical, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any


def find_modules(names: Iterable[str]) -> dict[str, Any]:
    """For each name: the file an import takes, and the files of all other finders and folders. Imports nothing."""
    path = [shown(part or os.getcwd()) for part in sys.path if isinstance(part, str)]
    return {"path": path, "modules": {name: _find_module(name) for name in names}}


def _find_module(name: str) -> dict[str, Any]:
    import importlib.util
    from functools import partial

    taken, error = _ask(partial(importlib.util.find_spec, name))
    specs = list(_specs(name))
    # A folder without __init__.py gives way to a package or module anywhere on the path, however late, though not to
    # what finders behind the path know of.
    candidates = {_file(spec) for spec in specs if spec.has_location} or set(map(_file, specs))
    return {"taken": _file(taken), "candidates": sorted({*candidates, _file(taken)} - {""}), "error": error}


def _specs(name: str) -> Iterator[Any]:
    from functools import partial
    from importlib.machinery import PathFinder

    asked = [partial(PathFinder.find_spec, name, [part]) for part in sys.path if isinstance(part, str)]
    # Editable installs put finders of their own here.
    finders = [each for each in sys.meta_path if each is not PathFinder and hasattr(each, "find_spec")]
    asked += [partial(finder.find_spec, name, None) for finder in finders]
    return (spec for spec, _ in map(_ask, asked) if spec is not None)


def _ask(find: Callable[[], Any]) -> tuple[Any, str]:
    """A spec and why there is none. Finders of editable installs may do anything, for example build."""
    try:
        return find(), ""
    except Exception as error:  # noqa: BLE001 - as above
        return None, describe(error)


def _file(spec: Any) -> str:
    if spec is None:
        return ""
    places = list(spec.submodule_search_locations or [])
    origin = spec.origin if spec.has_location else (places[0] if places else "")
    return shown(canonical(origin)) if origin else ""
