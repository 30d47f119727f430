"""The nodes of subscripts and bounds that are arithmetic of integers, as proofs take it.

In ``a[3*x[i] + c]`` with an ``x`` of uint8, ``x[i]`` is converted to the type of indices, and what
is computed of it does not wrap around.  In ``a[abs(x[i] - y[i])]`` the argument of the function is
a value: that has NumPy's type.
"""

from __future__ import annotations

from polygen.analysis.integers.function_definitions import meaning_of
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.callables import user_function
from polygen.ir.expression import Expression

# Operations whose results may be larger than their operands, or are one of these, or between.
SIZED = (
    *(ex.Sum, ex.Product, ex.FloorDiv, ex.Remainder, ex.Min, ex.Max, ex.If, ex.Power),
    ex.LeftShift,
)
_CLASSES = frozenset(
    (*SIZED, ex.RightShift, ex.BitwiseAnd, ex.BitwiseOr, ex.BitwiseXor, ex.BitwiseNot)
)
_EXTREMES = {"min": ex.Min, "max": ex.Max, "fmin": ex.Min, "fmax": ex.Max}


def is_arithmetic(node: Expression) -> bool:
    """Tell whether a part of a subscript is computed from integers, and not read or converted."""
    return type(node) in _CLASSES


def written_out(node: Expression) -> Expression:
    """Return the arithmetic that a call in a subscript stands for, or the node itself."""
    if not isinstance(node, ex.Call):
        return node
    extreme = _EXTREMES.get(ex.name_of(node.function))
    own = user_function(node) is not None
    meaning = extreme(node.parameters) if extreme and not own else meaning_of(node)
    return node if meaning is None or not is_arithmetic(meaning) else meaning


def operands(node: Expression) -> tuple[Expression, ...]:
    """Return the parts that an operation computes with: of a choice, not what it chooses by."""
    parts = walk.parts(node)
    return parts[1:] if isinstance(node, ex.If) else parts
