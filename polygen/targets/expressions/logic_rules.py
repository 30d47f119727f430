"""Prints names, comparisons, conditions, minima and operations on bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TypeAlias

from polygen.analysis.typing.kinds import Kind
from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir.dtype import DType, integer_limits, is_bfloat16, is_exact, is_integer
from polygen.ir.expression import Expression
from polygen.ir.parts import part_name
from polygen.targets.expressions.arithmetic_rules import is_nonnegative, print_divisibility
from polygen.targets.expressions.common_rules import Printer, joined
from polygen.targets.expressions.complex_numbers import complex_comparison
from polygen.targets.expressions.constant_folding import MIRRORED
from polygen.targets.expressions.typed_terms import (
    ATOM,
    BIT_AND,
    BIT_OR,
    BIT_XOR,
    CHOICE,
    EQUALITY,
    OR,
    ORDER,
    PRODUCT,
    SHIFT,
    SUM,
    UNARY,
    Term,
    is_held,
    operand,
    promoted,
    unsigned,
    usual,
)
from polygen.targets.languages.target import (
    BOOL,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    UINT32,
    UINT64,
)

_Bits: TypeAlias = ex.BitwiseAnd | ex.BitwiseOr | ex.BitwiseXor

# --- names


def print_variable(p: Printer, node: ex.Variable, at: DType) -> Term:
    """Print a scalar or a loop counter."""
    place = in_memory(p, node)
    if isinstance(place, ex.Subscript):
        p.annotate(place)
        return print_subscript(p, place, at)
    name = p.aliases.get(node.name, node.name)
    p.uses.names.add(name)
    kind = p.kind(node)
    dtype = p.names.dtypes.get(node.name, p.index_dtype) if isinstance(kind, type) else kind
    return Term(name, ATOM, dtype, _declared(dtype))


def in_memory(p: Printer, node: ex.Variable | ex.Subscript) -> ex.Variable | ex.Subscript:
    """Return what is meant: a scalar that is passed as an array is its only element."""
    scalar = isinstance(node, ex.Variable) and node.name in p.names.stored
    return ex.Subscript(node, 0) if scalar else node


def print_subscript(p: Printer, node: ex.Subscript, _at: DType) -> Term:
    """Print an element of an array; its subscript is linear."""
    array, dtype = ex.name_of(node), p.kind(node)
    if isinstance(dtype, type):
        raise InternalError(f"array '{array}' has no type")
    if array in p.names.images:
        return _print_pixel(p, node, dtype)
    name, component = place_of(p, node)
    p.uses.names.add(name)
    if is_bfloat16(p.names.dtypes[array]) and array in p.names.stored:
        element = Term(f"{name}[{index_text(p, node)}]", ATOM, dtype, dtype)
        return p.helper("from_bfloat16", dtype, [element])
    packed = dtype == FLOAT16 and array in p.names.stored and p.target.load_half
    choice = p.names.choices.get(array)
    form = p.target.load_half if packed else "{1}[{0}]"
    text = form.format(index_text(p, node), name) if choice is None or not choice.alone else name
    if component is not None:
        text = p.target.array_component.format(text, component)
    return Term(text, ATOM, dtype, _declared(dtype))


def _print_pixel(p: Printer, node: ex.Subscript, dtype: DType) -> Term:
    """Print an element of an image; the last subscript is the first coordinate."""
    name, index = ex.name_of(node), ex.index_tuple(node)
    p.uses.names.add(name)
    p.uses.types.add("sampler")
    at = ", ".join([_index(p, i) for i in reversed(index)])
    kind = {"f": FLOAT32, "i": INT32, "u": UINT32}[dtype.kind]
    return Term(p.target.pixels[kind.name, len(index)].format(name, at), ATOM, dtype, kind)


def place_of(p: Printer, node: ex.Subscript) -> tuple[str, int | None]:
    """Return the array that an element is in, as the text calls it, and the component it is."""
    name = ex.name_of(node)
    choice = p.names.choices.get(name)
    if choice is None:
        return name, None
    chosen: list[int] = []
    for value in ex.index_tuple(node)[1:]:
        assert isinstance(value, int)  # as lowering made it
        chosen.append(value)
    part = part_name(name, tuple([chosen[position] for position in choice.arrays]))
    return part, None if choice.component is None else chosen[choice.component]


def written_component(p: Printer, node: ex.Variable | ex.Subscript) -> str | None:
    """Return how a component is written without the rest of its vector; None if it need not be."""
    choice = p.names.choices.get(ex.name_of(node))
    if choice is None or choice.space is None or not isinstance(node, ex.Subscript):
        return None
    name, component = place_of(p, node)
    if component is None:
        return None
    vector = name if choice.alone else f"{name}[{index_text(p, node)}]"
    number = p.type_name(p.names.dtypes[ex.name_of(node)])
    return p.target.array_number.format(
        p.target.qualifiers[choice.space], number, vector, component
    )


def index_text(p: Printer, node: ex.Subscript) -> str:
    """Return the text of a linear subscript."""
    index = ex.index_tuple(node)[0]
    plain = _plain_index(p, index)
    return _index(p, index) if plain is None else plain[0]


def _declared(dtype: DType) -> DType:
    return FLOAT32 if dtype == FLOAT16 else dtype


def _index(p: Printer, node: Expression) -> str:
    return p.index_term(node).text


_PLAIN: Mapping[type, tuple[str, int]] = {ex.Sum: (" + ", SUM), ex.Product: (" * ", PRODUCT)}


def _plain_index(p: Printer, node: Expression) -> tuple[str, int] | None:
    """Return the text of a subscript, and how strongly it binds, without looking at types.

    That is what most of them are: sums and products of small literals, sizes and loop counters,
    all of the type of subscripts.  None if it is anything else.
    """
    if isinstance(node, ex.Variable):
        known = p.names.dtypes.get(node.name, p.index_dtype) is p.index_dtype
        if not known or p.names.kinds.get(node.name) is not int:
            return None
        name = p.aliases.get(node.name, node.name)
        p.uses.names.add(name)
        return name, ATOM
    if type(node) is int:
        return (str(node), ATOM) if 0 <= node <= 2**31 - 1 else None
    if not isinstance(node, ex.Sum | ex.Product) or all(type(c) is int for c in node.children):
        return None
    operator, level = _PLAIN[type(node)]
    texts: list[str] = []
    for child in node.children:
        part = _plain_index(p, child)
        if part is None:
            return None
        texts.append(f"({part[0]})" if part[1] < level + bool(texts) else part[0])
    return operator.join(texts), level


# --- comparisons


def print_comparison(p: Printer, node: ex.Comparison, _at: DType) -> Term:
    """Print a comparison; integers of all types are compared exactly, as in NumPy."""
    if p.is_guard(node):
        with p.apart():
            p.bounding = True
            p.annotate_index(node.left)
            p.annotate_index(node.right)
            p.bounding = False
            return _compared(p, node)
    return _compared(p, node)


def _compared(p: Printer, node: ex.Comparison) -> Term:
    operator, level = node.operator, EQUALITY if node.operator in ("==", "!=") else ORDER
    kind = joined([p.kind(node.left), p.kind(node.right)])[-1]
    dtype = p.widest if kind is int else p.dtype(kind, FLOAT64)
    if (
        isinstance(node.left, ex.Remainder)
        and level == EQUALITY
        and is_integer(dtype)
        and p.constant(node.right) == 0
    ):
        remainder = print_divisibility(p, node.left, dtype)
        return Term(f"{operand(remainder, SUM)} {operator} 0", level, BOOL, INT32)
    left, right = p.exact(p.term(node.left, dtype)), p.exact(p.term(node.right, dtype))
    if dtype.kind == "c":
        return complex_comparison(p, operator, left, right, dtype)
    if left.dtype.kind == "f" or right.dtype.kind == "f":
        left, right, _ = p.common(left, right, dtype, modular=False)
    elif signs_differ(left, right):
        if promoted(left.dtype).kind == "u":
            return _compare_signs(p, right, MIRRORED[operator], left, node.right)
        return _compare_signs(p, left, operator, right, node.left)
    return Term(f"{operand(left, SUM)} {operator} {operand(right, SUM)}", level, BOOL, INT32)


def signs_differ(left: Term, right: Term) -> bool:
    """Tell whether C would turn a negative operand into a large one, or warn that it might."""
    if left.integer is not None or right.integer is not None:
        return False  # a literal that is out of the other's range was decided on before
    c_type = usual(left.c_type, right.c_type)
    return c_type.kind == "u" and "i" in (promoted(left.c_type).kind, promoted(right.c_type).kind)


def _compare_signs(
    p: Printer, signed: Term, operator: str, unsigned: Term, signed_node: Expression
) -> Term:
    level = EQUALITY if operator in ("==", "!=") else ORDER
    if is_nonnegative(p, signed_node):
        signed = p.cast(signed, promoted(unsigned.c_type))
    elif unsigned.c_type.itemsize < 8:
        signed = p.cast(signed, INT64)
    else:
        sign = p.helper("compare", UINT64, (signed, unsigned))
        return Term(f"{sign.text} {operator} 0", level, BOOL, INT32)
    return Term(f"{operand(signed, SUM)} {operator} {operand(unsigned, SUM)}", level, BOOL, INT32)


# --- conditions


def print_and(p: Printer, node: ex.LogicalAnd, _at: DType) -> Term:
    """Print ``and``."""
    return p.logical("&&", [p.term(c, BOOL) for c in node.children])


def print_or(p: Printer, node: ex.LogicalOr, _at: DType) -> Term:
    """Print ``or``."""
    return p.logical("||", [p.term(c, BOOL) for c in node.children])


def gathering(target: Expression, value: Expression) -> str | None:
    """Return what ``target = x or target`` does bit by bit; None if a value is something else.

    As ``x`` is evaluated in any case, that is the same, and compilers make vectors of it.
    """
    for kind, operator in ((ex.LogicalAnd, "&"), (ex.LogicalOr, "|")):
        if isinstance(value, kind) and len(value.children) == 2 and value.children[1] == target:
            return operator
    return None


def print_not(p: Printer, node: ex.LogicalNot, _at: DType) -> Term:
    """Print ``not``."""
    return Term(f"!{p.truth(p.term(node.child, BOOL)).within(UNARY)}", UNARY, BOOL, INT32)


def print_if(p: Printer, node: ex.If, at: DType) -> Term:
    """Print a choice between two values."""
    dtype = p.dtype(p.kind(node), at)
    decided = p.constant(node.condition)
    if decided is not None:  # the other value may not even be there: a[-1]
        term = p.term(node.then if decided else node.else_, dtype)
        return p.truth(term) if dtype == BOOL else p.convert(term, dtype)
    condition = p.truth(p.term(node.condition, BOOL))
    then, other = p.term(node.then, dtype), p.term(node.else_, dtype)
    if dtype == BOOL:
        then, other, c_type = p.truth(then), p.truth(other), INT32
    elif dtype.kind == "c":
        then, other, c_type = p.convert(then, dtype), p.convert(other, dtype), dtype
    else:
        then, other, c_type = p.common(
            _of_sign(p, then, dtype), _of_sign(p, other, dtype), dtype, modular=True
        )
    text = f"{condition.within(OR)} ? {then.within(OR)} : {other.within(CHOICE)}"
    return Term(text, CHOICE, dtype, c_type, exact=then.exact and other.exact)


def _of_sign(p: Printer, term: Term, dtype: DType) -> Term:
    # Compilers warn of signed and unsigned values together, such as sums that wrap around.
    mixes = promoted(term.c_type).kind == "u" and (dtype.kind == "i" or dtype.itemsize < 4)
    if term.dtype != dtype or (mixes and is_integer(dtype)):
        term = p.exact(term)
    if dtype == FLOAT16 and is_exact(term.c_type):
        return p.convert(term, dtype)  # C++ may choose the integer's type, not that of its halves
    # Compilers warn where a choice between a signed and an unsigned value becomes unsigned.
    differs = dtype.kind == "u" and dtype.itemsize >= 4 and promoted(term.c_type).kind == "i"
    return p.cast(term, dtype) if differs and term.integer is None else term


# --- minima


def print_min(p: Printer, node: ex.Min, at: DType) -> Term:
    """Print a minimum: not a number if an operand is none, as NumPy's."""
    return print_extreme(p, "min", node.children, p.kind(node), at)


