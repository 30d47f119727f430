"""What one line of polygen's language says, before the rest of the kernel is known."""

from __future__ import annotations

from dataclasses import dataclass

from polygen.ir import expression as ex
from polygen.ir.dtype import DType
from polygen.ir.expression import Expression


@dataclass(frozen=True, slots=True)
class Statement:
    """An instruction as written: nothing is filled in.

    Attributes:
        assignee: what is written.
        expression: what is assigned; ``a += b`` is read as ``a = a + b``.
        id: the id that was given, or None.
        dependencies: ids, or patterns of ids, as written.
        exhaustive: whether the dependencies are all there are (``dep=*...``).
        inames: the inames it is within, or None if that was left open.
        predicates: the conditions of its ``if=`` options.
        declares: whether the line declares the variable that it writes (``<> t = ...``).
        dtype: the type that the declaration gives, or None.
        text: the line.
        mark: ``lbarrier``, ``gbarrier`` or ``nop`` if the line is ``... lbarrier`` or the like,
            which assigns nothing; else empty.
    """

    assignee: ex.Variable | ex.Subscript
    expression: Expression
    id: str | None = None
    dependencies: tuple[str, ...] = ()
    exhaustive: bool = False
    inames: frozenset[str] | None = None
    predicates: tuple[Expression, ...] = ()
    declares: bool = False
    dtype: DType | None = None
    text: str = ""
    mark: str = ""

    @property
    def assigned(self) -> tuple[Expression, ...]:
        """What is written, and its value; nothing if it is a mark."""
        return () if self.mark else (self.assignee, self.expression)
