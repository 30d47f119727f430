"""Random expressions: of scalars, and of arrays of a shape, with slices, masks and gathers.

A value is *exact* if all its roundings are none: sums and products of few quarters.  Divisions,
means, and functions such as `exp` are not; of them no condition, subscript or integer is made.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.jit.random_functions.scope import Loop, Scope, Shape, Value, same_class

ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul}
BITS = {"&": operator.and_, "|": operator.or_, "^": operator.xor}
ORDER = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
EQUALITY = {"==": operator.eq, "!=": operator.ne}
DIVISION = {"//": operator.floordiv, "%": operator.mod}
SHIFTS = {"<<": operator.lshift, ">>": operator.rshift}

# Functions whose values are rounded, on arguments of which none is near a pole.
ROUNDED: dict[str, Callable[[Any], Any]] = {
    "np.sin({})": np.sin,
    "np.cos({})": np.cos,
    "np.tanh({})": np.tanh,
    "np.arctan({})": np.arctan,
    "np.exp(-abs({}))": lambda x: np.exp(-abs(x)),
    "np.sqrt(abs({}) + 1)": lambda x: np.sqrt(abs(x) + 1),
    "np.log1p(abs({}))": lambda x: np.log1p(abs(x)),
}
WHOLE: dict[str, Callable[[Any], Any]] = {
    "np.floor({})": np.floor,
    "np.ceil({})": np.ceil,
    "np.rint({})": np.rint,
    "np.trunc({})": np.trunc,
    "np.sign({})": np.sign,
}
OF_COMPLEX: dict[str, Callable[[Any], Any]] = {
    "np.conj({})": np.conj,
    "np.real({})": np.real,
    "np.imag({})": np.imag,
}
REDUCTIONS: dict[str, Callable[..., Any]] = {
    "sum": np.sum,
    "max": np.max,
    "min": np.min,
    "any": np.any,
    "all": np.all,
    "mean": np.mean,
    "prod": np.prod,
}


def expression(scope: Scope, shape: Shape = (), depth: int = 3) -> Value:
    """Return a random value of a shape."""
    if depth <= 0 or scope.chance(0.15):
        return leaf(scope, shape)
    makers = {
        arithmetic: 6.0,
        division: 1.5,
        bits: 1.0,
        comparison: 1.0,
        unary: 2.0,
        chosen: 1.5,
        extreme: 1.0,
        reduced: 1.5,
        leaf_of: 2.0,
        helped: 1.0 if scope.helpers else 0.0,
    }
    for _ in range(20):
        try:
            found = scope.one_of(makers)(scope, shape, depth - 1)
        except TypeError:  # NumPy has no such operation for these types
            continue
        if found is not None:
            return found
    return leaf(scope, shape)


def of_kinds(scope: Scope, kinds: str, shape: Shape, depth: int, *, exact: bool = False) -> Value:
    """Return a value whose type is of one of some kinds, as NumPy's letters have them."""
    for _ in range(12):
        found = expression(scope, shape, depth)
        if found.kind in kinds and (found.exact or not exact):
            return found
    return made_of_kind(scope, kinds, shape)


def made_of_kind(scope: Scope, kinds: str, shape: Shape) -> Value:
    """Return a plain value of one of some kinds."""
    known = [s for s in scope.scalars if s.kind in kinds and s.exact]
    if known and scope.chance(0.5):
        return scope.choice(known)
    if "i" in kinds:
        return index_value(scope)
    if "f" in kinds:
        number = scope.random.randint(-8, 8) / 4
        return Value(f"{number}", number)
    if "b" in kinds:
        left, right = index_value(scope), index_value(scope)
        return Value(f"({left.text} < {right.text})", True)
    return Value("(0.5 - 1j)", 1j)


# --- leaves


def leaf(scope: Scope, shape: Shape) -> Value:
    """Return a variable, an element, a slice or a number that broadcasts to a shape."""
    if shape and (found := sliced(scope, shape)):
        return found
    if not shape and scope.arrays and scope.chance(0.5):
        return element(scope, scope.choice(scope.arrays))
    if scope.scalars and scope.chance(0.4):
        return scope.choice(scope.scalars)
    if scope.chance(0.5):
        return index_value(scope)
    number: Any = scope.choice((0, 1, 2, 3, 5, 0.5, 1.5, -0.25, 2.0))
    return Value(repr(number), number)


def leaf_of(scope: Scope, shape: Shape, depth: int) -> Value:
    return gathered(scope, shape) or leaf(scope, shape)


