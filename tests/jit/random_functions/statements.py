"""Random statements: assignments, loops, conditions, masks, early ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.jit.random_functions import expressions as ex
from tests.jit.random_functions.scope import (
    DTYPES,
    Loop,
    Scope,
    Shape,
    Value,
    array_of,
    same_class,
)

Lines = list[str]


def block(scope: Scope, count: int, depth: int) -> Lines:
    """Return statements one after the other; at least one."""
    makers: dict[Callable[[Scope, int], Lines | None], float] = {
        assign_part: 5.0,
        update_part: 3.0,
        assign_element: 5.0 if scope.loops else 0.7,
        update_element: 4.0 if scope.loops else 0.5,
        bind_scalar: 2.0,
        update_scalar: 3.0,
        bind_array: 1.5,
        assign_masked: 1.2,
        scatter: 0.6,
        chained: 0.4,
        swapped: 0.4,
        branch: 2.0 if depth else 0.0,
        loop: (8.0, 4.0, 2.0, 0.0)[len(scope.loops)] if depth else 0.0,
        while_loop: 0.8 if depth and len(scope.loops) < 2 else 0.0,
        leave: 0.7 if scope.loops else 0.3,
    }
    lines: Lines = []
    for _ in range(30):
        if lines and count <= 0:
            break
        try:
            found = scope.one_of(makers)(scope, depth)
        except TypeError:  # NumPy has no such operation for these types
            continue
        if found:
            lines += found
            count -= 1
    return lines or ["pass"]


def indented(lines: Lines) -> Lines:
    return ["    " + line for line in lines]


# --- values that may be put somewhere


def fits(value: Value, target: Value) -> bool:
    """Whether an assignment to a place is defined, and does not turn roundings into integers."""
    if target.exact and not value.exact:
        return False
    allowed = {"b": "b", "i": "bui", "u": "bui", "f": "buif", "c": "buifc"}
    return value.kind in allowed[target.kind] and (target.kind != "u" or value.kind != "i")


def for_place(scope: Scope, target: Value, shape: Shape, depth: int = 3) -> Value | None:
    """Return a value for a place; None if none was found."""
    for _ in range(12):
        value = ex.expression(scope, shape, depth)
        if fits(value, target):
            return value
    return None


def place(scope: Scope) -> Value | None:
    """Return a part of an array that is written as a whole."""
    array = scope.choice(scope.arrays)
    shape = tuple(scope.choice(ex.lengths(scope, size)) for size in array.shape)
    if len(shape) == 2 and scope.loops and scope.chance(0.4):
        shape = shape[:1] if scope.chance(0.5) else shape[1:]
    found = ex.part(scope, array, shape)
    if found is not None and found.text == array.text:
        return Value(f"{array.text}[:]", found.sample, shape, found.exact)
    return found


# --- assignments


def assign_part(scope: Scope, depth: int) -> Lines | None:
    target = place(scope)
    value = target and for_place(scope, target, target.shape)
    return [f"{target.text} = {value.text}"] if target and value else None


def update(scope: Scope, target: Value, value: Value, *, whole: bool) -> Lines | None:
    """Return an in-place operation, if its result fits."""
    table = ex.ARITHMETIC | (ex.BITS if target.kind in "bui" else {})
    sign = scope.one_of({name: 4.0 if name in "+-" else 1.0 for name in table})
    after = np.asarray(table[sign](target.sample, value.sample))
    if whole and not np.can_cast(after.dtype, target.dtype, "same_kind"):
        return None
    if not fits(Value("", after, exact=value.exact), target):
        return None
    if sign == "*" and after.dtype.char in "efF" and target.exact:
        return None
    return [f"{target.text} {sign}= {value.text}"]


def update_part(scope: Scope, depth: int) -> Lines | None:
    target = place(scope)
    value = target and for_place(scope, target, target.shape, 2)
    return update(scope, target, value, whole=True) if target and value else None


def assign_element(scope: Scope, depth: int) -> Lines | None:
    target = ex.element(scope, scope.choice(scope.arrays))
    value = for_place(scope, target, ())
    return [f"{target.text} = {value.text}"] if value else None


def update_element(scope: Scope, depth: int) -> Lines | None:
    target = ex.element(scope, scope.choice(scope.arrays))
    value = for_place(scope, target, (), 2)
    return update(scope, target, value, whole=False) if value else None


def bind_scalar(scope: Scope, depth: int) -> Lines | None:
    value = ex.expression(scope, (), 3)
    if value.dtype.itemsize < 8 and value.kind != "b":
        return None
    old = [
        s for s in scope.scalars if same_class(s.sample, value.sample) and s.exact == value.exact
    ]
    old = [s for s in old if s.text not in scope.fixed]
    if old and scope.chance(0.6):
        return [f"{scope.choice(old).text} = {bounded(value)}"]
    name = scope.new_name("s")
    scope.scalars.append(Value(name, value.sample, (), value.exact))
    return [f"{name} = {bounded(value)}"]


def bounded(value: Value) -> str:
    """Return an integer of Python's that does not grow from one iteration to the next."""
    return f"({value.text}) % 1000" if value.is_python and value.kind == "i" else value.text


