"""The picture of a roofline, as SVG: rates over intensities, both logarithmic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from math import atan2, ceil, degrees, floor, log10

_WIDTH, _HEIGHT, _MARGIN = 640, 420, 60
_COLOURS = ("navy", "gray", "darkgreen")
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def drawn(
    name: str,
    bandwidth: float,
    peak: float,
    places: Mapping[str, float],
    reached: float | None,
    local: float | None = None,
) -> str:
    """Return the picture.

    Parameters:
        name: of the kernel.
        bandwidth: in bytes per second.
        peak: in operations per second.
        places: operations for each byte, those that must move first: what of, and how many.
        reached: how many operations per second were measured.
        local: the bandwidth of local memory, if that is drawn, too: the last place is below it.
    """
    slopes = [bandwidth] * len(places)
    if local is not None and "bytes of local memory" in places:
        slopes[-1] = local
    values = [min(peak, v * s) for v, s in zip(places.values(), slopes, strict=True)]
    first = next(iter(places.values()))
    ridge = peak / bandwidth
    x = _Axis((*places.values(), ridge / 10, ridge * 10), _MARGIN, _WIDTH - _MARGIN)
    y = _Axis((*values, *([reached] if reached else []), peak), _HEIGHT - _MARGIN, _MARGIN)
    parts = [*_frame(x, y), *_roof(x, y, bandwidth, peak, "global memory")]
    if slopes[-1] != bandwidth:
        parts += _roof(x, y, slopes[-1], peak, "local memory", 'stroke-dasharray="6 4"')
    labels = _Labels()
    for (label, at), value, colour in zip(places.items(), values, _COLOURS, strict=False):
        parts += _place(x.at(at), y.at(value), colour, label, labels)
    if reached is not None:
        parts += _place(x.at(first), y.at(reached), "firebrick", "measured", labels)
    parts.append(_text(_WIDTH / 2, 30, escape(name), "middle"))
    size = f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">\n'
        f'<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n'
    )


def _roof(
    x: _Axis, y: _Axis, bandwidth: float, peak: float, label: str, style: str = ""
) -> Iterator[str]:
    """Yield what bounds operations: a slope, and the peak."""
    start, end = x.ends
    ridge = min(max(peak / bandwidth, start), end)
    corners = [(start, start * bandwidth), (ridge, peak), (end, peak)]
    if start * bandwidth < y.ends[0]:  # the part of the slope that is in the picture
        corners[0] = (y.ends[0] / bandwidth, y.ends[0])
    line = " ".join(f"{x.at(a):.1f},{y.at(b):.1f}" for a, b in corners)
    yield f'<polyline points="{line}" fill="none" stroke="black" stroke-width="2" {style}/>'
    shown = f"{label}: {_scaled(bandwidth)}B/s"
    (left, bottom), (right, top) = ((x.at(a), y.at(b)) for a, b in corners[:2])
    if right - left > _TALL:  # along the slope, above it
        yield _turned(
            (left + 3 * right) / 4, (bottom + 3 * top) / 4, right - left, bottom - top, shown
        )
    if not style:
        yield _text(x.at(end) - 4, y.at(peak) - 6, f"{_scaled(peak)}op/s", "end")


def _turned(x: float, y: float, right: float, up: float, text: str) -> str:
    angle = degrees(atan2(-up, right))
    turn = f"rotate({angle:.1f} {x:.1f} {y:.1f})"
    return (
        f'<text x="{x:.1f}" y="{y - 6:.1f}" text-anchor="middle" transform="{turn}">{text}</text>'
    )


def _scaled(rate: float) -> str:
    for unit, factor in (("T", 1e12), ("G", 1e9), ("M", 1e6)):
        if rate >= factor:
            return f"{rate / factor:.3g} {unit}"
    return f"{rate:.3g} "


class _Labels:
    """Places of texts in a plot, so that no text covers another one."""

    def __init__(self) -> None:
        self._taken: list[tuple[float, float]] = []

    def free(self, x: float, y: float) -> float:
        """Return the height, at or below one, at which there is room for a text."""
        while any(abs(x - a) < _LONG and abs(y - b) < _TALL for a, b in self._taken):
            y += _TALL
        self._taken.append((x, y))
        return y


_LONG, _TALL = 150, 14  # of a text


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
        yield _text(at, bottom + 18, _power(power), "middle")
    for power in y.powers:
        at = y.at(10.0**power)
        yield f'<path d="M{left} {at:.1f}H{right}" stroke="#ddd"/>'
        yield _text(left - 6, at + 4, _power(power), "end")
    yield _text((left + right) / 2, _HEIGHT - 15, "operations per byte", "middle")
    yield _text(left, top - 10, "operations per second", "start")


def _power(power: int) -> str:
    return "10" + str(power).translate(_SUPERSCRIPTS)


def _place(x: float, y: float, colour: str, label: str, labels: _Labels) -> Iterator[str]:
    yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colour}"/>'
    on_left = x > _WIDTH - _MARGIN - _LONG
    at = labels.free(x, y + 18)
    yield _text(x - 9 if on_left else x + 9, at, label, "end" if on_left else "start", colour)


def _text(x: float, y: float, text: str, anchor: str, colour: str = "black") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{text}</text>'