def index_value(scope: Scope) -> Value:
    """Return an integer of Python's, of a few digits at most."""
    names = [loop.name for loop in scope.loops if loop.name]
    if names and scope.chance(0.7):
        name = scope.choice(names)
        return Value(scope.choice((name, f"({name} + 1)", f"(2 * {name} - 3)", name)), 1)
    return Value(scope.choice(("1", "2", "3", "n", "m", "7", "-2")), 1)


def subscript(scope: Scope, size: str) -> str:
    """Return a valid subscript of an axis of some length."""
    fitting = [loop for loop in scope.loops if loop.size == size]
    if fitting and scope.chance(0.8):
        return of_loop(scope, scope.choice(fitting))
    if size in scope.indices and fitting and scope.chance(0.5):
        return f"{scope.indices[size]}[{fitting[0].name}]"
    if not scope.loops or scope.chance(0.3):
        return scope.choice(("0", "-1", f"{size} // 2", f"2 % {size}", f"-7 % {size}"))
    return f"({index_value(scope).text} + {index_value(scope).text}) % {size}"


def of_loop(scope: Scope, loop: Loop) -> str:
    name = loop.name
    forms = [name] * 4 + [f"{name} - 1", f"{loop.size} - 1 - {name}", f"-{name} - 1"]
    if loop.room:
        forms += [f"{name} + 1"] * 3
    if loop.low:
        forms += [f"{name} - 1"] * 3
    return scope.choice(forms)


def element(scope: Scope, array: Value) -> Value:
    """Return an element of an array."""
    parts = ", ".join(subscript(scope, size) for size in array.shape)
    return Value(f"{array.text}[{parts}]", array.sample.flat[0], (), array.exact)


def slice_text(scope: Scope, size: str, length: str) -> str | None:
    """Return a slice of an axis, of some length."""
    around = {loop.name for loop in scope.loops if loop.size == size}
    if length == size:
        return scope.one_of({":": 6.0, "::-1": 1.0, f"0:{size}": 1.0})
    if length == f"{size} - 1":
        return scope.choice(("1:", ":-1", f"1:{size}"))
    if length == f"{size} - 2":
        return scope.choice(("1:-1", "2:", ":-2"))
    if length == f"{size} / 2":
        return scope.choice(("::2", "::2", f"0:{size}:2"))
    if length in around:
        return f":{length}"
    for name in around:
        if length == f"{size} - {name}":
            return f"{name}:"
    return None


def lengths(scope: Scope, size: str) -> list[str]:
    """Return lengths that slices of an axis may have."""
    found = [size] * 4 + [f"{size} - 1", f"{size} - 1", f"{size} - 2", f"{size} / 2"]
    for loop in scope.loops:
        if loop.size == size:
            found += [loop.name, f"{size} - {loop.name}"]
    return found


def part(scope: Scope, array: Value, shape: Shape) -> Value | None:
    """Return the part of an array that has a shape: slices, subscripts and new axes."""
    texts: list[str] = []
    axes = list(array.shape)
    for place, length in enumerate(shape):
        left = len(shape) - place
        if length == "1":
            texts.append("None")
            continue
        while len(axes) > sum(other != "1" for other in shape[place:]) and left:
            texts.append(subscript(scope, axes.pop(0)))
        if not axes or (text := slice_text(scope, axes.pop(0), length)) is None:
            return None
        texts.append(text)
    texts += [subscript(scope, size) for size in axes]
    sample = np.ones((1,) * len(shape), array.dtype)
    plain = all(text == ":" for text in texts)
    text = array.text if plain and scope.chance(0.7) else f"{array.text}[{', '.join(texts)}]"
    return Value(text, sample, shape, array.exact)


def sliced(scope: Scope, shape: Shape) -> Value | None:
    """Return a part of some array; None if none was found."""
    long = sum(length != "1" for length in shape)
    fitting = [array for array in scope.arrays if len(array.shape) >= long]
    for _ in range(8):
        if fitting and (found := part(scope, scope.choice(fitting), shape)):
            return found
    return None


def gathered(scope: Scope, shape: Shape) -> Value | None:
    """Return elements of a vector at places that data says."""
    vectors = [array for array in scope.arrays if len(array.shape) == 1]
    if len(shape) != 1 or shape[0] not in scope.indices or not vectors:
        return None
    vector = scope.choice(vectors)
    places = scope.indices[shape[0]]
    wrapped = f"{places} % {vector.shape[0]}" if vector.shape != shape else places
    return Value(f"{vector.text}[{wrapped}]", np.ones(1, vector.dtype), shape, vector.exact)


# --- operations


