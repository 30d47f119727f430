"""Chooses the loops of an element-wise nest that go to neighbouring work items.

Work items side by side should touch memory side by side: first where they write, then where they
read.  Where an array has its rows along another loop than the others, as in ``b[i, j] = a[j, i]``,
groups are tiles of both loops, so that what one row of items reads in part, others need, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from polygen.analysis.access.accesses import Reference, references
from polygen.analysis.access.strides import Address
from polygen.ir import walk
from polygen.ir.array import AddressSpace, Array, GlobalArg, TemporaryVariable
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import by_parts
from polygen.transforms.loops.size_estimates import likely, likely_extent, likely_sizes

_READ, _WRITE = 4, 8  # what an access costs that is not side by side; else 1
_LEAST_WIDTH, _LEAST_HEIGHT = 8, 4  # of tiles that are worth it


@dataclass(frozen=True)
class Order:
    """The choice made for the loops of a nest.

    Attributes:
        loops: all of them, the last one along neighbours.
        across: the one that tiles have as their other side; None if there are no tiles.
    """

    loops: tuple[str, ...]
    across: str | None


def order_of(kernel: Kernel, insn_ids: Sequence[str], inames: Sequence[str]) -> Order:
    """Return how the loops around some instructions are laid out best."""
    plain = kernel.expanded
    uses = shared_uses(plain, insn_ids)
    strides = [strides_of(plain, use, inames) for use in uses]

    def cost(iname: str) -> int:
        found = 0
        for use, along in zip(uses, strides, strict=True):
            if iname in along:
                apart = _WRITE if use.is_write else _READ
                found += 1 if along[iname] == 1 else apart
        # A short loop leaves neighbours to the next one.
        return found if likely_extent(kernel, iname) >= _LEAST_WIDTH else 2 * found + 1

    near = min(reversed(inames), key=cost)
    leading = max(
        [along for along in strides if along.get(near) == 1] or strides or [{}],
        key=len,
    )
    rest = [iname for iname in inames if iname != near]
    rest.sort(key=lambda iname: -leading.get(iname, float("inf")))
    return Order((*rest, near), _across(kernel, strides, near, rest))


def _across(
    kernel: Kernel, strides: Sequence[dict[str, float]], near: str, rest: Sequence[str]
) -> str | None:
    """Return the loop along which most of the other accesses lie side by side."""
    apart = [along for along in strides if along.get(near, 1) != 1]
    votes = {i: sum(1 for along in apart if along.get(i) == 1) for i in rest}
    best = max(rest, key=lambda iname: votes[iname], default=None)
    if best is None or not votes[best]:
        return None
    long = likely_extent(kernel, near) >= _LEAST_WIDTH
    return best if long and likely_extent(kernel, best) >= _LEAST_HEIGHT else None


def side_by_side(kernel: Kernel, insn_ids: Sequence[str], order: Order) -> set[str]:
    """Return the arrays of which the innermost loop of a nest touches neighbours."""
    plain, (*_, near) = kernel.expanded, order.loops
    uses = shared_uses(plain, insn_ids)
    return {use.name for use in uses if strides_of(plain, use, order.loops).get(near) == 1}


def shared_uses(kernel: Kernel, insn_ids: Sequence[str]) -> list[Reference]:
    """Return what instructions read and write in global memory, each element once.

    Parameters:
        kernel: the kernel, rules expanded.
        insn_ids: those of the instructions.
    """
    uses = [use for name in insn_ids for use in references(kernel.instruction(name))]
    found = {(u.name, u.index, u.is_write): u for u in uses if _is_shared(u, kernel)}
    return list(found.values())


def _is_shared(use: Reference, kernel: Kernel) -> bool:
    array = kernel.variables.get(use.name)
    is_global = isinstance(array, GlobalArg) or (
        isinstance(array, TemporaryVariable)
        and kernel.address_space(use.name) is AddressSpace.GLOBAL
    )
    return is_global and bool(use.index)


def strides_of(kernel: Kernel, use: Reference, inames: Sequence[str]) -> dict[str, float]:
    """Return how far apart an access is along each loop that it depends on."""
    array, parameters = kernel.array(use.name), kernel.parameters
    mentioned = NO_NAMES.union(*map(walk.free_variables, use.index))
    around = tuple([iname for iname in inames if iname in mentioned])
    parts = (strides_of, array, use.index, around, parameters)
    strides = by_parts(kernel, parts, partial(_strides, array, use.index, around, parameters))
    found: dict[str, float] = {}
    for iname, stride in zip(around, strides, strict=True):
        known = None if stride is None else abs(likely(stride, likely_sizes(kernel)))
        found[iname] = float("inf") if known is None else known
    return found


def _strides(
    array: Array, index: tuple[Expression, ...], inames: tuple[str, ...], parameters: Iterable[str]
) -> list[Expression | None]:
    address = Address(array, index, (*inames, *parameters))
    return [address.stride_in_runs(iname) for iname in inames]