def print_max(p: Printer, node: ex.Max, at: DType) -> Term:
    """Print a maximum: not a number if an operand is none, as NumPy's."""
    return print_extreme(p, "max", node.children, p.kind(node), at)


def print_extreme(
    p: Printer, helper: str, nodes: Sequence[Expression], kind: Kind, at: DType
) -> Term:
    """Print the smallest or the largest of some values."""
    terms = [p.exact(p.term(n, p.dtype(kind, at))) for n in nodes]
    dtype = p.meet(kind, at, *terms)
    builtin = p.target.integer_extremes.get(helper)
    if dtype == BOOL:
        return p.logical("&&" if helper == "min" else "||", terms)
    if builtin is not None and is_integer(dtype) and dtype.itemsize >= 4:
        terms = [p.convert(t, dtype) for t in terms]
        return reduce(
            lambda a, b: Term(f"{builtin}({a.text}, {b.text})", ATOM, dtype, dtype), terms
        )
    wide = promoted(dtype)
    text = reduce(lambda a, b: p.helper(helper, wide, (a, b)), terms).text
    return Term(text, ATOM, dtype, wide)


# --- bits

BITS: Mapping[type, tuple[str, int]] = {
    ex.BitwiseAnd: ("&", BIT_AND),
    ex.BitwiseXor: ("^", BIT_XOR),
    ex.BitwiseOr: ("|", BIT_OR),
}