def operands(scope: Scope, shape: Shape, depth: int) -> tuple[Value, Value]:
    """Return two values, the first of which has the whole shape."""
    other = shape
    if shape and scope.chance(0.4):
        other = () if scope.chance(0.6) else shape[1:]
        if len(shape) == 2 and scope.chance(0.3):
            other = (shape[0], "1")
    left, right = expression(scope, shape, depth), expression(scope, other, depth)
    return left, right


def joined(
    scope: Scope, table: dict[str, Callable[..., Any]], left: Value, right: Value, shape: Shape
) -> Value:
    sign = scope.choice(list(table))
    sample = table[sign](left.sample, right.sample)
    if sign != "-" and left.shape == right.shape and scope.chance(0.3):
        left, right = right, left
        sample = table[sign](left.sample, right.sample)
    exact = left.exact and right.exact
    if sign == "*" and np.asarray(sample).dtype.char in "efF":
        exact = False
    return Value(f"({left.text} {sign} {right.text})", sample, wider(left, right), exact)


def wider(left: Value, right: Value) -> Shape:
    """Return the shape that two shapes broadcast to; the first is the longer one."""
    return left.shape if len(left.shape) >= len(right.shape) else right.shape


def arithmetic(scope: Scope, shape: Shape, depth: int) -> Value | None:
    left, right = operands(scope, shape, depth)
    found = joined(scope, ARITHMETIC, left, right, shape)
    return found if found.shape == shape else None


def bits(scope: Scope, shape: Shape, depth: int) -> Value | None:
    left, right = operands(scope, shape, depth)
    if left.kind not in "bui" or left.shape != shape:
        return None
    if scope.chance(0.3):
        by = scope.random.randint(0, 3)
        return joined(scope, SHIFTS, left, Value(repr(by), by), shape) if left.kind != "b" else None
    return joined(scope, BITS, left, right, shape) if right.kind in "bui" else None


def comparison(scope: Scope, shape: Shape, depth: int) -> Value | None:
    left, right = operands(scope, shape, depth)
    if not (left.exact and right.exact) or left.shape != shape:
        return None
    table = EQUALITY if "c" in left.kind + right.kind else ORDER | EQUALITY
    return joined(scope, table, left, right, shape)


def division(scope: Scope, shape: Shape, depth: int) -> Value | None:
    left = expression(scope, shape, depth)
    if left.shape != shape:
        return None
    if scope.chance(0.4):
        right = expression(scope, shape, depth)
        by = abs(right.sample) + 1
        text = f"({left.text} / (abs({right.text}) + {scope.random.randint(1, 3)}))"
        return Value(text, left.sample / by, shape, exact=False)
    if left.kind not in "uif" or not left.exact:
        return None
    if shape and left.kind in "iu" and scope.chance(0.3):
        right = expression(scope, shape, 1)
        return joined(scope, DIVISION, left, right, shape) if right.kind in "iu" else None
    by = scope.choice((1, 2, 3, 5) if left.kind == "u" else (1, 2, 3, -2, -3, 7))
    return joined(scope, DIVISION, left, Value(repr(by), by), shape)


def unary(scope: Scope, shape: Shape, depth: int) -> Value | None:
    inner = expression(scope, shape, depth)
    if inner.kind == "c":
        table, exact = OF_COMPLEX, inner.exact
    elif inner.kind == "f" and scope.chance(0.4):
        table, exact = ROUNDED, False
    elif inner.kind == "f" and inner.exact and scope.chance(0.4):
        table, exact = WHOLE, True
    else:
        return sign_or_power(scope, inner)
    form = scope.choice(list(table))
    return Value(form.format(inner.text), table[form](inner.sample), inner.shape, exact)


def sign_or_power(scope: Scope, inner: Value) -> Value | None:
    """Return the negative, the absolute value, the complement, a power or another type."""
    form = scope.choice(("-", "abs", "~", "**", "type", "not"))
    text, sample = inner.text, inner.sample
    if form == "-" and inner.kind != "b":
        return Value(f"(-{text})", -sample, inner.shape, inner.exact)
    if form == "abs" and inner.kind in "uif":
        return Value(f"abs({text})", abs(sample), inner.shape, inner.exact)
    if form == "~" and inner.kind in "ui" + "b" * (not inner.is_python):
        return Value(f"(~{text})", ~sample, inner.shape, inner.exact)
    if form == "**" and inner.kind in "uif":
        power = scope.choice((2, 2, 3))
        exact = inner.exact and inner.kind != "f"
        return Value(f"({text} ** {power})", sample**power, inner.shape, exact)
    if form == "type" and inner.shape and inner.kind in "bui":
        dtype = scope.choice(("int64", "int32", "float64", "uint8", "int8"))
        return Value(f"({text}).astype(np.{dtype})", sample.astype(dtype), inner.shape, inner.exact)
    if form == "not" and inner.kind == "b" and not inner.shape:
        return Value(f"(not {text})", not sample, (), inner.exact)
    return None


