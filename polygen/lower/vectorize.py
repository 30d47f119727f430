"""Assignments that are made for all lanes of an iname tagged ``vec`` at once.

What is written says whether it can be: targets compute any value of a type that there are vectors
of, and call for one lane after the other what they have no operation for.  Only what a condition
keeps from being read outside of arrays has to be done lane by lane.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polygen.analysis.access.domains import domain_of
from polygen.analysis.typing.inference import kinds
from polygen.errors import NotVectorized
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.callables import user_function
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning
from polygen.ir.kernel import Kernel
from polygen.ir.layout import VECTOR_BYTES
from polygen.ir.show_expression import show_expression
from polygen.lower.conditions import Condition, reads_inside
from polygen.lower.lanes import is_vector
from polygen.lower.program import Assign, Loop, Node
from polygen.source import warn


class Vectors:
    """Finds out which statements of a kernel compute on vectors.

    Parameters:
        kernel: with types known and without reductions.
        vector_bytes: the size of the largest vectors that the target computes with.
    """

    def __init__(self, kernel: Kernel, vector_bytes: int) -> None:
        self._kernel = kernel
        self._vector_bytes = vector_bytes
        self._told: set[str] = set()

    def loop(
        self, insn: Assigning, lanes: tuple[str, range], statement: Node, known: isl.Set
    ) -> Loop | None:
        """Return what makes an assignment for all lanes at once; None, with a warning, if not.

        Parameters:
            insn: the instruction that it carries out.
            lanes: an iname, and its values.
            statement: what it becomes in the loop program, in terms of the iname.
            known: what holds where it stands, a flat set.
        """
        iname, values = lanes
        why = _why_not(self._kernel, statement, lanes, self._vector_bytes)
        why = why or self._outside(insn, iname, known)
        if why is None:
            return Loop(iname, values.start, values.stop, (statement,), at_once=True)
        silenced = NotVectorized.__name__ in self._kernel.options.silenced_warnings
        if insn.id not in self._told and not silenced:
            self._told.add(insn.id)
            warn(
                NotVectorized(
                    f"kernel '{self._kernel.name}': instruction '{insn.id}' is executed for one "
                    f"value of '{iname}', which is tagged vec, after the other: {why}"
                )
            )
        return None

    def _outside(self, insn: Assigning, iname: str, known: isl.Set) -> str | None:
        """Return what is said if a read that a condition guards may be outside of the array."""
        reads = dict.fromkeys(read for _, value in insn.pairs for read in _reads(value, iname))
        guarded = [node for node, is_guarded in reads if is_guarded and (node, False) not in reads]
        if not guarded:
            return None
        known = known.intersect(domain_of(self._kernel, insn.within_inames))
        for read in guarded:
            if not reads_inside(self._kernel, Condition(True, (read,)), (), known):
                return f"'{show_expression(read)}' may be outside where a condition keeps it unread"
        return None


def _why_not(
    kernel: Kernel, statement: Node, lanes: tuple[str, range], vector_bytes: int
) -> str | None:
    """Return why a statement cannot be made for all lanes at once; None if it can."""
    iname, values = lanes
    if not isinstance(statement, Assign) or statement.atomicity:
        return "it is no plain assignment"
    if values.start != 0:
        return f"'{iname}' does not begin with 0"
    for target, value in statement.pairs:
        dtype = kinds(kernel)[ex.name_of(target)]
        if isinstance(dtype, type) or not is_vector(dtype, len(values), vector_bytes):
            *sizes, most = [size for size in VECTOR_BYTES if size <= vector_bytes]
            sizes_text = f"{', '.join(map(str, sizes))} or {most} bytes"
            return f"{len(values)} numbers of type {dtype} are no vector of {sizes_text}"
        if iname not in walk.free_variables(target):
            return f"all lanes write '{show_expression(target)}'"
        if _is_computed(value, iname):
            continue
        if _is_called(value) and iname in walk.free_variables(value):
            return f"'{show_expression(value)}' is none of the operations on vectors"
        for node in (value, target):
            if _is_apart(node, iname):
                return f"'{show_expression(node)}' are not next to each other"
    return None


def is_next_to_each_other(offset: Expression, iname: str) -> bool:
    """Tell whether an offset is one more from lane to lane."""
    terms = offset.children if isinstance(offset, ex.Sum) else (offset,)
    return [t for t in terms if iname in walk.free_variables(t)] == [ex.Variable(iname)]


def _is_apart(node: Expression, iname: str) -> bool:
    """Tell whether a node is an element for each lane, and these are neither neighbours nor parts.

    Components of vectors are told apart by targets, which also know how long the vectors are.
    """
    if not isinstance(node, ex.Subscript) or iname not in walk.free_variables(node):
        return False
    offset, *chosen = ex.index_tuple(node)
    return not (chosen or is_next_to_each_other(offset, iname))


def _is_computed(node: Expression, iname: str) -> bool:
    """Tell whether operations make a value of what differs between lanes."""
    plain = isinstance(node, ex.Variable | ex.Subscript) or _is_called(node)
    return iname in walk.free_variables(node) and not plain


def _is_called(node: Expression) -> bool:
    """Tell whether a value is what a function returns of which there is none for vectors."""
    if isinstance(node, ex.Component):
        return True
    return isinstance(node, ex.Call) and user_function(node) is not None


def _reads(
    node: Expression, iname: str, guarded: bool = False
) -> Iterator[tuple[ex.Subscript, bool]]:
    """Yield the elements that are read, and whether only where a condition holds.

    One that is the same in all lanes does not count: what it leaves out is not computed.
    """
    if isinstance(node, ex.Subscript):
        yield node, guarded
    asks = isinstance(node, ex.LogicalAnd | ex.LogicalOr) and iname in walk.free_variables(node)
    asks |= isinstance(node, ex.If) and iname in walk.free_variables(node.condition)
    for position, part in enumerate(walk.parts(node)):
        yield from _reads(part, iname, guarded or (asks and position > 0))
