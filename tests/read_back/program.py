"""A launch of a loop program as a function of Python, statement by statement.

What it does is `tests.read_back.values.Run`'s: it notes the writes that others may see, and where
work items wait.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np

from polygen.analysis.integers.function_definitions import meaning_of
from polygen.analysis.typing.expression_types import type_of
from polygen.analysis.typing.kinds import letter
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, GlobalArg, ImageArg, ValueArg
from polygen.ir.callables import is_symbol, user_function
from polygen.ir.layout import Separate, Vector, constant_axes, vector_length
from polygen.ir.parts import part_name
from polygen.lower.program import (
    Assign,
    Barrier,
    Block,
    BlocksBegun,
    Call,
    Declare,
    HostLoop,
    HostNode,
    If,
    Launch,
    Loop,
    LoopProgram,
    Shuffle,
    TensorProduct,
    Verbatim,
    Wait,
)
from tests.read_back import values
from tests.read_back.tokens import NotRead

Key: TypeAlias = str  # the text of a subscript


class Lines:
    """Lines of Python, indented."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 1

    def add(self, text: str) -> None:
        """Add a line."""
        self.lines.append(" " * self.depth + text)


def _plain(name: str) -> str:
    return f"v_{name}"


class Translator(Lines):
    """Translates a launch, or all of them with the loops around, for one work item.

    Parameters:
        program: what it is of.
        grid: whether there are groups of work items.
        waits: whether copies are asynchronous.
    """

    def __init__(self, program: LoopProgram, *, grid: bool, waits: bool = False) -> None:
        super().__init__()
        self.program, self.grid, self.waits = program, grid, waits
        variables = (*program.arguments, *program.global_temporaries, *program.tables)
        self.arrays = {v.name: v for v in variables if not isinstance(v, ValueArg)}
        self.images = {v.name for v in self.arrays.values() if isinstance(v, ImageArg)}
        self.cells: dict[str, str] = {}  # variables in memory of one element
        self.truths = {n for n, kind in program.dtypes.items() if kind == np.dtype(bool)}
        self.unsigned = {
            n for n, kind in program.dtypes.items() if getattr(kind, "kind", "") == "u"
        }
        self.declared: dict[str, Declare] = {}
        self.kinds: dict[str, str] = {}  # of scalars that are declared
        self.registers: set[str] = set()  # arrays of which each work item has an element

    # --- statements

    def block(self, block: Block) -> None:
        """Translate statements."""
        if not block:
            self.add("pass")
        for node in block:
            _STATEMENTS[type(node)](self, node)

    def indented(self, head: str, block: Block) -> None:
        """Translate statements below a line."""
        self.add(head)
        self.depth += 1
        self.block(block)
        self.depth -= 1

    def host(self, nodes: Iterable[HostNode]) -> None:
        """Translate launches, and loops around them."""
        for node in nodes:
            if isinstance(node, HostLoop):
                self.loop_head(node)
                self.depth += 1
                self.host(node.body)
                self.depth -= 1
            else:
                self.block(node.body)

    def loop_head(self, node: Loop | HostLoop) -> None:
        """Translate the beginning of a loop."""
        lower, upper = self.expr(node.lower), self.expr(node.upper)
        order = "any_order" if isinstance(node, Loop) and node.parallel else "up"
        self.add(f"for {_plain(node.iname)} in run.{order}({lower}, {upper}, {node.step}):")
        self.depth += 1
        if node.iname in self.program.nonnegative:
            self.add(f"not_negative({_plain(node.iname)})")
        if node.runs is not None:
            self.add(f"if not ({self.expr(node.runs)}): break")
        self.depth -= 1

    def store(self, target: ex.Expression, value: str, how: str) -> None:
        """Translate a write."""
        name = ex.name_of(target)
        if name in self.arrays or name in self.cells:
            array, key = self.place(target)
            self.add(f"{array}.put({key}, {value}, {how!r})")
        else:
            self.add(f"{_plain(name)} = {_CONVERT[self.kinds[name]]}({value})")

    def place(self, node: ex.Expression) -> tuple[str, Key]:
        """Return the array that an element is in, and where it is."""
        name = ex.name_of(node)
        index = ex.index_of(node)
        if name in self.images:
            return _plain(name), f"({', '.join(map(self.expr, index))},)"
        offset = self.expr(index[0]) if index else "0"
        array = self.arrays.get(name)
        if array is None:
            declared = self.declared.get(name)
            if declared is not None and declared.vector is not None and declared.vector > 1:
                return _plain(name), f"({offset}, {self.expr(index[1])})"
            return _plain(name), offset
        tags = [(array.dim_tags or ())[axis] for axis in constant_axes(array)]
        both = list(zip(index[1:], tags, strict=True))
        separate = [i for i, t in both if isinstance(t, Separate) and isinstance(i, int)]
        lanes = [i for i, t in both if isinstance(t, Vector)]
        if lanes and vector_length(array) != 1:
            offset = f"({offset}, {self.expr(lanes[0])})"
        return _plain(part_name(name, tuple(separate)) if separate else name), offset

    # --- expressions

    def expr(self, node: Any) -> str:
        """Return the text of an expression."""
        rule = _EXPRESSIONS.get(type(node))
        return number_text(node) if rule is None else rule(self, node)

    def never_negative(self, node: Any) -> bool:
        """Tell whether the value of an expression has a type without negative numbers."""
        names = walk.free_variables(node)
        return letter(type_of(node, {n: self.program.dtypes.get(n, int) for n in names})) == "u"

    def maybe_truth(self, node: Any) -> bool:
        """Tell whether the value of an expression may be a truth value."""
        if isinstance(node, ex.Variable | ex.Subscript):
            return ex.name_of(node) in self.truths
        return isinstance(node, _TRUTHS)

    def may_wrap(self, node: Any) -> bool:
        """Tell whether a sum with such a term, or a product, may wrap around below zero."""
        if isinstance(node, ex.Variable | ex.Subscript):
            return ex.name_of(node) in self.unsigned
        return isinstance(node, ex.Call) and _TYPES.get(ex.name_of(node.function)) == "to_unsigned"


