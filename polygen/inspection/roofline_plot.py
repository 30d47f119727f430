"""The picture of a roofline, as SVG: rates over intensities, both logarithmic."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil, floor, log10

_WIDTH, _HEIGHT, _MARGIN = 640, 420, 60


def drawn(
    name: str,
    bandwidth: float,
    peak: float,
    intensities: tuple[float, float],
    reached: float | None,
) -> str:
    """Return the picture.

    Parameters:
        name: of the kernel.
        bandwidth: in bytes per second.
        peak: in operations per second.
        intensities: operations for each byte that must move, and for each that is accessed.
        reached: how many operations per second were measured.
    """
    ridge = peak / bandwidth
    values = [min(peak, x * bandwidth) for x in intensities]
    x = _Axis((*intensities, ridge / 10, ridge * 10), _MARGIN, _WIDTH - _MARGIN)
    y = _Axis((*values, *([reached] if reached else []), peak), _HEIGHT - _MARGIN, _MARGIN)
    start, end = x.ends
    roof = [(start, start * bandwidth), (ridge, peak), (end, peak)]
    if start * bandwidth < y.ends[0]:  # the part of the roof that is in the picture
        roof[0] = (y.ends[0] / bandwidth, y.ends[0])
    line = " ".join(f"{x.at(a):.1f},{y.at(b):.1f}" for a, b in roof)
    parts = [
        *_frame(x, y),
        f'<polyline points="{line}" fill="none" stroke="black" stroke-width="2"/>',
        *_place(x.at(intensities[0]), y.at(values[0]), "navy", "bytes that must move"),
        *_place(x.at(intensities[1]), y.at(values[1]), "gray", "bytes that are accessed"),
    ]
    if reached is not None:
        parts += _place(x.at(intensities[0]), y.at(reached), "firebrick", "measured")
    parts.append(_text(_WIDTH / 2, 30, name, "middle"))
    size = f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">\n'
        f'<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n'
    )


class _Axis:
    """A logarithmic axis, from a power of ten to another."""

    def __init__(self, values: tuple[float, ...], first: float, last: float) -> None:
        self.powers = range(floor(log10(min(values))), ceil(log10(max(values))) + 1)
        self._first, self._last = first, last

    @property
    def ends(self) -> tuple[float, float]:
        return 10.0 ** self.powers[0], 10.0 ** self.powers[-1]

    def at(self, value: float) -> float:
        """Return where a value is in the picture."""
        part = (log10(value) - self.powers[0]) / max(1, self.powers[-1] - self.powers[0])
        return self._first + part * (self._last - self._first)


def _frame(x: _Axis, y: _Axis) -> Iterator[str]:
    left, right, top, bottom = _MARGIN, _WIDTH - _MARGIN, _MARGIN, _HEIGHT - _MARGIN
    for power in x.powers:
        at = x.at(10.0**power)
        yield f'<path d="M{at:.1f} {top}V{bottom}" stroke="#ddd"/>'
        yield _text(at, bottom + 18, f"1e{power}", "middle")
    for power in y.powers:
        at = y.at(10.0**power)
        yield f'<path d="M{left} {at:.1f}H{right}" stroke="#ddd"/>'
        yield _text(left - 6, at + 4, f"1e{power}", "end")
    yield _text((left + right) / 2, _HEIGHT - 15, "operations per byte", "middle")
    yield _text(left, top - 10, "operations per second", "start")


def _place(x: float, y: float, colour: str, label: str) -> Iterator[str]:
    yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colour}"/>'
    yield _text(x + 9, y + 14, label, "start", colour)


def _text(x: float, y: float, text: str, anchor: str, colour: str = "black") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{text}</text>'
