"""Plots over time as one SVG: panels with lines and dots, and shaded bands where something happened."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import log

Points = Sequence[tuple[float, float]]
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _GAP = 1000, 150, 70, 190, 44
_COLOURS = (
    "#1f6fb4",
    "#d1495b",
    "#2e933c",
    "#edae49",
    "#6a4c93",
    "#00798c",
    "#8d5a2b",
    "#e26d9f",
    "#777777",
    "#111111",
)
_HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">'
    '<rect width="{width}" height="{height}" fill="white"/>'
)


@dataclass(frozen=True)
class Panel:
    """Lines by name over seconds; with ``dots``, single points. ``logarithmic`` axes begin at the least value."""

    title: str
    lines: Mapping[str, Points]
    dots: bool = False
    logarithmic: bool = False


@dataclass(frozen=True)
class Band:
    """A stretch of time with a colour, by number."""

    begun: float
    ended: float
    colour: int
    name: str


def svg(panels: Sequence[Panel], bands: Sequence[Band], seconds: float) -> str:
    """The picture: all panels over the same time."""
    height = len(panels) * (_HEIGHT + _GAP) + 30
    parts = [_HEAD.format(width=_WIDTH, height=height)]
    for place, panel in enumerate(panels):
        parts += _panel(panel, bands, seconds, place * (_HEIGHT + _GAP) + 26)
    return "\n".join([*parts, "</svg>\n"])


def _panel(panel: Panel, bands: Sequence[Band], seconds: float, top: float) -> list[str]:
    width = _WIDTH - _LEFT - _RIGHT

    def x(at: float) -> float:
        return _LEFT + width * at / seconds

    scale = _Scale(panel, top)
    parts = [f'<text x="{_LEFT}" y="{top - 8}" font-weight="bold">{escape(panel.title)}</text>']
    for band in bands:
        width_of_it = max(1.5, x(band.ended) - x(band.begun))
        shape = f'x="{x(band.begun):.1f}" y="{top}" width="{width_of_it:.1f}" height="{_HEIGHT}"'
        colour = _COLOURS[band.colour % len(_COLOURS)]
        parts.append(f'<rect {shape} fill="{colour}" fill-opacity=".14"><title>{escape(band.name)}</title></rect>')
    parts += [scale.line(value) for value in scale.ticks]
    step = next((each for each in (60, 300, 600, 1800, 3600) if seconds / each <= 10), 36_000)
    for number in range(int(seconds // step) + 1):
        text = f"{number * step // 60:g} min"
        parts.append(f'<text x="{x(number * step):.1f}" y="{top + _HEIGHT + 13}" text-anchor="middle">{text}</text>')
    for number, (name, points) in enumerate(panel.lines.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        places = [f"{x(at):.1f},{scale.y(value):.1f}" for at, value in points]
        if panel.dots:
            shape = " ".join(f"M{place}h.1" for place in places)
            parts.append(f'<path d="{shape}" stroke="{colour}" stroke-width="2.4" stroke-linecap="round"/>')
        else:
            parts.append(f'<polyline points="{" ".join(places)}" fill="none" stroke="{colour}" stroke-width="1.2"/>')
        parts.append(
            f'<text x="{_WIDTH - _RIGHT + 8}" y="{top + 9 + 13 * number}" fill="{colour}">{escape(name)}</text>'
        )
    return parts


class _Scale:
    """From values to places of a panel, from 0 or, on a logarithmic axis, from the power of ten below the least."""

    def __init__(self, panel: Panel, top: float) -> None:
        values = [value for points in panel.lines.values() for _, value in points]
        self._top, self._is_logarithmic = top, panel.logarithmic
        most = max(values, default=1.0) or 1.0
        if panel.logarithmic:
            powers = [10.0**power for power in range(-3, 6)]
            self._least = max((power for power in powers if power <= min(values, default=0.1)), default=powers[0])
            self._most = min((power for power in powers if power >= most), default=powers[-1])
            self.ticks = [power for power in powers if self._least <= power <= self._most]
        else:
            step = next(s * 10.0**p for p in range(-3, 9) for s in (1, 2, 5) if most / (s * 10.0**p) <= 5)
            self._least, self._most = 0.0, step * -(-most // step)
            self.ticks = [step * number for number in range(int(self._most / step) + 1)]

    def y(self, value: float) -> float:
        """Its place, from the top of the picture."""
        if self._is_logarithmic:
            part = log(max(value, self._least) / self._least) / log(self._most / self._least)
        else:
            part = value / self._most
        return self._top + _HEIGHT * (1 - part)

    def line(self, value: float) -> str:
        y = self.y(value)
        rule = f'<path d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}" stroke="#ddd" stroke-width=".7"/>'
        return f'{rule}<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>'