def update_scalar(scope: Scope, depth: int) -> Lines | None:
    """Return a sum, or an extremum, carried from one iteration to the next."""
    open_ = [s for s in scope.scalars if s.text not in scope.fixed and s.kind != "b"]
    if not open_:
        return None
    target = scope.choice(open_)
    value = for_place(scope, target, (), 2)
    if value is None:
        return None
    name = target.text
    sample = target.sample + value.sample
    if not same_class(sample, target.sample):
        return None
    if same_class(value.sample, target.sample) and target.kind in "if" and scope.chance(0.3):
        which = scope.choice(("max", "min"))
        return [f"{name} = {which}({name}, {value.text})"]
    return [scope.choice((f"{name} += {value.text}", f"{name} = {name} - {value.text}"))]


def bind_array(scope: Scope, depth: int) -> Lines | None:
    """Return a new array."""
    if len(scope.arrays) > 7:
        return None
    shape = scope.choice((("n",), ("m",), ("n", "m"), ("n",)))
    name = scope.new_name("t")
    if scope.chance(0.4):
        dtype = scope.choice(DTYPES)
        what = scope.choice(("zeros", "ones"))
        scope.arrays.append(array_of(name, dtype, shape))
        return [f"{name} = np.{what}(({', '.join(shape)},), np.{dtype})"]
    value = ex.expression(scope, shape, 3)
    if value.shape != shape or value.kind == "b":
        return None
    scope.arrays.append(Value(name, np.ones((1,) * len(shape), value.dtype), shape, value.exact))
    # Without the operation, two names would be of one array.
    return [f"{name} = {value.text} + {scope.choice(('0', '1'))}"]


def assign_masked(scope: Scope, depth: int) -> Lines | None:
    array = scope.choice(scope.arrays)
    mask = ex.of_kinds(scope, "b", array.shape, 2, exact=True)
    if mask.shape != array.shape:
        return None
    if scope.chance(0.5):
        value = for_place(scope, array, (), 2)
        return [f"{array.text}[{mask.text}] = {value.text}"] if value else None
    other = ex.sliced(scope, array.shape)
    if other is None or not fits(other, array):
        return None
    name = scope.new_name("k")
    return [f"{name} = {mask.text}", f"{array.text}[{name}] = {other.text}[{name}]"]


def scatter(scope: Scope, depth: int) -> Lines | None:
    """Return a loop that writes, or adds, where data says."""
    vectors = [a for a in scope.arrays if len(a.shape) == 1 and a.shape[0] in scope.indices]
    if not vectors or len(scope.loops) > 2:
        return None
    target = scope.choice(vectors)
    size, name = target.shape[0], scope.new_name("i")
    inner = scope.inside(Loop(name, size))
    goal = Value(
        f"{target.text}[{scope.indices[size]}[{name}]]", target.sample.flat[0], (), target.exact
    )
    value = for_place(inner, goal, (), 2)
    if value is None:
        return None
    line = update(inner, goal, value, whole=False) or [f"{goal.text} = {value.text}"]
    return [f"for {name} in range({size}):", *indented(line)]


def chained(scope: Scope, depth: int) -> Lines | None:
    target = scope.choice(scope.arrays)
    others = [a for a in scope.arrays if a.shape == target.shape and a.text != target.text]
    if not others:
        return None
    other = scope.choice(others)
    value = for_place(scope, target, target.shape, 2)
    if value is None or not fits(value, other):
        return None
    return [f"{target.text}[:] = {other.text}[:] = {value.text}"]


def swapped(scope: Scope, depth: int) -> Lines | None:
    """Return two scalars bound at once."""
    if len(scope.scalars) < 2:
        return None
    one, other = scope.random.sample(scope.scalars, 2)
    fixed = {one.text, other.text} & scope.fixed
    if fixed or not same_class(one.sample, other.sample) or one.exact != other.exact:
        return None
    return [f"{one.text}, {other.text} = {other.text}, {one.text}"]


