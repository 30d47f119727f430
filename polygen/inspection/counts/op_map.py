"""`polygen.get_op_map`: which arithmetic a kernel does, and how often."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from polygen.analysis.typing.expression_types import reduction_types, type_of
from polygen.analysis.typing.functions import conversion_type
from polygen.analysis.typing.index_type import index_type
from polygen.analysis.typing.inference import kinds
from polygen.analysis.typing.kinds import BOOL, Kind, default_dtype, is_index, join_all, same_kind
from polygen.inspection.counts.count_keys import CountGranularity, Op, check_granularity
from polygen.inspection.counts.count_map import CountMap
from polygen.inspection.counts.executions import Asked, counted, in_full
from polygen.inspection.counts.occurrences import Seen
from polygen.inspection.counts.trips import Trips, with_trips
from polygen.ir import expression as ex
from polygen.ir import reduction as reductions
from polygen.ir.dtype import DType
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.public import public


@public
def get_op_map(
    kernel: Kernel,
    count_redundant_work: bool = False,
    count_within_subscripts: bool = True,
    subgroup_size: int | str | None = None,
    within: str | Sequence[str] | None = None,
    count_granularity: str | None = None,
    trips: Trips | None = None,
) -> CountMap[Op]:
    """Return how often a kernel does arithmetic, by type and operation.

    That is what its instructions say, for all instances: not what compilers make of it.  Each
    contribution to a reduction is an operation; of a scan, each that is new.  Signs, comparisons,
    choices, conversions and what finds an element in memory from its subscripts are none.

    Parameters:
        kernel: the types of its inputs are known.
        count_redundant_work: whether to count what work items do beyond the instances of an
            instruction: where it has no iname on an axis, and writes a private variable, or one of
            the group's, all of them along that axis execute it.
        count_within_subscripts: whether arithmetic in subscripts counts, too.
        subgroup_size: how many work items a sub-group has, or ``"guess"`` for 32.
        within: which instructions count: see `find_instructions`.
        count_granularity: for whom to count; by sub-groups if it is not said.
        trips: how many iterations each loop has that a condition ends, each time that it is
            reached: by iname, a number, or a text of sizes; ``{"t": "t_end"}`` leaves it open.  A
            ``while`` is asked once more.

    Returns:
        A number for each kind of operation, exact for all sizes; see `Count.eval_with_dict`.

    Raises:
        TypeNotFound: if the type of a variable is not known.
        NotCountable: if data decides what is done.
        InvalidArgument: if `subgroup_size` is needed, or is no such number; if `trips` is of no
            such loop.

    >>> import polygen as pg
    >>> knl = pg.make_kernel("{ [i,j]: 0<=j<=i<n }", "b[i] = sum(j, a[i,j]*x[j])")
    >>> print(pg.get_op_map(pg.add_dtypes(knl, {"a": "float32", "x": "float32"})))
    Op(float32, add, subgroup, polygen_kernel): [n] -> { (1/2 * n + 1/2 * n^2) : n > 0 }
    Op(float32, mul, subgroup, polygen_kernel): [n] -> { (1/2 * n + 1/2 * n^2) : n > 0 }

    Source: Loo.py's function of this name; sums are Faulhaber's.
    """
    check_granularity(count_granularity)
    granularity = count_granularity or CountGranularity.SUBGROUP
    plain = with_trips(in_full(kernel), trips)
    seen = _Operations(plain, count_within_subscripts).seen

    def key_of(operation: _Operation) -> Op:
        name, dtype = operation
        return Op(dtype, name, granularity, kernel.name)

    asked = Asked(count_redundant_work, subgroup_size, within)
    return CountMap(kernel, Op, counted(kernel, plain, seen, key_of, asked))


_Operation = tuple[str, DType]


class _Operations:
    def __init__(self, kernel: Kernel, in_subscripts: bool) -> None:
        self._kinds: Mapping[str, Kind] = kinds(kernel)
        self._index = index_type(kernel)
        self.seen = Seen("operations", self._at_node, _nothing, in_subscripts)

    def _at_node(self, node: Expression, _: frozenset[str]) -> Iterable[_Operation]:
        if isinstance(node, ex.Reduction):
            return self._reduced(node)
        rule = _RULES.get(type(node))
        if rule is None:
            return ()
        name, number = rule(node)
        return [(name, self._dtype(node))] * number

    def _dtype(self, node: Expression) -> DType:
        """Return the type that an operation is computed in."""
        kind = type_of(node, self._kinds)
        if isinstance(node, ex.Call) and (_is_several(kind) or same_kind(kind, BOOL)):
            # Of several results, or a truth value: what is looked at.
            kind = join_all([type_of(p, self._kinds) for p in node.parameters])
        return self._index if is_index(kind) else default_dtype(kind)

    def _reduced(self, node: ex.Reduction) -> Iterator[_Operation]:
        name = reductions.name_of(node.operation)
        dtype = reduction_types(node, self._kinds)[0]
        if name in _COMBINING:
            yield _COMBINING[name], dtype
        elif name not in ("any", "all"):
            yield f"func:{name}", dtype


def _nothing(_target: Expression, _inames: frozenset[str]) -> tuple[_Operation, ...]:
    return ()


def _folded(name: str) -> Callable[[Any], tuple[str, int]]:
    return lambda node: (name, len(node.children) - 1)


def _one(name: str) -> Callable[[Any], tuple[str, int]]:
    return lambda _: (name, 1)


def _product(node: ex.Product) -> tuple[str, int]:
    first = node.children[0]
    is_sign = type(first) is int and first == -1
    return "mul", len(node.children) - 1 - is_sign


def _call(node: ex.Call) -> tuple[str, int]:
    name = ex.name_of(node.function)
    return f"func:{name}", 0 if conversion_type(name) is not None else 1


_RULES: dict[type, Callable[[Any], tuple[str, int]]] = {
    ex.Sum: _folded("add"),
    ex.Product: _product,
    ex.Quotient: _one("div"),
    ex.FloorDiv: _one("div"),
    ex.Remainder: _one("div"),
    ex.Power: _one("pow"),
    ex.LeftShift: _one("shift"),
    ex.RightShift: _one("shift"),
    ex.BitwiseAnd: _folded("bw"),
    ex.BitwiseOr: _folded("bw"),
    ex.BitwiseXor: _folded("bw"),
    ex.BitwiseNot: _one("bw"),
    ex.Min: _folded("func:min"),
    ex.Max: _folded("func:max"),
    ex.Call: _call,
}
_COMBINING = {"sum": "add", "product": "mul", "min": "func:min", "max": "func:max"}


def _is_several(kind: object) -> bool:
    """Tell whether a function has several results, or one with several fields."""
    return isinstance(kind, tuple) or getattr(kind, "names", None) is not None
