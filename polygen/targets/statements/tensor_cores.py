"""Products on tensor cores: what work items pass is loaded, or named, and multiplied in loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.lower.address import simplify
from polygen.lower.program import Loop, MatrixLoad, TensorProduct
from polygen.targets.languages.target import UINT32, TensorCores
from polygen.targets.statements.loops import loop_head
from polygen.targets.statements.statement_lines import StatementPrinter

_Loops = Sequence[tuple[str, int, int]]


def print_tensor_product(p: StatementPrinter, node: TensorProduct, depth: int) -> None:
    """Print what a warp multiplies."""
    cores = p.target.tensor_cores
    if cores is None:
        raise InternalError(f"tensor cores in a program for target '{p.target.name}'")
    p.expressions.uses.types.add(cores.needs.format(node.kind))
    if node.loads is not None:
        p.expressions.uses.types.add(cores.parts_need)
        _Loaded(p, cores, node, depth + 1).print()
        return
    sums = ", ".join(map(p.expressions.address, node.sums))
    factors = [", ".join([_element(p, n) for n in side]) for side in (node.left, node.right)]
    text = cores.multiply.format(node.kind, sums, *factors)
    _in_loops(p, [*node.depths, *node.loops], f"{text};", depth)


class _Loaded:
    """Prints a product of parts of matrices that are loaded first.

    Where there are several steps, those of the next one are loaded while these are multiplied.
    """

    def __init__(
        self, p: StatementPrinter, cores: TensorCores, node: TensorProduct, depth: int
    ) -> None:
        assert node.loads is not None
        self._p, self._cores, self._node, self._depth = p, cores, node, depth
        self._loads = node.loads
        self._names = [self._name(load) for load in self._loads]

    def _name(self, load: MatrixLoad) -> str:
        return self._p.expressions.new_name(f"{ex.name_of(load.rows[0])}_parts", UINT32)

    def print(self) -> None:
        """Print all of it, in a block."""
        p, depth, steps = self._p, self._depth, self._node.depths
        p.line(depth - 1, "{")
        for name, load in zip(self._names, self._loads, strict=True):
            count = _count(load.loops) * (2 if steps else 1)
            p.line(depth, f"{self._cores.parts.format(load.registers)} {name}[{count}];")
        if steps:
            ((iname, end, step),) = steps
            now = ex.floor_quotient(ex.Variable(iname), step)
            following = ex.sum_of(ex.Variable(iname), step)
            self._load({iname: 0}, 0, depth)
            inside = _begin(p, steps, depth)
            condition = p.expressions.condition(ex.Comparison(following, "<", end))
            p.line(inside, f"if ({condition}) {{")
            turn = ex.remainder_of(ex.sum_of(now, 1), 2)
            self._load({iname: following}, turn, inside + 1)
            p.line(inside, "}")
            self._multiply(ex.remainder_of(now, 2), inside)
            p.line(depth, "}")
        else:
            self._load({}, 0, depth)
            self._multiply(0, depth)
        p.line(depth - 1, "}")

    def _load(self, at: Mapping[str, Expression], turn: Expression, depth: int) -> None:
        """Print what loads the parts of a step."""
        p = self._p
        for name, load in zip(self._names, self._loads, strict=True):
            moved = [ex.Subscript(r.aggregate, _at(r, at)) for r in load.rows]
            rows = ", ".join(f"&{p.expressions.element(row, '')}" for row in moved)
            part = self._part(name, load, turn)
            text = self._cores.load.format(int(load.is_transposed), part, rows)
            _in_loops(p, load.loops, f"{text};", depth)

    def _multiply(self, turn: Expression, depth: int) -> None:
        """Print what multiplies the parts of a step."""
        p, node = self._p, self._node
        sums = ", ".join(map(p.expressions.address, node.sums))
        both = zip(self._names, self._loads, strict=True)
        parts = [self._part(name, load, turn) for name, load in both]
        text = self._cores.multiply_loaded.format(node.kind, sums, *parts)
        _in_loops(p, node.loops, f"{text};", depth)

    def _part(self, name: str, load: MatrixLoad, turn: Expression) -> str:
        """Return the element of what a work item passes that is for an iteration of loops."""
        place = turn
        for iname, end, step in load.loops:
            own = ex.floor_quotient(ex.Variable(iname), step)
            place = ex.sum_of(ex.product_of(len(range(0, end, step)), place), own)
        return f"{name}[{self._p.expressions.index(simplify(place)).text}]"


def _at(node: ex.Subscript, values: Mapping[str, Expression]) -> Expression:
    return simplify(walk.substitute(ex.index_tuple(node)[0], values))


def _count(loops: _Loops) -> int:
    return prod(len(range(0, end, step)) for _, end, step in loops)


def _element(p: StatementPrinter, node: ex.Subscript) -> str:
    return p.expressions.value(node, p.expressions.declared_type(ex.name_of(node)))


def _begin(p: StatementPrinter, loops: _Loops, depth: int) -> int:
    """Print how unrolled loops begin; return the depth inside of them."""
    for iname, count, step in loops:
        p.line(depth, p.target.unroll(len(range(0, count, step))))
        p.line(depth, f"{loop_head(p, Loop(iname, 0, count, (), step))} {{")
        depth += 1
    return depth


def _in_loops(p: StatementPrinter, loops: _Loops, text: str, depth: int) -> None:
    """Print a line in unrolled loops."""
    inside = _begin(p, loops, depth)
    p.line(inside, text)
    for around in range(inside - 1, depth - 1, -1):
        p.line(around, "}")
