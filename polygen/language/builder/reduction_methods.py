"""Reductions of a `polygen.Builder`."""

from __future__ import annotations

from typing import Any

from polygen.errors import InvalidArgument, NameTaken, did_you_mean
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.dtype import to_dtype
from polygen.ir.operation import OPERAND, Operation
from polygen.ir.public import public
from polygen.ir.reduction import facts_of, keeping, widens, with_dtype
from polygen.language.builder.builder_arguments import Operand, Place, several, words_of
from polygen.language.builder.draft import of_builder
from polygen.language.builder.loop_methods import LoopMethods
from polygen.language.combinations import compensated_total
from polygen.language.handles import Computed, Handle, Loop
from polygen.language.operations import find_operation, operation_names
from polygen.language.trees import readable
from polygen.source import caller_location


class ReductionMethods(LoopMethods):
    """The methods of `Builder` that reduce."""

    @public
    @of_builder
    def sum(self, over: Any, *operand: Operand, location: Place = None) -> Handle:
        """Return a sum: `reduce` with ``"sum"``."""
        return self.reduce("sum", over, *operand, location=location)

    @public
    @of_builder
    def reduce(
        self,
        operation: str,
        over: Any,
        *operand: Operand,
        dtype: object = None,
        location: Place = None,
    ) -> Handle:
        """Return a reduction: ``sum(j, x[j])``, ``sum("j", 0, n, lambda j: x[j])``.

        Where the loop is open, the instruction that has the reduction stands before that loop.

        Parameters:
            operation: its name: ``"sum"``, ``"max"``, ``"argmax"``, ...
            over: a loop, or a tuple of loops; or a name, for a new loop, of which the bounds come
                next.
            operand: what is reduced; as many values as the operation has results.  With bounds
                before it, it may be a function of the new loop, or a tree that mentions its name.
            dtype: the type in which it is computed; ``"operand"`` for that of what is reduced; None
                for what follows from it.
            location: its place.

        Raises:
            InvalidArgument: if there is no such operation, or it is given something else.
            NameTaken: if a tree may mean two loops by a name.
            UserError: as `loop` does.
        """
        with self._at(location):
            found = find_operation(operation)
            if found is None:
                raise InvalidArgument(
                    f"there is no reduction '{operation}'",
                    where=caller_location(),
                    remedy=did_you_mean(operation, operation_names()),
                )
            given: tuple[Any, ...] = operand
            if len(given) > 2:
                over, given = self._own_loop(over, given)
            # The error of a sum begins at 0.
            is_compensated = operation.startswith("compensated(") and len(given) == 1
            given = (*given, 0.0) if is_compensated else given
            width = facts_of(found).width
            if len(given) != width:
                raise InvalidArgument(
                    f"{operation}() is given {len(given)} values to reduce, not {width}",
                    where=caller_location(),
                    remedy="pass a loop, then the values; or a name, two bounds, and the values",
                )
            values = tuple([readable(value) for value in given])
            reduced = values[0] if width == 1 else ex.Several(values)
            made = ex.Reduction(_typed(found, dtype), words_of(over), reduced)
            return Computed(compensated_total(made) if is_compensated else made)

    def _own_loop(self, over: Any, given: tuple[Any, ...]) -> tuple[Loop, tuple[Any, ...]]:
        """Return a new loop for a reduction, and what is reduced in terms of it."""
        like, *others = words_of(over)
        if others:
            raise InvalidArgument(
                f"a reduction over {like}, {', '.join(others)} is given bounds",
                where=caller_location(),
                remedy="make the loops before: builder.sum((i, j), x[i, j]) with i = "
                "builder.loop('i', 0, n)",
            )
        lower, upper, *operand = given
        written = len(operand) != 1 or isinstance(operand[0], ex.ExpressionNode)
        written = written or not callable(operand[0])  # as trees are: they make calls
        if written and like in self._inames:
            raise NameTaken(
                f"'{like}' may mean a loop that there is, or the one of this reduction",
                where=caller_location(),
                remedy="pass a function of the new loop: builder.sum('j', 0, n, lambda j: ...)",
            )
        new = self.loop(like, lower, upper)
        if not written:
            return new, several(operand[0](new))
        values = {like: new.expression}
        return new, tuple([walk.substitute(readable(value), values) for value in operand])


def _typed(operation: Operation, dtype: object) -> Operation:
    """Return an operation as one that is computed in a type; None for what follows."""
    if dtype is None:
        return operation
    if dtype != OPERAND:
        return with_dtype(operation, to_dtype(dtype))
    if not widens(operation):
        raise InvalidArgument(
            f"{operation}() is never wider than its operand",
            where=caller_location(),
            remedy=f"leave out dtype='{OPERAND}'",
        )
    return keeping(operation)