def print_bits(p: Printer, node: _Bits, at: DType) -> Term:
    """Print an operation bit by bit; on booleans, it is a logical one."""
    operator, level = BITS[type(node)]
    dtype = p.dtype(p.kind(node), at)
    total = p.term(node.children[0], dtype)
    for child in node.children[1:]:
        left, right = total, p.term(child, dtype)
        c_type = INT32
        if dtype != BOOL:
            left, right, c_type = p.common(left, right, dtype, modular=True)
        first = left.text if left.level == level else operand(left, UNARY)
        text = f"{first} {operator} {operand(right, UNARY)}"
        total = Term(text, level, dtype, c_type, exact=left.exact and right.exact)
    return total


def print_bitwise_not(p: Printer, node: ex.BitwiseNot, at: DType) -> Term:
    """Print the complement."""
    dtype = p.dtype(p.kind(node), at)
    term = p.wide(p.term(node.child, dtype))
    c_type = promoted(term.c_type)
    exact = term.exact and (dtype.kind == "i" or c_type == dtype)
    return type(term)(f"~{term.within(UNARY)}", UNARY, dtype, c_type, exact)


def print_left_shift(p: Printer, node: ex.LeftShift, at: DType) -> Term:
    """Print a shift to the left; by as many bits as there are, or more, it gives 0."""
    return _shift(p, node, at, "<<", "shift_left")


