"""Assignments that are made for all lanes of an iname tagged ``vec`` at once.

One can be if it computes on numbers of one type by operators that targets have for vectors, from
numbers that are the same for all lanes, and from elements that are next to each other.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass

from polygen.analysis.inference import kinds
from polygen.analysis.kinds import Kind
from polygen.analysis.types import node_type
from polygen.errors import NotVectorized
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import Array, ImageArg
from polygen.ir.callables import user_function
from polygen.ir.dtype import DType
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning
from polygen.ir.kernel import Kernel
from polygen.ir.layout import Vector, constant_axes, vector_length
from polygen.ir.show_expression import show_expression
from polygen.lower.lanes import is_vector
from polygen.lower.program import Assign, Loop, Node
from polygen.source import warn

_FLOAT = (ex.Sum, ex.Product, ex.Quotient)
_INTEGER = (ex.Sum, ex.Product, ex.BitwiseAnd, ex.BitwiseOr, ex.BitwiseXor)


class Vectors:
    """Finds out which statements of a kernel compute on vectors.

    Parameters:
        kernel: with types known and without reductions.
        arrays: its variables that have elements.
        functions: those of one floating-point number that the target has for vectors, too.
    """

    def __init__(
        self, kernel: Kernel, arrays: Mapping[str, Array], functions: Container[str]
    ) -> None:
        self._kernel = kernel
        self._arrays = arrays
        self._functions = functions
        self._told: set[str] = set()

    def loop(self, insn: Assigning, lanes: tuple[str, range], statement: Node) -> Loop | None:
        """Return what makes an assignment for all lanes at once; None, with a warning, if not.

        Parameters:
            insn: the instruction that it carries out.
            lanes: an iname, and its values.
            statement: what it becomes in the loop program, in terms of the iname.
        """
        iname, values = lanes
        why = self._why_not(statement, iname, values)
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

    def _why_not(self, statement: Node, iname: str, values: range) -> str | None:
        if not isinstance(statement, Assign) or statement.atomicity or statement.others:
            return "it is no plain assignment"
        if values.start != 0:
            return f"'{iname}' does not begin with 0"
        names = kinds(self._kernel)
        dtype = names[ex.name_of(statement.target)]
        if isinstance(dtype, type) or not is_vector(dtype, len(values)):
            return f"{len(values)} numbers of type {dtype} are no vector of 8, 16 or 32 bytes"
        if iname not in walk.free_variables(statement.target):
            return f"all lanes write '{show_expression(statement.target)}'"
        found = _Lanes(iname, len(values), dtype, names, self._arrays, self._functions)
        return found.why_not(statement.target) or found.why_not(statement.value)


@dataclass(frozen=True)
class _Lanes:
    """Says what is a vector for all lanes.

    Attributes:
        iname: of the lanes.
        count: how many there are.
        dtype: of the components.
        names: the type of every name.
        arrays: all that have elements.
        functions: those that there are of vectors.
    """

    iname: str
    count: int
    dtype: DType
    names: Mapping[str, Kind]
    arrays: Mapping[str, Array]
    functions: Container[str]

    def why_not(self, node: Expression) -> str | None:
        """Return why an expression cannot be computed for all lanes at once; None if it can."""
        names, kind = walk.free_variables(node), self._kind(node)
        if kind != self.dtype and (names or not isinstance(kind, type)):
            return f"'{show_expression(node)}' is no {self.dtype}"
        if self.iname not in names:
            return None  # the same number for all
        if isinstance(node, ex.Subscript):
            neighbours = self._is_vector(node)
            return None if neighbours else f"'{show_expression(node)}' are not next to each other"
        if isinstance(node, ex.Power):
            cheap = isinstance(node.base, ex.Subscript) and node.exponent in (1, 2, 3, 4)
            return self.why_not(node.base) if cheap else _no_operation(node)
        if isinstance(node, ex.Call) and self._is_function(node):
            return self.why_not(node.parameters[0])
        if not isinstance(node, _FLOAT if self.dtype.kind == "f" else _INTEGER):
            return _no_operation(node)
        return next((why for why in map(self.why_not, walk.parts(node)) if why), None)

    def _is_function(self, node: ex.Call) -> bool:
        return (
            self.dtype.kind == "f"
            and user_function(node) is None
            and ex.name_of(node.function) in self.functions
        )

    def _kind(self, node: Expression) -> Kind:
        if isinstance(node, ex.Subscript):
            return self.names[ex.name_of(node)]
        return node_type(node, [self._kind(part) for part in walk.parts(node)], self.names)

    def _is_vector(self, node: ex.Subscript) -> bool:
        """Tell whether elements are neighbours from lane to lane: of an array, or in a vector."""
        array = self.arrays[ex.name_of(node)]
        offset, *chosen = ex.index_tuple(node)
        lane = ex.Variable(self.iname)
        if isinstance(array, ImageArg) or array.dtype != self.dtype:
            return False
        if chosen:
            tags = [(array.dim_tags or ())[axis] for axis in constant_axes(array)]
            vectors = [v for tag, v in zip(tags, chosen, strict=True) if tag == Vector()]
            others = [v for tag, v in zip(tags, chosen, strict=True) if tag != Vector()]
            whole = vectors == [lane] and vector_length(array) == self.count
            return whole and not any(map(self._varies, (offset, *others)))
        terms = offset.children if isinstance(offset, ex.Sum) else (offset,)
        return [term for term in terms if self._varies(term)] == [lane]

    def _varies(self, node: Expression) -> bool:
        return self.iname in walk.free_variables(node)


def _no_operation(node: Expression) -> str:
    return f"'{show_expression(node)}' is none of the operations on vectors"
