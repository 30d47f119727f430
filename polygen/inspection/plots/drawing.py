"""Drawing with matplotlib, which is imported for the first picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from polygen.errors import NoMatplotlib
from polygen.inspection.plots.picture import Picture, Position, Tile
from polygen.inspection.plots.polyhedra_corners import Point, hull
from polygen.inspection.plots.shown_instances import Values
from polygen.ir.expression import Expression
from polygen.source import caller_location

_MARKERS = "os^Dv*XP"
_POINTS = ("#0757b3", "#b35900", "#0a7a4b", "#8a2be2", "#b3202c", "#5b6b00", "#00788a", "#7a4a00")
_SHADES = ("#d3e5f8", "#fdecd0", "#d9f0df", "#eadcf6")
_OUTLINE = "#57606a"
_ARROWS = {"flow": ("#1f2328", "-"), "anti": ("#b35900", "--"), "output": ("#6a3d9a", ":")}
_FEW = 10  # values that a legend can name; more get a colour bar
_MARGIN = 0.32  # of a tile around its points
_EVERY_TICK = 20


def matplotlib(module: str) -> Any:
    """Return a module of matplotlib's.

    Raises:
        NoMatplotlib: if it is not installed.
    """
    try:
        return import_module(f"matplotlib.{module}")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        raise NoMatplotlib(
            "pictures of domains are drawn by matplotlib, which is not installed",
            where=caller_location(),
            remedy="pip install polygen[plots]",
        ) from None


def new_axes(picture: Picture, dimensions: int) -> Any:
    """Return axes of a size that suits what is drawn, in a figure of their own."""
    places = [place for found in picture.places.values() for place in found]
    wide, high = (_clipped(0.55 * _extent(places, k) + 1.3) for k in (0, 1))
    if dimensions == 3:
        wide, high = 7.0, 6.0
    projection = {"projection": "3d"} if dimensions == 3 else {}
    # Laid out when it is drawn or saved, with room for what stands beside the axes.
    figure = matplotlib("pyplot").figure(figsize=(wide, high), layout="constrained")
    return figure.add_subplot(**projection)


def _extent(places: Sequence[Values], axis: int) -> int:
    return max(p[axis] for p in places) - min(p[axis] for p in places) + 1


def _clipped(inches: float) -> float:
    return min(11.0, max(3.2, inches))


class Pen:
    """Draws the parts of a picture.

    Parameters:
        ax: matplotlib's axes.
        picture: what is drawn.
        dimensions: of the picture: 2 or 3.
    """

    def __init__(self, ax: Any, picture: Picture, dimensions: int) -> None:
        self._ax = ax
        self._picture = picture
        self._is_flat = dimensions == 2
        self._has_bar = False
        # For what is in the legend alone.
        self._nowhere: list[list[float]] = [[] for _ in range(dimensions)]

    def outlines(self) -> None:
        """Draw the polyhedra that the domains are."""
        for faces in self._picture.outlines():
            for face in faces:
                corners = [tuple(map(float, corner)) for corner in (*face, face[0])]
                self._ax.plot(*zip(*corners, strict=True), color=_OUTLINE, linewidth=1.1, zorder=2)

    def tiles(self, by: Sequence[Expression]) -> None:
        """Shade the instances in which expressions have the same values."""
        for tile in self._picture.tiles(by):
            # Neighbours in different colours.
            shade = _SHADES[(tile.key[0] % 2 + 2 * (sum(tile.key[1:]) % 2)) % len(_SHADES)]
            if self._is_flat:
                self._flat_tile(tile, shade)
            else:
                self._solid_tile(self._picture.faces(by, tile), shade)

    def _flat_tile(self, tile: Tile, shade: str) -> None:
        around = [
            (-_MARGIN, -_MARGIN),
            (-_MARGIN, _MARGIN),
            (_MARGIN, -_MARGIN),
            (_MARGIN, _MARGIN),
        ]
        corners = hull([(x + a, y + b) for x, y in tile.places for a, b in around])
        polygon = matplotlib("patches").Polygon(
            corners, facecolor=shade, edgecolor="#9aa4af", linewidth=0.8, zorder=1
        )
        self._ax.add_patch(polygon)

    def _solid_tile(self, faces: Sequence[Sequence[Point]], shade: str) -> None:
        solid = [[tuple(map(float, c)) for c in face] for face in faces if len(face) > 2]
        if not solid:
            return
        art = import_module("mpl_toolkits.mplot3d.art3d")  # comes with matplotlib
        collection = art.Poly3DCollection(
            solid, facecolors=shade, edgecolors="#9aa4af", linewidths=0.6, alpha=0.35
        )
        self._ax.add_collection3d(collection)

    def points(self, colours: Mapping[tuple[str, Values], int] | None, meaning: str) -> None:
        """Draw the instances, each instruction with a marker of its own."""
        several = len(self._picture.statements) > 1
        size = min(42.0, max(8.0, 5000 / max(1, sum(map(len, self._picture.places.values())))))
        scale = None if colours is None else self._scale(colours)
        for k, statement in enumerate(self._picture.statements):
            places = self._picture.places[statement.id]
            if not places:
                continue
            positions = [self._picture.position(statement.id, place) for place in places]
            shown: Any = _POINTS[k % len(_POINTS)]
            if colours is not None and scale is not None:
                shown = [scale(colours[statement.id, place]) for place in places]
            self._ax.scatter(
                *zip(*positions, strict=True),
                c=shown,
                marker=_MARKERS[k % len(_MARKERS)],
                s=size,
                label=statement.id if several else None,
                edgecolors="white",
                linewidths=0.4,
                zorder=4,
                **({} if self._is_flat else {"depthshade": False}),
            )
        if colours is not None:
            self._explain(colours, meaning)

    def _scale(self, colours: Mapping[tuple[str, Values], int]) -> Any:
        """Return what gives values their colours."""
        values = sorted(set(colours.values()))
        pyplot = matplotlib("pyplot")
        if len(values) <= _FEW:
            few = dict(zip(values, pyplot.get_cmap("tab10").colors, strict=False))
            return few.__getitem__
        norm = matplotlib("colors").Normalize(values[0], values[-1])
        many = pyplot.get_cmap("viridis")
        return {value: many(norm(value)) for value in values}.__getitem__

    def _explain(self, colours: Mapping[tuple[str, Values], int], meaning: str) -> None:
        """Say what colours mean: in the legend, or beside a bar."""
        values, scale = sorted(set(colours.values())), self._scale(colours)
        if len(values) <= _FEW:
            for value in values:
                self._ax.scatter(
                    *self._nowhere, color=scale(value), s=36, label=f"{meaning} = {value}"
                )
            return
        norm = matplotlib("colors").Normalize(values[0], values[-1])
        mappable = matplotlib("cm").ScalarMappable(norm, "viridis")
        bar = self._ax.figure.colorbar(mappable, ax=self._ax, label=meaning, shrink=0.8)
        bar.locator = matplotlib("ticker").MaxNLocator(integer=True)
        bar.update_ticks()
        self._has_bar = True

    def arrows(self) -> None:
        """Draw the dependences between different places."""
        for kind, (colour, style) in _ARROWS.items():
            ends = [
                (self._picture.position(a.source, a.start), self._picture.position(a.sink, a.end))
                for a in self._picture.arrows
                if a.kind == kind
            ]
            moved = [(start, end) for start, end in ends if start != end]
            if not moved:
                continue
            if self._is_flat:
                self._flat_arrows(moved, colour, style)
            else:
                self._solid_arrows(moved, colour, style)
            self._ax.plot(*self._nowhere, color=colour, linestyle=style, label=kind)

    def _flat_arrows(
        self, ends: Sequence[tuple[Position, Position]], colour: str, style: str
    ) -> None:
        look = {
            "arrowstyle": "-|>,head_length=0.35,head_width=0.16",
            "color": colour,
            "linestyle": style,
            "linewidth": 0.9,
            "shrinkA": 3.5,
            "shrinkB": 3.5,
            # Anti- and output dependences beside the flow between the same places.
            "connectionstyle": f"arc3,rad={0.22 * list(_ARROWS.values()).index((colour, style))}",
        }
        for start, end in ends:
            self._ax.annotate("", xy=end, xytext=start, arrowprops=look, zorder=3)

    def _solid_arrows(
        self, ends: Sequence[tuple[Position, Position]], colour: str, style: str
    ) -> None:
        steps = [[b - a for a, b in zip(start, end, strict=True)] for start, end in ends]
        starts = [start for start, _ in ends]
        self._ax.quiver(
            *zip(*starts, strict=True),
            *zip(*steps, strict=True),
            color=colour,
            linestyle=style,
            linewidth=0.9,
            arrow_length_ratio=0.22,
        )

    def paths(self) -> None:
        """Draw the order of execution as a line for each work item."""
        for positions in self._picture.paths():
            self._ax.plot(
                *zip(*positions, strict=True), color="#c2332b", linewidth=0.9, alpha=0.8, zorder=3
            )

    def numbers(self) -> None:
        """Write beside each instance when it is executed."""
        for (insn_id, place), time in self._picture.times().items():
            position = self._picture.position(insn_id, place)
            if self._is_flat:
                self._ax.annotate(
                    str(time), position, xytext=(3, 3), textcoords="offset points",
                    fontsize=7, color="#1f2328", zorder=5,
                )  # fmt: skip
            else:
                self._ax.text(*position, f" {time}", fontsize=7, color="#1f2328")

    def frame(self, labels: Sequence[str], title: str) -> None:
        """Name the axes, with ticks at integers."""
        axes = (self._ax.xaxis, self._ax.yaxis, *(() if self._is_flat else (self._ax.zaxis,)))
        places = [place for found in self._picture.places.values() for place in found]
        ticker = matplotlib("ticker")
        for k, (axis, label) in enumerate(zip(axes, labels, strict=True)):
            axis.set_label_text(label, family="monospace")
            few = places and _extent(places, k) <= _EVERY_TICK
            axis.set_major_locator(
                ticker.MultipleLocator(1) if few else ticker.MaxNLocator(integer=True)
            )
        self._ax.set_title(title, fontsize=10, loc="left" if self._has_bar else "center")
        if self._is_flat:
            self._ax.set_aspect("equal")
            self._ax.grid(visible=True, color="#e3e7ec", linewidth=0.6, zorder=0)
            self._ax.set_axisbelow(True)
            self._ax.spines[["top", "right"]].set_visible(False)
            self._ax.margins(0.06)
        if self._ax.get_legend_handles_labels()[1]:
            # At the right, unless a bar is there.
            beside = {"loc": "upper left", "bbox_to_anchor": (1.02, 1.0)}
            above = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "ncols": 3}
            place = above if self._has_bar else beside
            self._ax.legend(**place, frameon=False, fontsize=9)

    def make_room(self) -> None:
        """Let a figure of one's own be so much wider that the legend takes nothing of the axes."""
        legend, figure = self._ax.get_legend(), self._ax.figure
        if legend is not None and not self._has_bar:
            beside = legend.get_window_extent().width / figure.dpi
            figure.set_figwidth(figure.get_figwidth() + beside)