def print_right_shift(p: Printer, node: ex.RightShift, at: DType) -> Term:
    """Print a shift to the right, which keeps the sign."""
    return _shift(p, node, at, ">>", "shift_right")


def _type_of_shifted(left: Term, wide: DType, count: int) -> DType:
    """Return the type to shift to the left in: C may shift neither signs nor into them."""
    low, high = left.bounds or integer_limits(left.dtype if left.exact else left.c_type)
    return wide if low >= 0 and is_held((low, high << count), wide) else unsigned(wide)


def _shift(
    p: Printer, node: ex.LeftShift | ex.RightShift, at: DType, operator: str, helper: str
) -> Term:
    dtype = p.dtype(p.kind(node), at)
    wide = promoted(dtype)
    left, right = p.term(node.shiftee, dtype), p.exact(p.term(node.shift, dtype))
    if operator == ">>" or left.dtype != dtype:
        left = p.exact(left)
    count = p.constant(node.shift)
    if isinstance(count, int) and 0 <= count < 8 * dtype.itemsize:
        if operator == "<<" and p.wraps_around(p.kind(node)):
            wide = _type_of_shifted(p.bounded(left, node.shiftee), wide, count)
        if promoted(left.c_type) != wide:
            left = p.cast(left, wide)
        text = f"{left.within(UNARY)} {operator} {right.within(UNARY)}"
        exact = operator == ">>" or wide == dtype
        return type(left)(text, SHIFT, dtype, wide, exact=exact)
    return p.narrow(p.helper(helper, wide, (left, right)), dtype)
