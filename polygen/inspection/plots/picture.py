"""The contents of a picture of iteration domains, before it is drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from polygen.inspection.plots.arrows import Arrow
from polygen.inspection.plots.polyhedra_corners import Point, outlines
from polygen.inspection.plots.shown_instances import Statement, Values
from polygen.ir.expression import Expression

Position: TypeAlias = tuple[float, ...]
_APART = 0.24  # how far instructions at one place are drawn from each other


@dataclass(frozen=True)
class Tile:
    """A group of instances.

    Attributes:
        key: the values that they share.
        places: where they are.
    """

    key: Values
    places: tuple[Values, ...]


class Picture:
    """A picture of iteration domains: points, tiles, arrows.

    Parameters:
        statements: the instructions that have a place.
        arrows: what depends on what.
    """

    def __init__(self, statements: Sequence[Statement], arrows: Sequence[Arrow]) -> None:
        self.statements = statements
        self.arrows = arrows
        self.places = {s.id: sorted({s.place(i) for i in s.instances}) for s in statements}
        self._shifts = self._apart()

    def _apart(self) -> dict[str, float]:
        """Return by how much each instruction is moved, so that none hides another."""
        count = len(self.statements)
        taken = [set(places) for places in self.places.values()]
        shared = sum(map(len, taken)) > len(set[Values]().union(*taken))
        return {
            s.id: _APART * (k - (count - 1) / 2) if shared else 0.0
            for k, s in enumerate(self.statements)
        }

    def position(self, insn_id: str, place: Values) -> Position:
        """Return where a place of an instruction is drawn."""
        first, *others = place
        return (first + self._shifts[insn_id], *map(float, others))

    def outlines(self) -> list[tuple[tuple[Point, ...], ...]]:
        """Return the faces of the polyhedra that the instructions' domains are, each once."""
        images = (image for s in self.statements for image in s.images())
        found = dict.fromkeys(faces for image in images for faces in outlines(image))
        return list(found)

    def tiles(self, by: Sequence[Expression]) -> list[Tile]:
        """Return the groups of instances in which expressions have the same values."""
        found: dict[Values, set[Values]] = {}
        for s in self.statements:
            for instance in s.instances:
                key = tuple(s.value(e, instance) for e in by)
                found.setdefault(key, set()).add(s.place(instance))
        return [Tile(key, tuple(sorted(found[key]))) for key in sorted(found)]

    def faces(self, by: Sequence[Expression], tile: Tile) -> list[tuple[Point, ...]]:
        """Return the faces of the polyhedra that a tile consists of."""
        fixed = dict(zip(by, tile.key, strict=True))
        images = (image for s in self.statements for image in s.images(fixed))
        return [face for image in images for solid in outlines(image) for face in solid]

    def values(self, of: Expression) -> dict[tuple[str, Values], int]:
        """Return the value of an expression at each place: the least, where there are several."""
        found: dict[tuple[str, Values], int] = {}
        for s in self.statements:
            for instance in s.instances:
                at, value = (s.id, s.place(instance)), s.value(of, instance)
                found[at] = min(value, found.get(at, value))
        return found

    def times(self) -> dict[tuple[str, Values], int]:
        """Return at each place when it is executed: 0 first; what is parallel, at one time."""
        moments = sorted({s.moment(i) for s in self.statements for i in s.instances})
        rank = {moment: number for number, moment in enumerate(moments)}
        found: dict[tuple[str, Values], int] = {}
        for s in self.statements:
            for instance in s.instances:
                at, time = (s.id, s.place(instance)), rank[s.moment(instance)]
                found[at] = min(time, found.get(at, time))
        return found

    def paths(self) -> Iterator[list[Position]]:
        """Yield the positions that each work item passes, in order."""
        visits: dict[object, list[tuple[Values, Position]]] = {}
        for s in self.statements:
            for instance in s.instances:
                position = self.position(s.id, s.place(instance))
                visits.setdefault(s.work_item(instance), []).append((s.moment(instance), position))
        for passed in visits.values():
            yield [position for _, position in sorted(passed)]
