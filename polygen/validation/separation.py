"""Finds what separates two statements: barriers, waits, the ends of loops over work items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import TypeAlias

from polygen.analysis.order.instance_order import Piece
from polygen.ir.array import AddressSpace
from polygen.lower.program import Barrier, Wait
from polygen.validation.copy_of import Copy
from polygen.validation.frames import Frame, Role, Statement, head_names
from polygen.validation.polynomial import number

Position: TypeAlias = tuple[Frame, int]  # a frame, and where in its block
Path: TypeAlias = list[Position]  # from the outermost frame inwards


class Separation:
    """Tells what stands between statements.

    Parameters:
        without: barriers that are not looked at: the frames that they are in, and where.
    """

    def __init__(self, without: frozenset[Position] = frozenset()) -> None:
        self._without = without
        self._paths: dict[tuple[Statement, str | None], Path] = {}

    def is_separated(
        self,
        copies: tuple[Sequence[Copy], Sequence[Copy]],
        piece: Piece,
        heads: tuple[str | None, str | None],
        space: AddressSpace,
    ) -> bool:
        """Tell whether the statements of two works are on different sides of a barrier.

        Parameters:
            copies: the statements of each, in one launch.
            piece: which instances.
            heads: what each of the works may read in a condition or a bound around it.
            space: where what they touch is.
        """
        return all(
            self.are_apart(both, piece, heads, space)
            for both in product(*copies)
            if is_in_piece(*both, piece)
        )

    def are_apart(
        self,
        copies: tuple[Copy, Copy],
        piece: Piece,
        heads: tuple[str | None, str | None],
        space: AddressSpace,
    ) -> bool:
        """Tell that of two statements; parameters are those of `is_separated`."""
        before, after = self._paths_of(copies, heads)
        waits = is_asynchronous(copies[0])

        def is_barrier(frame: Frame, position: int) -> bool:
            # A copy that is under way is behind no barrier.
            made = not waits or (position > 0 and _is_wait(frame, position - 1))
            return made and self._has_barrier(frame, position, space)

        return self._is_between(before, after, piece, is_barrier, of_items=not waits)

    def is_waited_for(
        self, copies: tuple[Copy, Copy], piece: Piece, heads: tuple[str | None, str | None]
    ) -> bool:
        """Tell whether the second waits for the copies that the first began."""
        before, after = self._paths_of(copies, heads)
        return self._is_between(before, after, piece, _is_wait, of_items=False)

    def _paths_of(
        self, copies: tuple[Copy, Copy], heads: tuple[str | None, str | None]
    ) -> tuple[Path, Path]:
        before, after = (self._path(c.statement, h) for c, h in zip(copies, heads, strict=True))
        return before, after

    def _path(self, statement: Statement, head: str | None) -> Path:
        found = self._paths.get((statement, head))
        if found is None:
            found = self._paths[statement, head] = _path(statement, head)
        return found

    def _is_between(
        self,
        before: Path,
        after: Path,
        piece: Piece,
        separates: Callable[[Frame, int], bool],
        *,
        of_items: bool = True,
    ) -> bool:
        """Tell whether something that separates stands between two places.

        Parameters:
            before, after: the places; the second is reached after the first.
            piece: which instances.
            separates: what is asked of a frame, and a position in its block.
            of_items: whether the end of a loop over work items separates, too.
        """
        common = [x for (x, _), (y, _) in zip(before, after, strict=False) if x is y]
        loops = [at for at, frame in enumerate(common) if _is_loop(frame, piece.less)]
        if loops:
            # After the one, in this iteration, or in the next one, before the other.
            around, inside = common[: loops[0]], loops[0]
            between = range(0)
        else:
            last = len(common) - 1
            if before[last][1] >= after[last][1]:
                return False
            around, inside = common, last + 1
            between = range(before[last][1] + 1, after[last][1])
        if of_items and all(frame.role is not Role.ITEM for frame in around):
            return True
        return (
            any(separates(around[-1], at) for at in between)
            or any(
                separates(frame, at)
                for frame, position in before[inside:]
                for at in range(position + 1, len(frame.block))
            )
            or any(
                separates(frame, at) for frame, position in after[inside:] for at in range(position)
            )
        )

    def _has_barrier(self, frame: Frame, position: int, space: AddressSpace) -> bool:
        node = frame.block[position]
        return (
            isinstance(node, Barrier)
            and space in node.address_spaces
            and (frame, position) not in self._without
        )


def is_asynchronous(copy: Copy) -> bool:
    """Tell whether a statement only begins a copy."""
    return copy.statement.asynchronous


def _is_wait(frame: Frame, position: int) -> bool:
    return isinstance(frame.block[position], Wait)


def _is_loop(frame: Frame, name: str | None) -> bool:
    return frame.role is Role.LOOP and frame.name == name


def is_in_piece(a: Copy, b: Copy, piece: Piece) -> bool:
    """Tell whether two copies of unrolled loops' bodies have instances in a piece."""
    stated = {i for i in a.stated if i in b.stated}
    if any(a.values[i] != b.values[i] for i in piece.equal if i in stated):
        return False
    if piece.less is None or piece.less not in stated:
        return True
    first, second = number(a.values[piece.less]), number(b.values[piece.less])
    return first is None or second is None or first < second


def _path(statement: Statement, name: str | None) -> Path:
    """Return where a statement is, from the outermost frame inwards.

    Of one that reads a variable in a condition or a bound around it, that of the outermost such.
    """
    path = [(statement.frame, statement.position)]
    for frame in statement.frame.outwards():
        if frame.parent is None:
            break
        here = (frame.parent, frame.position)
        if name is not None and name in head_names(frame):
            path = [here]
        else:
            path.append(here)
    return path[::-1]
