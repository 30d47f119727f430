"""Realise reductions: each becomes an accumulator, its initialisation and its update.

out[i] = 2*sum(k, a[i, k])        ->    acc_k = 0
                                        acc_k = acc_k + a[i, k]      (within k, too)
                                        out[i] = 2*acc_k
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polygen.analysis.inference import kinds
from polygen.analysis.types import reduction_type
from polygen.errors import InternalError, ReductionNotSequential
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import TemporaryVariable
from polygen.ir.dtype import DType
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assignment
from polygen.ir.kernel import Kernel
from polygen.ir.tags import is_parallel
from polygen.ir.verify import excerpt


def _largest(dtype: DType) -> Any:
    return float("inf") if dtype.kind == "f" else _limits(dtype)[1]


def _smallest(dtype: DType) -> Any:
    return float("-inf") if dtype.kind == "f" else _limits(dtype)[0]


def _limits(dtype: DType) -> tuple[int, int]:
    if dtype.kind == "b":
        return 0, 1
    if dtype.kind not in "iu":
        raise InternalError(f"no smallest or largest value of type {dtype}")
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


_Combine = Callable[[Expression, Expression], Expression]

# For each operation: its identity for a type, and how a contribution is combined.
_OPERATIONS: dict[str, tuple[Callable[[DType], Any], _Combine]] = {
    "sum": (lambda _: 0, ex.sum_of),
    "product": (lambda _: 1, ex.product_of),
    "min": (_largest, lambda acc, x: ex.Min((acc, x))),
    "max": (_smallest, lambda acc, x: ex.Max((acc, x))),
}


def realize_reductions(kernel: Kernel) -> Kernel:
    """Return the kernel without reduction nodes; itself if it has none.

    The kernel's types must be known.

    Raises:
        ReductionNotSequential: if a reduction runs over an iname on a hardware axis.
    """
    if not any(insn.reduction_inames for insn in kernel.instructions):
        return kernel
    return _Realizer(kernel).run()


class _Realizer:
    """Collects the instructions of the kernel without reductions."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._names = set(kernel.names)
        self._done: list[Assignment] = []
        self._temporaries = list(kernel.temporaries)
        self._kinds = dict(kinds(kernel))

    def run(self) -> Kernel:
        pending = list(reversed(self._kernel.instructions))
        while pending:
            insn = pending.pop()
            new = self._realize(insn)
            if new is None:
                self._done.append(insn)
            else:
                pending += reversed(new)
        return self._kernel.copy(
            instructions=tuple(self._done), temporaries=tuple(self._temporaries)
        )

    def _realize(self, insn: Assignment) -> tuple[Assignment, ...] | None:
        """Return what the first outermost reduction of `insn` becomes, or None without one."""
        found = next((r for e in insn.reads for r in walk.reductions(e)), None)
        if found is None:
            return None
        self._check(insn, found)
        accumulator, dtype = self._accumulator(found)
        identity, combine = _OPERATIONS[found.operation]
        plain = tuple(p for p in insn.predicates if not walk.reductions(p))
        start = Assignment(
            id=self._new_name(f"{insn.id}_init"),
            assignee=accumulator,
            expression=identity(dtype),
            within_inames=insn.within_inames,
            depends_on=insn.depends_on,
            predicates=plain,
            location=insn.location,
        )
        update = start.copy(
            id=self._new_name(f"{insn.id}_update"),
            expression=combine(accumulator, found.operand),
            within_inames=insn.within_inames | frozenset(found.inames),
            depends_on=insn.depends_on | {start.id},
        )
        use = insn.map_expressions(lambda e: _replace(e, found, accumulator))
        return start, update, use.copy(depends_on=insn.depends_on | {update.id})

    def _accumulator(self, reduction: ex.Reduction) -> tuple[ex.Variable, DType]:
        dtype = reduction_type(reduction, self._kinds)
        name = self._new_name("acc_" + "_".join(reduction.inames))
        self._temporaries.append(TemporaryVariable(name, dtype))
        self._kinds[name] = dtype
        return ex.Variable(name), dtype

    def _new_name(self, like: str) -> str:
        name, count = like, 0
        while name in self._names:
            name, count = f"{like}_{count}", count + 1
        self._names.add(name)
        return name

    def _check(self, insn: Assignment, reduction: ex.Reduction) -> None:
        for iname in reduction.inames:
            tag = self._kernel.tags.get(iname)
            if is_parallel(tag):
                raise ReductionNotSequential(
                    f"instruction '{insn.id}' reduces over '{iname}', which is tagged {tag}",
                    where=insn.location,
                    excerpt=excerpt(self._kernel, insn.id),
                    remedy=f"leave '{iname}' untagged: a reduction runs as a loop",
                )


def _replace(node: Expression, old: Expression, new: Expression) -> Expression:
    return walk.rewrite(node, lambda e: new if e == old else e)
