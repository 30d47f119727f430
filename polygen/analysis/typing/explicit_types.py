"""Types that expressions have because of what stands in them, said in so many words.

In ``i + x[i]``, with an ``x`` of uint8, ``i`` makes the sum one of the type of indices.  A copy of
the body for ``i = 3`` has to compute the same: so the sum becomes ``int32(i) + x[i]``.

The temporaries that bound loops are integers in what domains say, and values in predicates:
``h + 200 < k`` becomes ``uint8(h) + 200 < k``, if that is what the user wrote.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from polygen.analysis.typing.converted_stores import with_converted_stores
from polygen.analysis.typing.expression_types import type_of
from polygen.analysis.typing.index_arithmetic import is_arithmetic, written_out
from polygen.analysis.typing.inference import kinds
from polygen.analysis.typing.kinds import (
    INT64,
    UINT64,
    Counter,
    Kind,
    LongCounter,
    counter_of,
    is_counter,
    join,
)
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.dtype import DType, is_integer
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.substitution import expand


def bounding(kernel: Kernel) -> frozenset[str]:
    """Return the temporaries that bound loops."""
    found = NO_NAMES.union(*(domain.parameters for domain in kernel.domains))
    return found.intersection([t.name for t in kernel.temporaries])


def with_explicit_types(kernel: Kernel, index_dtype: DType) -> Kernel:
    """Return a kernel in which inames and sizes have a type where integers get one from them.

    Parameters:
        kernel: all types are known.
        index_dtype: the type of indices.
    """
    kernel = with_converted_stores(kernel)
    types = {v.dtype for v in kernel.variables.values() if v.dtype is not None}
    types |= _converted_to(kernel)
    widest = INT64 if LongCounter in kinds(kernel).values() else index_dtype
    if not any(_gets_another(dtype, widest) for dtype in types) and not bounding(kernel):
        return kernel
    explicit = _Explicit(kernel, index_dtype)
    instructions = tuple([explicit.instruction(insn) for insn in kernel.instructions])
    if instructions == kernel.instructions:
        return kernel
    return kernel.copy(instructions=instructions)


def _converted_to(kernel: Kernel) -> set[DType]:
    """Return the types that values are converted to on purpose."""
    calls = (
        part.function
        for insn in kernel.instructions
        for node in insn.reads
        if ex.Call in walk.classes(node)
        for part in walk.subexpressions(node)
        if isinstance(part, ex.Call)
    )
    return {np.dtype(f.name) for f in calls if isinstance(f, ex.Variable) and f.name in _INTEGERS}


_INTEGERS = frozenset(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))


def _gets_another(dtype: DType, index_dtype: DType) -> bool:
    """Tell whether an integer gets another type beside an iname."""
    integers = is_integer(dtype) and dtype != UINT64
    return integers and np.result_type(dtype, index_dtype) != dtype


def with_typed_sizes(kernel: Kernel, names: Collection[str]) -> Kernel:
    """Return a kernel in which sizes that become numbers say their types, where these are known.

    Parameters:
        kernel: any kernel.
        names: the sizes.
    """
    explicit = _Explicit(kernel, Counter.dtype, names)
    known = kinds(kernel).keys()

    def typed(insn: Instruction) -> Instruction:
        if insn.read_names.isdisjoint(names) or not insn.read_names <= known:
            return insn
        return explicit.instruction(insn)

    return kernel.copy(instructions=tuple(map(typed, kernel.instructions)))


class _Explicit:
    """Says types.

    Parameters:
        kernel: the kernel.
        index_dtype: the type of indices.
        names: the sizes that are to have one; None for all of them, and inames.
    """

    def __init__(
        self, kernel: Kernel, index_dtype: DType, names: Collection[str] | None = None
    ) -> None:
        self._names, self._rules = names, kernel.rules
        counter, known = counter_of(index_dtype), kinds(kernel)
        self._kinds = {n: join(k, counter) if is_counter(k) else k for n, k in known.items()}
        wide = LongCounter in self._kinds.values()
        self._index = INT64 if wide else index_dtype
        self._bounding = bounding(kernel) if names is None else NO_NAMES

    def _kind(self, node: Expression) -> Kind:
        return type_of(expand(node, self._rules), self._kinds)

    def instruction(self, insn: Instruction) -> Instruction:
        """Return an instruction with types that are said."""
        if not isinstance(insn, Assigning):
            return insn
        # What is added to an element has no type but that of the element.
        rule = self.value if insn.atomicity is None else self._update
        new = insn.map_expressions(rule)
        predicates = tuple(map(self._predicate, new.predicates))
        return new if predicates == new.predicates else new.copy(predicates=predicates)

    def _update(self, node: Expression) -> Expression:
        return node if isinstance(node, ex.Variable) else self._rebuilt(node)

    def value(self, node: Expression) -> Expression:
        """Return a value in which inames beside integers have a type."""
        if not isinstance(node, ex.ExpressionNode) or isinstance(node, ex.Variable):
            return node
        node = self._rebuilt(node)
        if isinstance(node, ex.Sum | ex.Product):
            return self._in_turn(node)
        if not (is_arithmetic(node) or isinstance(node, ex.Call)):
            return node
        parts = walk.parts(node)
        found = [self._kind(part) for part in parts]
        if not any(map(self._decides, found)):
            return node
        return walk.rebuild(node, tuple(map(self._typed, parts)))

    def _rebuilt(self, node: Expression) -> Expression:
        """Return a node with types that are said in its parts."""
        parts = walk.parts(node)
        if isinstance(node, ex.Subscript):
            return walk.rebuild(node, (parts[0], *map(self.index, parts[1:])))
        return walk.rebuild(node, tuple(map(self.value, parts))) if parts else node

    def index(self, node: Expression) -> Expression:
        """Return a subscript: in it, values alone have types."""
        if not isinstance(node, ex.ExpressionNode) or isinstance(node, ex.Variable):
            return node
        if not is_arithmetic(node) and written_out(node) is node:
            return self.value(node)
        parts = walk.parts(node)
        first = (self.value(parts[0]),) if isinstance(node, ex.If) else ()
        return walk.rebuild(node, (*first, *map(self.index, parts[len(first) :])))

    def _decides(self, kind: Kind) -> bool:
        """Tell whether an iname gives what is computed with this another type."""
        return not isinstance(kind, type) and _gets_another(kind, self._index)

    def _in_turn(self, node: ex.Sum | ex.Product) -> Expression:
        """Return a sum, or a product, whose operands are combined from left to right."""
        parts: list[Expression] = list(node.children)
        found = [self._kind(part) for part in parts]
        before: Kind = found[0]
        for position in range(1, len(parts)):
            kind = found[position]
            if is_counter(before) and self._decides(kind):
                parts[:position] = map(self._typed, parts[:position])
            elif is_counter(kind) and self._decides(before):
                parts[position] = self._typed(parts[position])
            before = join(before, kind)
        return walk.rebuild(node, tuple(parts))

    def _typed(self, node: Expression) -> Expression:
        """Return a value of the type of indices, if it is made of inames and sizes."""
        kind = self._kind(node)
        wanted = self._names is None or not walk.free_variables(node).isdisjoint(self._names)
        if not is_counter(kind) or not wanted:
            return node
        if isinstance(node, ex.Sum | ex.Product):
            return walk.rebuild(node, tuple(map(self._typed, node.children)))
        return ex.converted(kind.dtype.name, node)

    def _predicate(self, node: Expression) -> Expression:
        """Return a condition in which what bounds loops has a type where it is computed with."""
        if self._bounding.isdisjoint(walk.free_variables(node)):
            return node
        parts = walk.parts(node)
        if is_arithmetic(node):
            parts = tuple(map(self._own_type, parts))
        return walk.rebuild(node, tuple(map(self._predicate, parts))) if parts else node

    def _own_type(self, node: Expression) -> Expression:
        if not isinstance(node, ex.Variable) or node.name not in self._bounding:
            return node
        return ex.converted(str(self._kinds[node.name]), node)
