"""Products on tensor cores add up what their loops do, on all work items of a warp.

Trusted is what the instructions do, as the PTX ISA says ("Matrix Fragments for mma", "ldmatrix").
Of work items 4 across and 8 down, the one at (x, y) holds elements (y, 2*x) and (y, 2*x + 1) of a
sum, and those 8 rows further down.  It passes element (y, x) of the left matrix, the one 8 rows
further down, and so on for every fourth column; and element (x, y) of the right one, and so on for
every fourth row.  Numbers of 16 bits are passed in pairs: for x read 2*x and 2*x + 1, and for four
eight.

All terms that a work item's sums get are listed, as places of three elements, once by the loops and
once by that, and have to be the same.  What other names in subscripts stand for is some number:
subscripts are affine, and these names the same for all work items of a warp.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np

from polygen.analysis.integers.affine_forms import FloorTerm, LinearForm, linear_form
from polygen.errors import WrongStatement
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.added_product import added_product
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.lower.program import (
    Assign,
    Block,
    HostLoop,
    HostNode,
    If,
    Launch,
    Loop,
    LoopProgram,
    Node,
    TensorProduct,
)
from polygen.validation.faults import fault

_Places: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
_ACROSS, _DOWN = 4, 8


def check_tensor_products(kernel: Kernel, program: LoopProgram) -> None:
    """Check the products of a program.

    Parameters:
        kernel: what it was made of.
        program: the program, as it is printed.

    Raises:
        WrongStatement: if one adds up something else than its loops.
    """
    for node in _products(program.host):
        if not np.array_equal(_sorted(_by_loops(node)), _sorted(_by_hardware(node))):
            insn = kernel.instructions_by_id[node.insn_id]
            raise fault(WrongStatement, kernel, "tensor cores add up other elements", insn)


def _products(nodes: Sequence[HostNode] | Block) -> Iterator[TensorProduct]:
    for node in nodes:
        if isinstance(node, TensorProduct):
            yield node
        elif isinstance(node, Launch | HostLoop | Loop | If):
            yield from _products(node.body)


def _sorted(columns: Sequence[_Places]) -> _Places:
    """Return the rows of a table in an order that is the same for the same rows."""
    table = np.stack(np.broadcast_arrays(*columns)).reshape(len(columns), -1)
    return table[:, np.lexsort(table)]


def _values(node: Expression, names: Mapping[str, Any]) -> Any:
    """Return the value of a subscript, for arrays of what names stand for."""
    form = linear_form(node)
    if form is None:  # these are not taken for products
        return np.int64(crc32(str(node).encode()))
    return _evaluated(form, names)


def _evaluated(form: LinearForm, names: Mapping[str, Any]) -> Any:
    total: Any = np.int64(form.constant)
    for term, factor in form.terms.items():
        if isinstance(term, FloorTerm):
            value = _evaluated(term.numerator, names) // term.divisor
        else:  # of names that all work items of a warp know: some number
            value = names.get(term, crc32(term.encode()) % 64)
        total = total + factor * value
    return total


def _offset(node: ex.Subscript, names: Mapping[str, Any]) -> Any:
    return _values(ex.index_tuple(node)[0], names)


def _grid(counts: Sequence[range]) -> list[_Places]:
    """Return values of loops, each along an axis of its own."""
    found: list[_Places] = []
    for number, values in enumerate(counts):
        shape = [1] * len(counts)
        shape[number] = len(values)
        found.append(np.array(values, dtype=np.int64).reshape(shape))
    return found


# --- as the loops say


def _by_loops(node: TensorProduct) -> list[_Places]:
    """Return, for all terms, the work item and the places of the sum and of both factors."""
    loops: list[Loop] = []
    inner: Node = node.nest
    while isinstance(inner, Loop):
        loops.append(inner)
        (inner,) = inner.body
    assert isinstance(inner, Assign)
    factors = added_product(inner.target, inner.value)
    assert factors is not None
    across, down = node.lanes
    counts = [range(n.upper) for n in loops if isinstance(n.upper, int)]
    x, y, *values = _grid([range(_ACROSS), range(_DOWN), *counts])
    names = {across: x, down: y} | {n.iname: value for n, value in zip(loops, values, strict=True)}
    assert isinstance(inner.target, ex.Subscript)
    elements = [_element(factor) for factor in factors]
    if down not in walk.free_variables(elements[0]):
        elements.reverse()
    return [x + _ACROSS * y, *(_offset(e, names) for e in (inner.target, *elements))]


def _element(factor: Expression) -> ex.Subscript:
    element = factor.parameters[0] if isinstance(factor, ex.Call) else factor
    assert isinstance(element, ex.Subscript)
    return element


# --- as the hardware does


def _by_hardware(node: TensorProduct) -> list[_Places]:
    """Return the same terms: which work items of the warp pass their factors."""
    rows, registers, width = len(node.sums) // 2, len(node.right), 1
    if node.loads is not None:
        registers, width = node.loads[1].registers, 2
    loops = [*node.depths, *node.loops]
    counts = [range(0, end, step) for _, end, step in loops]
    # The work item, who passes a term, and which of the numbers in a register it is.
    x, y, t, e, *values = _grid(
        [range(_ACROSS), range(_DOWN), range(_ACROSS), range(width), *counts]
    )
    around = {iname: value for (iname, _, _), value in zip(loops, values, strict=True)}
    whole = x + y + t + e + sum(values)
    across, down = node.lanes
    found: list[list[_Places]] = []
    for register, h, v in product(range(registers), range(rows), range(2)):
        sums = _offset(node.sums[2 * h + v], {across: x, down: y, **around})
        left = _passed(node, 0, register * rows + h, (t, y, e), around)
        right = _passed(node, 1, register, (t, 2 * x + v, e), around)
        places = np.broadcast_arrays(x + _ACROSS * y, sums, left, right, whole)[:4]
        found.append([each.ravel() for each in places])
    return [np.concatenate(column) for column in zip(*found, strict=True)]


def _passed(
    node: TensorProduct,
    side: int,
    register: int,
    place: tuple[_Places, _Places, _Places],
    around: Mapping[str, Any],
) -> Any:
    """Return where what a work item passes lies, of the left matrix or (1) of the right one.

    Parameters:
        node: the product.
        side: of which matrix it is.
        register: which number, or pair of numbers.
        place: of the work item, across and down; and which of a pair.
        around: values of the loops.
    """
    x, y, e = place
    across, down = node.lanes
    if node.loads is None:
        return _offset((node.left, node.right)[side][register], {across: x, down: y, **around})
    load = node.loads[side]
    number, matrix = divmod(register, load.registers // len(load.rows))
    row, column = (2 * x + e, y) if load.is_transposed else (y, 2 * x + e)
    lane = _DOWN * matrix + row  # who says where this row begins
    names = {across: lane % _ACROSS, down: lane // _ACROSS, **around}
    return _offset(load.rows[number], names) + column
