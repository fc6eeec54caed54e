"""A target → what the collector is asked to look for, as JSON."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from imagepins.pins.model import AptPin, GitPin, PypiPin, Target, UrlPin
from imagepins.verify.collector.walk import family_pattern
from imagepins.verify.components import Component, component_of

RECORDS = "/usr/share/imagepins/provenance"
"""Where build stages leave their records (``<pin>.txt``)."""

QUESTIONS = {
    "prefer_ce_batch_copy": ("_copy_flags_for_hip_version", "hipRuntimeGetVersion"),
    "num_attrs": ("_num_attrs_for_hip_version", "hipRuntimeGetVersion"),
}
"""Gates that vLLM decides by a function of its own: gate → function, and the call whose number it takes."""

SUBJECTS = frozenset({"python", "records", "want_archs", "want_checkouts"})
"""Single values of a request that decide what a document can tell."""

PRELOADED = "/etc/ld.so.preload"
ASKED_MODULE = "vllm.v1.simple_kv_offload.cuda_mem_ops"


def make_request(
    target: Target, *, seconds: int = 300, load_seconds: int = 120, want_devices: bool = False
) -> dict[str, Any]:
    """What to collect for ``target``. ``seconds`` limits all of it, ``load_seconds`` each load and git status."""
    pins = tuple(target.all_pins.values())
    components = [component for component in map(component_of, pins) if component]
    names = {name for component in components for name in component.distributions}
    names |= {str(pin.pypi) for pin in pins if isinstance(pin, PypiPin)}
    questions = _questions(target)
    return {
        "root": "/",
        "seconds": seconds,
        "load_seconds": load_seconds,
        "python": str(target.python),
        "families": families(components),
        "loads": [str(load) for load in target.loads],
        "modules": _modules(components, names),
        "texts": sorted(
            {text for each in components for text in each.texts} | {each["file"] for each in questions} | {PRELOADED}
        ),
        "packages": [str(pin.apt) for pin in pins if isinstance(pin, AptPin)],
        "programs": [str(pin.name) for pin in pins if isinstance(pin, UrlPin)],
        "distributions": sorted(re.sub(r"[-_.]+", "-", name).lower() for name in names),
        "records": RECORDS,
        "want_archs": bool(target.archs),
        "want_checkouts": any(isinstance(pin, GitPin) for pin in pins),
        "want_devices": want_devices,
        "questions": questions,
    }


def unasked(wanted: Mapping[str, Any], asked: Mapping[str, Any]) -> list[str]:
    """What one request asks for and another did not, in words."""
    found = []
    for name, value in wanted.items():
        before = asked.get(name)
        if isinstance(value, list):
            known = before if isinstance(before, list) else []
            found += [f"{name} {_word(each)}" for each in value if each not in known]
        elif isinstance(value, Mapping):
            rows = before if isinstance(before, Mapping) else {}
            found += [f"{name} {key}" for key, each in value.items() if rows.get(key) != each]
        elif name in SUBJECTS and value and value != before:
            found.append(f"{name} {value}" if isinstance(value, str) else name)
    return found


def _word(item: object) -> str:
    return str(item["name"]) if isinstance(item, Mapping) else str(item)


def families(components: Iterable[Component]) -> Mapping[str, Any]:
    """Each library family with the pattern of its file names and what to ask its files."""
    wanted: dict[str, Any] = {}
    for component in components:
        for family in component.families:
            entry = wanted.setdefault(
                family, {"stems": [family], "pattern": family_pattern([family]), "calls": {}, "literals": {}}
            )
            if family in component.libraries:
                entry["calls"] |= component.calls
                entry["literals"] |= component.literals
    return wanted


def _modules(components: Iterable[Component], names: set[str]) -> list[str]:
    # Without a Python package to look for, the image's search path is not worth starting an interpreter.
    modules = sorted({module for component in components for module in component.modules})
    return modules or (["sys"] if names else [])


def _questions(target: Target) -> list[dict[str, str]]:
    return [
        {
            "name": gate.name,
            "module": ASKED_MODULE,
            "file": "/" + ASKED_MODULE.replace(".", "/") + ".py",
            "function": QUESTIONS[gate.name][0],
            "call": QUESTIONS[gate.name][1],
        }
        for gate in target.gates
        if gate.name in QUESTIONS
    ]
