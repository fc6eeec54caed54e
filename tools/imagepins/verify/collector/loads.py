"""What the served program loads → the library files a process then maps, and what these files say when called."""

from __future__ import annotations

import os
import re

from imagepins.verify.collector.elf import Elf, NotAnObject
from imagepins.verify.collector.paths import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

MAPS = "/proc/self/maps"


def load_library(name: str, families: dict[str, Any], *, want_devices: bool) -> dict[str, Any]:
    """Load ``name`` as the loader finds it and tell what is mapped then. Runs in a child."""
    import ctypes

    ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
    return mapped_answer(families, want_devices=want_devices)


def load_code(code: str, families: dict[str, Any], *, want_devices: bool) -> dict[str, Any]:
    """Run an import statement and tell what is mapped then. Runs in a child that is a plain interpreter."""
    import sys

    space: dict[str, Any] = {}
    exec(code, space)  # noqa: S102 - the statement comes from pins.yaml
    answer = mapped_answer(families, want_devices=want_devices)
    answer["path"] = sys.path
    answer["modules"] = {
        name: {"file": shown(getattr(value, "__file__", None) or ""), "version": str(getattr(value, "__version__", ""))}
        for name, value in space.items()
        if type(value) is type(os)
    }
    return answer


def ask_module(question: dict[str, str], families: dict[str, Any]) -> dict[str, Any]:
    """Call a function of a Python module with the version number that the mapped library of a family returns."""
    import importlib

    function = getattr(importlib.import_module(question["module"]), question["function"], None)
    if function is None:
        return {"error": f"{question['module']} has no {question['function']}"}
    mapped = mapped_answer(families, want_devices=False)["mapped"]
    numbers = [
        each["calls"][question["call"]]["value"]
        for each in mapped
        if each["calls"].get(question["call"], {}).get("code") == 0
    ]
    return {"argument": numbers[0] if numbers else None, "value": repr(function(numbers[0] if numbers else 0))[:200]}


def mapped_answer(families: dict[str, Any], *, want_devices: bool) -> dict[str, Any]:
    """The mapped files of the wanted families with what their functions return, and who needs them by which path."""
    mapped: list[dict[str, Any]] = []
    users = []
    # First of all: what is loaded below, to be asked, must not answer for what the program loaded.
    provided = providers(families)
    for path in mapped_files():
        facts = _facts(path)
        family = family_by_name(os.path.basename(path), families) or family_by_name(facts["soname"], families)
        if family:
            mapped.append(dict(_identity(path), family=family, calls=call_all(path, families[family]["calls"])))
        users += _search_paths(path, facts, families)
    devices = _devices(mapped) if want_devices else None
    return {"mapped": mapped, "users": users, "provided": provided, "devices": devices}


def providers(families: dict[str, Any]) -> list[dict[str, Any]]:
    """The files that parts of this process take a family's functions from; a preloaded one stands before all others."""
    import ctypes

    class Place(ctypes.Structure):
        _fields_ = (
            ("file", ctypes.c_char_p),
            ("base", ctypes.c_void_p),
            ("name", ctypes.c_char_p),
            ("at", ctypes.c_void_p),
        )

    found: dict[tuple[str, str], dict[str, Any]] = {}
    find_place = getattr(ctypes.CDLL(None), "dladdr", None)
    for scope in _scopes():
        for family, wanted in families.items():
            for symbol in wanted["calls"]:
                function, place = getattr(scope, symbol, None), Place()
                if find_place and function and find_place(ctypes.cast(function, ctypes.c_void_p), ctypes.byref(place)):
                    path = os.path.realpath(os.fsdecode(place.file or b""))
                    found.setdefault((path, symbol), dict(_identity(path), family=family, symbol=symbol))
    return list(found.values())


def _scopes() -> Iterator[Any]:
    """The process, and each shared object with what it needs: what an import loads is not for the process to see."""
    import ctypes

    yield ctypes.CDLL(None)
    for path in mapped_files():
        try:
            yield ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
        except OSError:
            # Mapped to be read, or deleted since.
            continue


def mapped_files() -> list[str]:
    """Shared objects that this process maps, whatever they are called, in the order of their addresses."""
    with open(MAPS, "rb") as file:
        fields = [line.split(None, 5) for line in file]
    named = [each for each in fields if len(each) == 6 and (b".so" in each[5] or b"x" in each[1])]
    paths = dict.fromkeys(each[5].rstrip(b"\n") for each in named)
    return [os.fsdecode(path) for path in paths if path.startswith(b"/")]


def family_by_name(name: str, families: dict[str, Any]) -> str:
    """The family whose file names ``name`` is one of; empty where there is none."""
    return next((family for family, wanted in families.items() if re.match(wanted["pattern"], name)), "")


def _facts(path: str) -> dict[str, Any]:
    try:
        with Elf(path) as elf:
            return elf.describe()
    except NotAnObject:
        # Deleted since it was mapped, for example.
        return {"soname": "", "needed": [], "rpath": "", "runpath": ""}


def _search_paths(path: str, facts: dict[str, Any], families: dict[str, Any]) -> list[dict[str, Any]]:
    """Search paths of a file that needs a wanted library: RPATH beats LD_LIBRARY_PATH, RUNPATH does not."""
    if not facts["rpath"] and not facts["runpath"]:
        return []
    needs = [name for name in facts["needed"] if family_by_name(name, families)]
    return (
        [{"path": shown(path), "needs": needs, "rpath": facts["rpath"], "runpath": facts["runpath"]}] if needs else []
    )


def call_all(path: str, calls: dict[str, str]) -> dict[str, Any]:
    """Call version functions of a library that is mapped already (a second load gives the same handle)."""
    import ctypes

    library = ctypes.CDLL(path)
    answers: dict[str, Any] = {}
    for symbol, shape in calls.items():
        function = getattr(library, symbol, None)
        if function is None:
            continue
        if shape == "int*":
            number = ctypes.c_int(-1)
            code = function(ctypes.byref(number))
            answers[symbol] = {"code": code, "value": number.value}
        elif shape == "char*":
            function.restype = ctypes.c_char_p
            text = function()
            answers[symbol] = {"code": 0, "value": (text or b"")[:200].decode("utf-8", "backslashreplace")}
    return answers


def _identity(path: str) -> dict[str, Any]:
    try:
        state = os.stat(path)
    except OSError:
        # Deleted or replaced since it was mapped: a fact of its own, and no file to look at.
        return {"path": shown(path), "device": 0, "inode": 0}
    return {"path": shown(path), "device": state.st_dev, "inode": state.st_ino}


def _devices(mapped: list[dict[str, Any]]) -> dict[str, Any]:
    """Ask a mapped HIP runtime for its devices; ``code`` 0 means that the count is an answer."""
    import ctypes

    for library in mapped:
        handle = ctypes.CDLL(library["path"])
        if hasattr(handle, "hipGetDeviceCount"):
            count = ctypes.c_int(0)
            return {"code": handle.hipGetDeviceCount(ctypes.byref(count)), "count": count.value}
    return {"code": -1, "count": 0}
