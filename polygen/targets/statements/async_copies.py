"""Asynchronous copies: as large ones as the elements, and what is known of their places, allow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polygen.errors import NotAsynchronous
from polygen.ir import expression as ex
from polygen.ir.dtype import is_short_float
from polygen.lower.program import Assign
from polygen.targets.lanes.lane_accesses import from_lane, is_aligned, pointer_to_lanes
from polygen.targets.lanes.lane_printer import LanePrinter
from polygen.targets.languages.target import Copies
from polygen.targets.statements.expression_printer import ExpressionPrinter

_Places = tuple[ex.Variable | ex.Subscript, ...]


def copy_lines(
    node: Assign, copies: Copies, expressions: ExpressionPrinter, lanes: tuple[str, int] | None
) -> Iterator[str]:
    """Yield the statements that begin a copy, of an element or of those of all lanes.

    Parameters:
        node: the assignment.
        copies: what the language has.
        expressions: prints the expressions in it.
        lanes: the iname of the lanes, and how many there are, from 0 on; None if there are none.

    Raises:
        NotAsynchronous: if elements are smaller than what can be copied, or kept in another form.
    """
    value, name = node.value, ex.name_of(node.target)
    if not isinstance(value, ex.Variable | ex.Subscript):
        raise _refused(node, "its lanes choose whether they copy")
    expressions.uses.types.add(copies.needs)
    dtype = expressions.declared_type(name)
    if is_short_float(dtype) and expressions.held_type(name) != dtype:
        raise _refused(node, f"elements of '{name}' are kept as float there")
    widths = [size // dtype.itemsize for size in copies.sizes if size >= dtype.itemsize]
    places = (node.target, value)
    if lanes is None:
        pairs = [[*map(expressions.address, places)]] if 1 in widths else []
    else:
        pairs = list(_of_lanes(places, expressions, lanes, widths))
    if not pairs:
        sizes = ", ".join(map(str, sorted(copies.sizes)))
        raise _refused(
            node, f"an element of '{name}' has {dtype.itemsize} bytes, and copies are of {sizes}"
        )
    for to, source in pairs:
        yield copies.begin.format(to, source)


def _of_lanes(
    places: _Places,
    expressions: ExpressionPrinter,
    lanes: tuple[str, int],
    widths: Sequence[int],
) -> Iterator[list[str]]:
    """Yield pointers to elements: to vectors of as many lanes as will do; nothing if none will."""
    p, (_, count) = expressions.in_lanes(lanes), lanes
    width = next((w for w in widths if _are_aligned(p, places, w)), None)
    if width is None:
        return
    for first in range(0, count, width):
        placed = [from_lane(p, node, first) for node in places]
        if width == 1:
            yield [*map(expressions.address, placed)]
        else:
            yield [pointer_to_lanes(p, n, width) for n in placed if isinstance(n, ex.Subscript)]


def _are_aligned(p: LanePrinter, places: _Places, width: int) -> bool:
    """Tell whether every so many lanes begin at a multiple of their size; one by one they do."""
    return width == 1 or (
        p.count % width == 0
        and all(isinstance(n, ex.Subscript) and is_aligned(p, n, width) for n in places)
    )


def _refused(node: Assign, why: str) -> NotAsynchronous:
    return NotAsynchronous(
        f"instruction '{node.insn_id}' is asynchronous, but {why}",
        remedy="leave the option out; elements of 1 or 2 bytes are copied in vectors, if these are "
        "known to be aligned",
    )