_CONVERT = {kind: f.__name__ for kind, f in values.CONVERT.items()}
_TRUTHS = (
    *(ex.Comparison, ex.LogicalAnd, ex.LogicalOr, ex.LogicalNot, ex.If, ex.Call, bool, np.bool_),
    *(ex.BitwiseAnd, ex.BitwiseOr, ex.BitwiseXor, ex.BitwiseNot, ex.Sum, ex.Product),
    *(ex.Min, ex.Max),
)


def number_text(node: Any) -> str:
    """Return the text of a number."""
    value = node.item() if isinstance(node, np.generic) else node
    if isinstance(value, complex):
        return f"complex({number_text(value.real)}, {number_text(value.imag)})"
    if isinstance(value, float) and not math.isfinite(value):
        return f"float('{value}')"
    if isinstance(value, int | float):
        return repr(value) if value >= 0 else f"({value!r})"
    raise NotImplementedError(f"a number of class {type(value).__name__}")


# --- statements


def _declare(t: Translator, node: Declare) -> None:
    name = node.name
    t.declared[name] = node
    if node.in_registers:
        t.registers.add(name)
        t.kinds[name] = node.dtype.kind
        return
    shared = t.grid and node.address_space is AddressSpace.LOCAL
    if node.dtype.kind == "b":
        t.truths.add(name)
    if node.extent is not None or node.vector is not None or shared:
        t.cells[name] = name
        if shared:
            t.add(f"{_plain(name)} = run.array({name!r}, {node.dtype.kind!r})")
        else:
            t.add(f"{_plain(name)} = run.own({name!r}, {node.dtype.kind!r})")
        if node.initial is not None:
            t.store(ex.Variable(name), t.expr(node.initial), "p")
        return
    t.kinds[name] = node.dtype.kind
    value = "None"
    if node.initial is not None:
        value = f"{_CONVERT[node.dtype.kind]}({t.expr(node.initial)})"
        if name in t.program.nonnegative:
            value = f"not_negative({value})"
    t.add(f"{_plain(name)} = {value}")


def _shuffle(t: Translator, node: Shuffle) -> None:
    t.kinds[node.name] = node.dtype.kind
    scalar = ex.name_of(node.element)
    convert = _CONVERT[node.dtype.kind]
    t.add(f"{_plain(node.name)} = {convert}(shuffled({_plain(scalar)}, {node.distance}))")


