"""The collector's modules → one source text for ``python3 -c``."""

import re
from pathlib import Path

MODULES = (
    *("paths", "walk", "elf", "bundles", "kpacks", "contents", "children", "records", "loads", "libraries"),
    *("packages", "modules", "checkouts", "main"),
)
_OWN = re.compile(r"^from (imagepins|__future__)[^\n]*\n", re.MULTILINE)


def collector_source() -> str:
    """Join the modules in the order they need one another; at most 128 KiB, what Linux takes as one argument."""
    folder = Path(__file__).parent / "collector"
    texts = ((folder / f"{name}.py").read_text(encoding="utf-8") for name in MODULES)
    return "from __future__ import annotations\n" + "\n".join(_OWN.sub("", text) for text in texts)
