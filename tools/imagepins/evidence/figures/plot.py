"""Comparison → one SVG picture: a panel per figure, a bar per side, the spread of the runs, the change in per cent.

Written by hand as plain SVG 1.1: no script, no font file, no network, so it renders alike on GitHub and in browsers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from imagepins.evidence.figures.comparison import Comparison, Verdict, change_of, signed
from imagepins.evidence.figures.metrics import Metric
from imagepins.evidence.figures.report import show_figure
from imagepins.evidence.figures.sides import Side
from imagepins.evidence.figures.stats import Sample
from imagepins.markup import defuse

WIDTH = 900
_LEFT, _RIGHT, _TOP = 210, 300, 70
_BAR, _GAP, _PANEL_HEAD, _PANEL_GAP = 22, 6, 26, 18
# Okabe and Ito's palette, told apart by every kind of colour vision; the base is grey.
_COLOURS = ("#999999", "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
_VERDICT_COLOURS = {Verdict.BETTER: "#00664a", Verdict.WORSE: "#a33f00"}


@dataclass(frozen=True)
class _Bar:
    """One side in one panel: what is drawn and what is written beside it."""

    name: str
    sample: Sample | None
    text: str
    note: str
    colour: str
    note_colour: str


def comparison_svg(comparison: Comparison, *, title: str) -> str:
    """The picture as text of an SVG file, ending in a newline."""
    sides = [comparison.base, *(candidate.side for candidate in comparison.candidates)]
    panel = _PANEL_HEAD + len(sides) * (_BAR + _GAP) + _PANEL_GAP
    height = _TOP + len(comparison.metrics) * panel + 34
    root = ET.Element(
        "svg",
        {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {WIDTH} {height}", "width": str(WIDTH)}
        | {"height": str(height), "font-family": "Helvetica, Arial, sans-serif", "font-size": "13", "role": "img"},
    )
    ET.SubElement(root, "title").text = defuse(title)
    _rect(root, 0, 0, (WIDTH, height), "#ffffff")
    _text(root, 20, 32, _clip(defuse(title), 80), size=18, weight="bold")
    _text(root, 20, 52, _subtitle(sides), colour="#555555")
    for at, metric in enumerate(comparison.metrics):
        _panel(root, _TOP + at * panel, metric, _bars(comparison, sides, metric))
    _text(root, 20, height - 12, _legend(sides), size=12, colour="#555555")
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"


def _bars(comparison: Comparison, sides: Sequence[Side], metric: Metric) -> list[_Bar]:
    bars = []
    for at, side in enumerate(sides):
        change = change_of(comparison.base, side, metric)
        note = "base" if at == 0 else _note(change.percent, change.verdict)
        colour = _VERDICT_COLOURS.get(change.verdict, "#333333") if at else "#555555"
        sample = change.other
        text = f"{show_figure(sample, metric)}" if sample else "not recorded"
        bars.append(_Bar(side.name, sample, text, note, _COLOURS[at % len(_COLOURS)], colour))
    return bars


def _note(percent: float | None, verdict: Verdict) -> str:
    return str(verdict) if percent is None else f"{signed(percent)}, {verdict}"


def _panel(root: ET.Element, top: int, metric: Metric, bars: Sequence[_Bar]) -> None:
    _text(root, 20, top + 16, f"{metric.label}, {metric.direction}", weight="bold")
    largest = max((value for bar in bars if bar.sample for value in bar.sample.values), default=0.0) or 1.0
    scale = (WIDTH - _LEFT - _RIGHT) / largest
    for at, bar in enumerate(bars):
        y = top + _PANEL_HEAD + at * (_BAR + _GAP)
        _text(root, _LEFT - 8, y + 16, _clip(defuse(bar.name), 26), anchor="end")
        end = _LEFT + (max(bar.sample.values) * scale if bar.sample else 0.0)
        if bar.sample:
            _rect(root, _LEFT, y, (bar.sample.mean * scale, _BAR), bar.colour)
            _whisker(root, y + _BAR / 2, bar.sample, scale)
        _text(root, end + 8, y + 16, bar.text)
        _text(root, WIDTH - 20, y + 16, bar.note, anchor="end", colour=bar.note_colour)
    _rect(root, _LEFT - 1, top + _PANEL_HEAD - 3, (1, len(bars) * (_BAR + _GAP)), "#333333")


def _whisker(root: ET.Element, middle: float, sample: Sample, scale: float) -> None:
    """From the lowest to the highest run; nothing for a single run."""
    if len(sample.values) < 2:
        return
    low, high = (_LEFT + value * scale for value in (min(sample.values), max(sample.values)))
    _rect(root, low, middle - 1, (max(high - low, 1.0), 2), "#000000")
    for end in (low, high):
        _rect(root, end - 1, middle - 6, (2, 12), "#000000")


def _subtitle(sides: Sequence[Side]) -> str:
    runs = sorted({len(side.runs) for side in sides})
    if runs == [1]:
        return "One run a side: no spread is known, small changes may be noise."
    count = f"{runs[0]}" if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"
    return f"Mean of {count} runs a side; whiskers from the lowest to the highest run; ± standard deviation."


def _legend(sides: Sequence[Side]) -> str:
    return f"Changes in per cent of {_clip(defuse(sides[0].name), 60)}. Bars begin at zero."


def _rect(root: ET.Element, x: float, y: float, size: tuple[float, float], fill: str) -> None:
    box = {"x": _px(x), "y": _px(y), "width": _px(max(size[0], 0.0)), "height": _px(size[1])}
    ET.SubElement(root, "rect", box | {"fill": fill})


def _text(
    root: ET.Element,
    x: float,
    y: float,
    text: str,
    *,
    size: int = 13,
    weight: str = "normal",
    anchor: str = "start",
    colour: str = "#111111",
) -> None:
    style = {"font-size": str(size), "font-weight": weight, "text-anchor": anchor, "fill": colour}
    ET.SubElement(root, "text", {"x": _px(x), "y": _px(y)} | style).text = text


def _px(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _clip(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