def _assign(t: Translator, node: Assign) -> None:
    how = "p" if node.atomicity is None else "a"
    if not node.others:
        t.store(node.target, t.expr(node.value), how)
        return
    # All is read before anything is written.
    hows = ["p" if how == "p" or target is not node.updated else "a" for target, _ in node.pairs]
    for number, (target, value) in enumerate(node.pairs):
        t.add(f"new_{number} = {t.expr(value)}")
        if isinstance(target, ex.Subscript) and ex.name_of(target) not in t.registers:
            t.add(f"at_{number} = {t.place(target)[1]}")
    for number, ((target, _), how) in enumerate(zip(node.pairs, hows, strict=True)):
        if isinstance(target, ex.Subscript) and ex.name_of(target) not in t.registers:
            t.add(f"{t.place(target)[0]}.put(at_{number}, new_{number}, {how!r})")
        else:
            t.store(target, f"new_{number}", how)


def _loop(t: Translator, node: Loop) -> None:
    if node.at_once:
        _at_once(t, node)
        return
    t.loop_head(node)
    t.depth += 1
    t.block(node.body)
    t.depth -= 1


def _at_once_by_all(t: Translator, node: Any) -> None:
    """Translate a nest that a warp executes together: its iterations are not counted."""
    if not isinstance(node, Loop):
        t.block((node,))
        return
    t.add(f"for {_plain(node.iname)} in range({t.expr(node.lower)}, {t.expr(node.upper)}):")
    t.depth += 1
    for inner in node.body:
        _at_once_by_all(t, inner)
    t.depth -= 1


def _at_once(t: Translator, node: Loop) -> None:
    (assign,), lane = node.body, _plain(node.iname)
    assert isinstance(assign, Assign)
    lanes = f"for {lane} in range({t.expr(node.upper)})"
    for number, (target, value) in enumerate(assign.pairs):
        t.add(f"new_{number} = [({t.place(target)[1]}, {t.expr(value)}) {lanes}]")
    t.add("first = len(run.trace)")
    for number, (target, _) in enumerate(assign.pairs):
        t.add(f"for at, new in new_{number}: {t.place(target)[0]}.put(at, new, 'p')")
    if len(assign.pairs) > 1:
        t.add("run.in_no_order.append(slice(first, len(run.trace)))")


def _verbatim(t: Translator, node: Verbatim) -> None:
    given = ", ".join(t.expr(value) for _, value in node.names)
    t.add(f"run.note('verbatim', {node.code.strip()!r}, {given})")
    for name in node.writes:
        if name in t.kinds:
            t.add(f"{_plain(name)} = {_CONVERT[t.kinds[name]]}(run.written_by_others({name!r}))")


def _call(t: Translator, node: Call) -> None:
    given: list[str] = []
    for parameter, value in zip(node.parameters, node.arguments, strict=True):
        if isinstance(parameter, GlobalArg):
            name = ex.name_of(value)
            given.append(
                f"({name!r}, {t.expr(ex.index_of(value)[0]) if ex.index_of(value) else 0})"
            )
        else:
            given.append(t.expr(value))
    t.add(f"run.note('call', {node.function!r}, {', '.join(given)})")
    for name in node.writes:
        if name in t.kinds:
            t.add(f"{_plain(name)} = {_CONVERT[t.kinds[name]]}(run.written_by_others({name!r}))")


def _barrier(t: Translator, node: Barrier) -> None:
    spaces = "".join(sorted(space.value[0] for space in node.address_spaces))
    t.add(f"run.note('barrier', {spaces!r})")


_STATEMENTS: Mapping[type, Callable[[Translator, Any], None]] = {
    Declare: _declare,
    Shuffle: _shuffle,
    Assign: _assign,
    Loop: _loop,
    If: lambda t, node: t.indented(f"if {t.expr(node.condition)}:", node.body),
    Verbatim: _verbatim,
    Call: _call,
    Barrier: _barrier,
    Wait: lambda t, _: t.add("run.note('wait')" if t.waits else "pass"),
    TensorProduct: lambda t, node: _at_once_by_all(t, node.nest),
    BlocksBegun: lambda t, _: t.add("pass"),
}


# --- expressions


def _variable(t: Translator, node: ex.Variable) -> str:
    if node.name in t.arrays or node.name in t.cells:
        return f"{_plain(node.name)}[0]"
    return _plain(node.name)


def _subscript(t: Translator, node: ex.Subscript) -> str:
    if ex.name_of(node) in t.registers:
        return _plain(ex.name_of(node))
    array, key = t.place(node)
    return f"{array}[{key}]"


def _folded(operator: str, function: str) -> Callable[[Translator, Any], str]:
    def text(t: Translator, node: Any) -> str:
        parts = [t.expr(child) for child in node.children]
        if any(map(t.maybe_truth, node.children)):
            found = f"{function}({', '.join(parts)})"
        else:
            found = f"({operator.join(parts)})"
        return f"unsigned({found})" if any(map(t.may_wrap, node.children)) else found

    return text


