"""Between which numbers the parts of a subscript are, and the type that holds all of them.

In ``a[(31*x[i]) % n]`` with an ``x`` of int32, 32 bits do not hold the product, of which the
remainder is taken.  Of a sum that is a subscript itself, only the lower bits count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, TypeAlias

from polygen.ir import expression as ex
from polygen.ir.dtype import DType, integer_limits
from polygen.ir.expression import Expression
from polygen.targets.languages.target import INT32, INT64, UINT32, UINT64

Range: TypeAlias = tuple[int, int]

ANY: Range = (-(1 << 128), 1 << 128)  # further than that, it does not matter how far
# Of these, not only the lower bits of their operands count.
EXACT = frozenset((ex.FloorDiv, ex.Remainder, ex.Min, ex.Max, ex.RightShift))


def holding(ranges: Sequence[Range], index_dtype: DType) -> DType:
    """Return the smallest type that holds some numbers, if there is one."""
    low, high = min(r[0] for r in ranges), max(r[1] for r in ranges)
    possible: tuple[DType, ...] = (UINT32, INT64, UINT64)
    for dtype in (INT32, *possible) if index_dtype == INT32 else possible:
        least, most = integer_limits(dtype)
        if least <= low and high <= most:
            return dtype
    return INT64 if low < 0 else UINT64


def range_of(node: Expression, parts: Sequence[Range]) -> Range:
    """Return the range of an operation on integers, given those of its operands."""
    low, high = _RULES[type(node)](node, parts)
    return max(low, ANY[0]), min(high, ANY[1])


def _product(a: Range, b: Range) -> Range:
    ends = [x * y for x in a for y in b]
    return min(ends), max(ends)


def _size(value: Range) -> int:
    return max(abs(value[0]), abs(value[1]))


def _quotient(_node: Expression, parts: Sequence[Range]) -> Range:
    (low, high), (least, most) = parts
    if least >= 0:  # and so at least 1
        ends = [end // divisor for end in (low, high) for divisor in (max(least, 1), max(most, 1))]
        return min(ends), max(ends)
    return -_size(parts[0]), _size(parts[0])


def _remainder(_node: Expression, parts: Sequence[Range]) -> Range:
    value, (least, most) = parts
    if least >= 0:
        return 0, min(most - 1, value[1]) if value[0] >= 0 else max(most - 1, 0)
    return min(least, 0), max(most, 0)


def _shifted(node: Any, parts: Sequence[Range]) -> Range:
    (low, high), (least, most) = parts
    if not 0 <= least <= most < 64:
        return (min(low, 0), max(high, 0)) if isinstance(node, ex.RightShift) else ANY
    if isinstance(node, ex.RightShift):
        ends = [end >> count for end in (low, high) for count in (least, most)]
    else:
        ends = [end << count for end in (low, high) for count in (least, most)]
    return min(ends), max(ends)


def _bits(node: Expression, parts: Sequence[Range]) -> Range:
    if isinstance(node, ex.BitwiseAnd) and any(low >= 0 for low, _ in parts):
        return 0, min(high for low, high in parts if low >= 0)
    size = (1 << max(_size(part) for part in parts).bit_length()) - 1
    return (0 if all(low >= 0 for low, _ in parts) else -size - 1), size


def _power(_node: Expression, parts: Sequence[Range]) -> Range:
    (low, high), (count, same) = parts
    if count != same or not 0 <= count <= 8:
        return ANY
    ends = [low**count, high**count, *([0] if low < 0 < high else [])]
    return min(ends), max(ends)


_Rule: TypeAlias = Callable[[Any, Sequence[Range]], Range]
_RULES: Mapping[type, _Rule] = {
    ex.Sum: lambda _, parts: (sum(p[0] for p in parts), sum(p[1] for p in parts)),
    ex.Product: lambda _, parts: reduce(_product, parts),
    ex.FloorDiv: _quotient,
    ex.Remainder: _remainder,
    ex.Min: lambda _, parts: (min(p[0] for p in parts), min(p[1] for p in parts)),
    ex.Max: lambda _, parts: (max(p[0] for p in parts), max(p[1] for p in parts)),
    ex.If: lambda _, parts: (min(p[0] for p in parts), max(p[1] for p in parts)),
    ex.Power: _power,
    **dict.fromkeys((ex.LeftShift, ex.RightShift), _shifted),
    **dict.fromkeys((ex.BitwiseAnd, ex.BitwiseOr, ex.BitwiseXor), _bits),
    ex.BitwiseNot: lambda _, parts: (~parts[0][1], ~parts[0][0]),
}