# --- what holds other statements


def branch(scope: Scope, depth: int) -> Lines:
    lines = [f"if {ex.condition(scope).text}:", *_inner(scope, depth)]
    if scope.chance(0.3):
        lines += [f"elif {ex.condition(scope).text}:", *_inner(scope, depth)]
    if scope.chance(0.5):
        lines += ["else:", *_inner(scope, depth)]
    return lines


def _inner(scope: Scope, depth: int) -> Lines:
    return indented(block(scope.inside(), scope.random.randint(1, 2), depth - 1))


def ranges(scope: Scope, name: str) -> tuple[str, Loop]:
    """Return a range, and what is known of its elements."""
    size = scope.choice(("n", "n", "m"))
    around = [loop for loop in scope.loops if loop.size == size and not loop.room]
    forms: dict[tuple[str, int, int], float] = {
        (f"range({size})", 0, 0): 5.0,
        (f"range(1, {size})", 1, 0): 2.0,
        (f"range({size} - 1)", 0, 1): 2.0,
        (f"range(1, {size} - 1)", 1, 1): 1.5,
        (f"range({size} - 1, -1, -1)", 0, 0): 1.5,
        (f"range({size} - 1, 0, -1)", 1, 0): 0.7,
        (f"range({size} - 2, -1, -1)", 0, 1): 0.7,
        (f"range(0, {size}, 2)", 0, 0): 0.7,
        (f"range({size} - 1, -1, -2)", 0, 0): 0.4,
        (f"reversed(range({size}))", 0, 0): 0.3,
    }
    for outer in around:
        forms[f"range({outer.name})", 0, 0] = 2.0
        forms[f"range({outer.name}, {size})", 0, 0] = 1.0
        forms[f"range({outer.name} + 1, {size})", 1, 0] = 2.0
        forms[f"range({outer.name} - 1, -1, -1)", 0, 0] = 0.7
    text, low, room = scope.one_of(forms)
    return text, Loop(name, size, low, room)


def loop(scope: Scope, depth: int) -> Lines:
    name = scope.new_name("i")
    if scope.chance(0.08) and (lines := over_elements(scope, depth, name)):
        return lines
    if scope.chance(0.1):
        text, known = f"range({scope.choice(('2', '3', '-1, 2'))})", Loop(name, "")
    else:
        text, known = ranges(scope, name)
    inner = scope.inside(known)
    return [
        f"for {name} in {text}:",
        *indented(block(inner, inner.random.randint(1, 3), depth - 1)),
    ]


def over_elements(scope: Scope, depth: int, name: str) -> Lines | None:
    """Return a loop over the elements of a vector."""
    vectors = [array for array in scope.arrays if len(array.shape) == 1]
    if not vectors:
        return None
    vector, value = scope.choice(vectors), scope.new_name("x")
    inner = scope.inside(Loop(name, vector.shape[0]))
    inner.scalars.append(Value(value, vector.sample.flat[0], (), vector.exact))
    inner.fixed.add(value)
    body = block(inner, inner.random.randint(1, 2), depth - 1)
    return [f"for {name}, {value} in enumerate({vector.text}):", *indented(body)]


def while_loop(scope: Scope, depth: int) -> Lines:
    """Return a loop that a counter ends, or something before."""
    name = scope.new_name("w")
    size = scope.choice(("n", "m"))
    inner = scope.inside(Loop(name, size))
    test = f"{name} < {size}"
    if scope.chance(0.5):
        test += f" and {ex.condition(scope).text}"
    body = block(inner, inner.random.randint(1, 2), depth - 1)
    # A `continue` would leave the counter as it is.
    body = [line.replace("continue", "break") for line in body] + [f"{name} += 1"]
    return [f"{name} = 0", f"while {test}:", *indented(body)]


def leave(scope: Scope, depth: int) -> Lines:
    """Return an early end of an iteration, of a loop or of the function."""
    kinds = {"continue": 2.0, "break": 2.0} if scope.loops else {}
    kinds["return"] = 0.5
    kind = scope.one_of(kinds)
    if kind == "return" and scope.scalars:
        kind = f"return {scope.choice(scope.scalars).text}"
    return [f"if {ex.condition(scope).text}:", f"    {kind}"]


def result(scope: Scope) -> Lines:
    """Return what a function ends with."""
    some: list[Any] = scope.random.sample(scope.scalars, min(2, len(scope.scalars)))
    some += [array for array in scope.arrays if array.text.startswith("t")][:2]
    return [f"return {', '.join(v.text for v in some)}"] if some and scope.chance(0.8) else []