def _nested(function: str) -> Callable[[Translator, Any], str]:
    def text(t: Translator, node: Any) -> str:
        first, *others = [t.expr(child) for child in node.children]
        for other in others:
            first = f"{function}({first}, {other})"
        return first

    return text


def _both(function: str, left: str, right: str) -> Callable[[Translator, Any], str]:
    return lambda t, n: f"{function}({t.expr(getattr(n, left))}, {t.expr(getattr(n, right))})"


def _truths(operator: str) -> Callable[[Translator, Any], str]:
    return lambda t, node: f"bool({operator.join([t.expr(c) for c in node.children])})"


_TYPES = {
    **{f"int{8 * size}": "to_integer" for size in (1, 2, 4, 8)},
    **{f"uint{8 * size}": "to_unsigned" for size in (1, 2, 4, 8)},
    **dict.fromkeys(("float16", "bfloat16", "float32", "float64"), "to_real"),
    **dict.fromkeys(("complex64", "complex128"), "to_complex"),
    "bool": "bool",
    "bool_": "bool",
}


_RANDOM_INTEGERS = re.compile(r"(?:philox|threefry)\d+x\d+")
# What is printed as something else, or differently in different languages.
_NOT_READ = ("carg", "cproj", "isordered", "isunordered", "nan")


def _function(t: Translator, node: ex.Call) -> str:
    own = user_function(node) is not None
    meaning = None if own else meaning_of(node)
    if meaning is not None:
        return t.expr(meaning)
    name = ex.name_of(node.function)
    given = ", ".join([t.expr(argument) for argument in node.parameters])
    if name in _NOT_READ or is_symbol(node):
        raise NotRead(f"the function '{name}'")
    if own:
        return f"FUNCTIONS[{name!r}]({given})" if name in values.OWN else f"opaque({given})"
    name = name.removeprefix("native_").removeprefix("half_")
    if name in _TYPES:
        if name == "float16" and isinstance(node.parameters[0], float):
            return number_text(float(np.float16(node.parameters[0])))  # as it is printed
        return f"{_TYPES[name]}({given})"
    if name == "abs" and t.never_negative(node.parameters[0]):
        return given
    if _RANDOM_INTEGERS.fullmatch(name):
        return f"opaque_integers({given})"
    return f"FUNCTIONS[{name!r}]({given})" if name in values.FUNCTIONS else f"opaque({given})"


_EXPRESSIONS: Mapping[type, Callable[[Translator, Any], str]] = {
    ex.Variable: _variable,
    ex.Subscript: _subscript,
    ex.Sum: _folded(" + ", "total"),
    ex.Product: _folded(" * ", "product"),
    ex.Min: lambda t, n: f"least({', '.join([t.expr(c) for c in n.children])})",
    ex.Max: lambda t, n: f"largest({', '.join([t.expr(c) for c in n.children])})",
    ex.Quotient: _both("quotient", "numerator", "denominator"),
    ex.FloorDiv: _both("floor_quotient", "numerator", "denominator"),
    ex.Remainder: _both("modulo", "numerator", "denominator"),
    ex.Power: _both("power", "base", "exponent"),
    ex.LeftShift: _both("left_shift", "shiftee", "shift"),
    ex.RightShift: _both("right_shift", "shiftee", "shift"),
    ex.BitwiseNot: lambda t, n: f"complement({t.expr(n.child)})",
    ex.BitwiseAnd: _nested("both_bits"),
    ex.BitwiseOr: _nested("either_bit"),
    ex.BitwiseXor: _nested("one_bit"),
    ex.LogicalAnd: _truths(" and "),
    ex.LogicalOr: _truths(" or "),
    ex.LogicalNot: lambda t, n: f"(not {t.expr(n.child)})",
    ex.Comparison: lambda t, n: f"({t.expr(n.left)} {n.operator} {t.expr(n.right)})",
    ex.If: lambda t, n: f"({t.expr(n.then)} if {t.expr(n.condition)} else {t.expr(n.else_)})",
    ex.Call: _function,
    ex.Component: lambda t, n: f"part({t.expr(n.aggregate)}, {n.position})",
}


def launches_in(nodes: Iterable[HostNode]) -> Iterator[Launch]:
    """Yield the launches of a program, in order."""
    for node in nodes:
        if isinstance(node, Launch):
            yield node
        else:
            yield from launches_in(node.body)
