"""Line charts as SVG: no script, no outside resource; colours come from the page's style sheet."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 400, 232
LEFT, RIGHT, TOP, BOTTOM = 42, 74, 12, 34


@dataclass(frozen=True)
class Line:
    name: str  # shown at the end of the line; also its class in the style sheet
    values: Sequence[float]


def round_steps(low: float, high: float, most: int) -> list[float]:
    """At most `most` + 2 multiples of 1, 2 or 5 times a power of ten that enclose low … high."""
    raw = max(high - low, 1e-9) / most
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * magnitude for factor in (1, 2, 5, 10) if factor * magnitude >= raw * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [number * step for number in range(first, max(last, first + 1) + 1)]


def spread_labels(heights: list[float], gap: float) -> list[float]:
    """Moves labels apart without changing their order, so that neighbours are at least `gap` apart."""
    order = sorted(range(len(heights)), key=heights.__getitem__)
    placed = list(heights)
    for above, below in zip(order, order[1:], strict=False):
        if placed[below] - placed[above] < gap:
            middle = (placed[above] + placed[below]) / 2
            placed[above], placed[below] = middle - gap / 2, middle + gap / 2
    return placed


def axis_marks(ticks: list[float], x: Callable, y: Callable, epochs: int, show: Callable) -> list[str]:
    parts = []
    for tick in ticks:
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(tick)}" y2="{y(tick)}"/>')
        parts.append(
            f'<text class="tick" x="{LEFT - 6}" y="{y(tick) + 4}" text-anchor="end">{show(tick)}</text>'
        )
    every = max(1, math.ceil(epochs / 10))
    for epoch in range(every if every > 1 else 1, epochs + 1, every):
        middle = f'x="{x(epoch)}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle"'
        parts.append(f'<text class="tick" {middle}>{epoch}</text>')
    middle = f'x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 3}" text-anchor="middle"'
    return [*parts, f'<text class="tick" {middle}>epoch</text>']


def line_chart(title: str, lines: Sequence[Line], show: Callable[[float], str]) -> str:
    """Draws the values of each line over epochs 1, 2, …; `show` formats a value. Values must be finite."""
    values = [value for line in lines for value in line.values]
    epochs = max(len(line.values) for line in lines)
    ticks = round_steps(min(values), max(values), 4)
    across, down = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def x(epoch: float) -> float:
        return round(LEFT + across * ((epoch - 1) / (epochs - 1) if epochs > 1 else 0.5), 1)

    def y(value: float) -> float:
        return round(TOP + down * (1 - (value - ticks[0]) / (ticks[-1] - ticks[0])), 1)

    parts = axis_marks(ticks, x, y, epochs, show)
    heights = spread_labels([y(line.values[-1]) for line in lines], gap=15)
    for line, height in zip(lines, heights, strict=True):
        points = [(x(epoch), y(value)) for epoch, value in enumerate(line.values, 1)]
        path = " ".join(f"{a},{b}" for a, b in points)
        parts.append(f'<g class="{escape(line.name)}"><polyline points="{path}"/>')
        for (a, b), (epoch, value) in zip(points, enumerate(line.values, 1), strict=True):
            hint = f"<title>{escape(line.name)}, epoch {epoch}: {show(value)}</title>"
            parts.append(f'<circle cx="{a}" cy="{b}" r="2.6">{hint}</circle>')
        end = f'x="{WIDTH - RIGHT + 8}" y="{height + 4}"'
        parts.append(f'<text class="name" {end}>{escape(line.name)}</text></g>')
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">'
        f"{''.join(parts)}</svg>"
    )