def condition(scope: Scope, depth: int = 2) -> Value:
    """Return a scalar that is true or false."""
    one = of_kinds(scope, "b", (), depth, exact=True)
    if scope.chance(0.7):
        return one
    other = of_kinds(scope, "b", (), depth - 1, exact=True)
    return Value(f"({one.text} {scope.choice(('and', 'or'))} {other.text})", True)


def chosen(scope: Scope, shape: Shape, depth: int) -> Value | None:
    """Return one of two values, by a condition."""
    left, right = operands(scope, shape, depth)
    exact = left.exact and right.exact
    if not shape:
        if not same_class(left.sample, right.sample):
            return None
        which = condition(scope, depth)
        return Value(f"({left.text} if {which.text} else {right.text})", left.sample, (), exact)
    mask = of_kinds(scope, "b", shape, depth, exact=True)
    if mask.shape != shape or left.shape != shape:
        return None
    text = f"np.where({mask.text}, {left.text}, {right.text})"
    return Value(text, np.where(mask.sample, left.sample, right.sample), shape, exact)


def extreme(scope: Scope, shape: Shape, depth: int) -> Value | None:
    left, right = operands(scope, shape, depth)
    exact = left.exact and right.exact
    if "c" in left.kind + right.kind or left.shape != shape:
        return None
    which = scope.choice(("min", "max"))
    if not shape and same_class(left.sample, right.sample) and scope.chance(0.6):
        return Value(f"{which}({left.text}, {right.text})", left.sample, (), exact)
    if shape and scope.chance(0.2) and left.kind in "if":
        low, high = Value("-2", -2), Value("3", 3)
        sample = np.clip(left.sample, low.sample, high.sample)
        return Value(f"np.clip({left.text}, -2, 3)", sample, shape, left.exact)
    function = {"min": np.minimum, "max": np.maximum}[which]
    text = f"np.{which}imum({left.text}, {right.text})"
    return Value(text, function(left.sample, right.sample), shape, exact)


def reduced(scope: Scope, shape: Shape, depth: int) -> Value | None:
    """Return a sum, an extremum or a product of vectors."""
    if len(shape) > 1 or "1" in shape:
        return None
    size = scope.choice(("n", "m"))
    if scope.chance(0.3):
        return product(scope, shape, size, depth)
    length = scope.choice(lengths(scope, size))
    inner = expression(scope, (*shape, length), depth)
    if inner.shape != (*shape, length):
        return None
    names = {"sum": 4.0, "max": 2.0, "min": 2.0, "any": 1.0, "all": 1.0, "mean": 1.0, "prod": 0.3}
    if inner.kind == "c":
        names = {"sum": 1.0, "mean": 1.0}
    name = scope.one_of(names)
    if name in ("any", "all") and not inner.exact:
        return None
    exact = inner.exact and name != "mean" and not (name == "prod" and inner.kind == "f")
    if inner.dtype.char in "efF" and name == "sum":
        exact = False
    axis = f", axis={scope.choice(('1', '-1'))}" if shape else ""
    text = f"np.{name}({inner.text}{axis})"
    return Value(text, REDUCTIONS[name](inner.sample, axis=len(shape)), shape, exact)


def product(scope: Scope, shape: Shape, size: str, depth: int) -> Value | None:
    """Return a scalar product, or one of a matrix and a vector."""
    length = scope.choice((size, f"{size} - 1"))
    left = leaf(scope, (*shape, length))
    right = expression(scope, (length,), min(depth, 1))
    if left.shape != (*shape, length) or right.shape != (length,):
        return None
    sample = left.sample @ right.sample
    exact = left.exact and right.exact and np.asarray(sample).dtype.char not in "efF"
    return Value(f"({left.text} @ {right.text})", sample, shape, exact)


def helped(scope: Scope, shape: Shape, depth: int) -> Value | None:
    """Return what a helper function makes of two values."""
    left, right = operands(scope, shape, depth)
    if left.shape != shape or left.kind not in "if" or right.kind not in "if":
        return None
    name = scope.choice(list(scope.helpers))
    sample = scope.helpers[name](left.sample, right.sample)
    return Value(f"{name}({left.text}, {right.text})", sample, shape, exact=False)
