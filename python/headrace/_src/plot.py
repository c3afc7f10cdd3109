"""A bar for each stage of a loader, in SVG, without a plotting library."""

from __future__ import annotations

import os

from headrace._src.stats import Stats

_WIDTH, _BAR_LEFT, _BAR_RIGHT, _ROW, _TOP = 640, 130, 530, 28, 40
_STAGES = (
    ("store", "fetch_seconds", "#4878a8"),
    ("inflate", "inflate_seconds", "#6a9a58"),
    ("checksums", "check_seconds", "#7a6ab0"),
    ("decode", "decode_seconds", "#c08a3e"),
    ("caller waits", "wait_seconds", "#b0504a"),
    ("hand-over", "hand_over_seconds", "#8a6a4a"),
)


class Svg(str):
    """The text of an SVG file, which notebooks show as a picture."""

    def _repr_svg_(self) -> str:
        return self

    def save(self, path: str | os.PathLike) -> None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(self)


def plot_stats(stats: Stats) -> Svg:
    longest = max(max(getattr(stats, name) for _, name, _ in _STAGES), 1e-9)
    height = _TOP + _ROW * len(_STAGES) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" '
        f'height="{height}" font-family="sans-serif" font-size="13" role="img">',
        f'<text x="10" y="22" font-weight="bold" fill="currentColor">{stats.records:,} records in '
        f"{stats.batches:,} batches: seconds in each stage</text>",
    ]
    for place, (label, name, colour) in enumerate(_STAGES):
        seconds = getattr(stats, name)
        top = _TOP + _ROW * place
        length = max(1.0, (_BAR_RIGHT - _BAR_LEFT) * seconds / longest)
        parts += [
            f'<text x="{_BAR_LEFT - 8}" y="{top + 15}" text-anchor="end" fill="currentColor">{label}</text>',
            f'<rect x="{_BAR_LEFT}" y="{top}" width="{length:.1f}" height="{_ROW - 8}" fill="{colour}"/>',
            f'<text x="{_BAR_LEFT + length + 6:.1f}" y="{top + 15}" fill="currentColor">{seconds:.3f} s'
            "</text>",
        ]
    return Svg("\n".join([*parts, "</svg>"]) + "\n")
