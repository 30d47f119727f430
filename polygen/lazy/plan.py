"""Calls that run together, as one function of which the front end makes kernels.

    scaled(n, x, 2.0); total(n, 0.0, x, y)    ->    def calls(x0, x1, n0, v0, v1, f0, f1):
                                                        f0(n0, x0, v0)
                                                        r1 = f1(n0, v1, x0, x1)
                                                        return (r1,)

Arrays that are one object have one name, and so have integers that are equal.  A plan is kept by
what decides its text; types and ranks are the front end's matter.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from polygen.jitting.compiled_programs import program_of
from polygen.lazy.futures import Future
from polygen.lazy.report import Together
from polygen.lazy.shared_arrays import SharedArrays
from polygen.lazy.trace import Call
from polygen.python.array_libraries import library_of
from polygen.python.function_source import FunctionSource
from polygen.python.generated_calls import MISS, PLAIN
from polygen.python.program import Program
from polygen.runtime.resident_arrays import CopyCount


def calls() -> None:
    """Stand for the calls of a plan, whose text is made."""


CALLS = "<polygen: calls>"  # the file that the text of plans is said to be of
_FIRST_LINE = 2  # of its statements


@dataclass
class Layout:
    """The arguments of calls by places of their own: what decides the text of a plan.

    Attributes:
        values: the values, by place.
        key: of each call, its function and what it is passed: places, or how numbers are computed.
        unread: the places of arrays that nobody can read any more, with the places of their
            extents and of their type.
    """

    values: list[Any] = field(default_factory=list[Any])
    key: list[Any] = field(default_factory=list[Any])
    unread: list[tuple[int, tuple[int, ...], int]] = field(
        default_factory=list[tuple[int, tuple[int, ...], int]]
    )

    def prelude(self) -> list[ast.stmt]:
        """Return the statements that make arrays which nobody can read any more anew."""
        names, made = self.names, list[ast.stmt]()
        for place, extents, dtype in self.unread:
            shape = ast.Tuple([_name(names[one]) for one in extents], ast.Load())
            array = ast.Call(_name("empty"), [shape, _name(names[dtype])], [])
            made.append(ast.Assign([ast.Name(names[place], ast.Store())], array))
        return made

    @property
    def names(self) -> list[str]:
        """The names of the values in the text of a plan."""
        return [f"{_kind(value)}{place}" for place, value in enumerate(self.values)]


def layout_of(run: Sequence[Call]) -> Layout:
    """Return the arguments of calls by places.

    Parameters:
        run: the calls, in order.
    """
    places = _Places(run)
    found = places.layout
    known: dict[Any, tuple[Any, ...]] = {}
    again: list[tuple[Any, ...]] = []
    for call in run:
        key = known.get(call.mark)
        if key is None:
            passed = [places.of(value) for value in call.arguments]
            key = known[call.mark] = (call.function, *passed)
        else:  # the same call again
            again.append(key)
        found.key.append(key)
    places.count(again)
    uses = places.uses
    for place in [place for place in uses if _is_unread(found.values, place, uses[place])]:
        array = found.values[place]
        extents = tuple([places.of(int(extent)) for extent in array.shape])
        found.unread.append((place, extents, places.of(array.dtype.type)))
    return found


class _Places:
    """Places of values: one for each object, and for equal integers, and for equal floats."""

    def __init__(self, run: Sequence[Call]) -> None:
        self.layout = Layout()
        self.uses: dict[int, int] = {}
        self._objects: dict[int, int] = {}
        self._integers: dict[int, int] = {}
        self._floats: dict[float, int] = {}
        self._run = run
        self._order: dict[Any, int] = {}

    def of(self, value: Any) -> Any:
        kind = value.__class__
        if kind is Future:
            return self._computed(value)
        if kind is int:
            known, mark = self._integers, value
        elif kind is float and value:  # zeros have signs
            known, mark = self._floats, value  # type: ignore[assignment]
        else:
            known, mark = self._objects, id(value)
        place = known.get(mark)
        if place is None:
            place = known[mark] = len(self.layout.values)
            self.layout.values.append(value)
            self.uses[place] = 0
        self.uses[place] += 1
        return place

    def count(self, again: Sequence[tuple[Any, ...]]) -> None:
        """Count the uses of places by calls that are made again."""
        for key, times in Counter(map(id, again)).items() if again else ():
            places = next(one for one in again if id(one) == key)
            for place in places[1:]:
                if type(place) is int:
                    self.uses[place] += times

    def _computed(self, future: Future) -> Any:
        if future.is_known:
            return self.of(future.value)
        if future.call is not None:
            if not self._order:
                self._order = {call: at for at, call in enumerate(self._run)}
            results = future.call.results
            number = next(k for k, one in enumerate(results) if one() is future)
            return "r", self._order[future.call], number
        return (future.sign, *[self.of(one) for one in future.operands])


def _is_unread(values: Sequence[Any], place: int, uses: int) -> bool:
    """Tell whether only calls that run now have an array: no view, no other call, no variable."""
    if type(values[place]) is not np.ndarray or values[place].base is not None:
        return False
    return sys.getrefcount(values[place]) <= uses + _OWN_REFERENCES


_OWN_REFERENCES = 2  # the list of values, and the argument of the function that counts


def _kind(value: Any) -> str:
    return "x" if library_of(value) is not None else "n" if type(value) is int else "v"


def _passed(layout: Layout) -> list[list[ast.expr]]:
    """Return what each call is passed."""
    names = layout.names
    return [[_expression(place, names) for place in places] for _, *places in layout.key]


def _expression(place: Any, names: Sequence[str]) -> ast.expr:
    if isinstance(place, int):
        return _name(names[place])
    if place[0] == "r":
        return _name(f"r{place[1]}_{place[2]}")
    operands = [_expression(one, names) for one in place[1:]]
    if place[0] == "neg":
        return ast.UnaryOp(ast.USub(), operands[0])
    return ast.BinOp(operands[0], _SIGNS[place[0]](), operands[1])


_SIGNS: dict[str, type[ast.operator]] = {
    "+": ast.Add, "-": ast.Sub, "*": ast.Mult, "/": ast.Div, "//": ast.FloorDiv, "%": ast.Mod,
    "**": ast.Pow,
}  # fmt: skip


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


@dataclass
class Plan:
    """Calls as one program.

    Attributes:
        program: the program.
        parameters: the names of what it is passed.
        returned: the numbers that it returns: a call's place, and which of its numbers.
        account: what is said of it.
    """

    program: Program
    parameters: tuple[str, ...]
    returned: tuple[tuple[int, int], ...]
    quick: tuple[Callable[..., Any], bool] | None = None
    account: Together = field(default_factory=Together)

    def call_at(self, line: int, count: int) -> int | None:
        """Return the place of the call at a line of the text; None if none is there.

        Parameters:
            line: the line.
            count: the number of calls.
        """
        before = len(self.program.body) - count - bool(self.returned)
        at = line - _FIRST_LINE - before
        return at if 0 <= at < count else None

    def run(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Run the calls on values of the parameters, and return the numbers."""
        if self.quick is not None:
            found = self.quick[0](*values)
            if found is not MISS and found is not PLAIN:
                return found if self.quick[1] else ()
        found = self.program.run(dict(zip(self.parameters, values, strict=True)))
        self.quick = self.program.quick_call()
        return found or ()


def plan_of(run: Sequence[Call], layout: Layout, shared: SharedArrays | None) -> Plan:
    """Return calls as one program.

    Parameters:
        run: the calls, in order.
        layout: their arguments.
        shared: those that share memory.
    """
    names = layout.names
    prelude = [] if shared is None else shared.prelude(names, ast.Pass())
    parameters = names if shared is None else shared.parameters(names)
    prelude = [*layout.prelude(), *prelude]
    parameters = [*parameters, "empty", *[f"f{at}" for at in range(len(run))]]
    body = list(prelude)
    passed = _passed(layout)
    returned: list[tuple[int, int]] = []
    for at, call in enumerate(run):
        made = ast.Call(_name(f"f{at}"), passed[at], [])
        body.append(_statement(made, at, len(call.results)))
        returned += [(at, k) for k, one in enumerate(call.results) if one() is not None]
    if returned:
        numbers: list[ast.expr] = [_name(f"r{at}_{k}") for at, k in returned]
        body.append(ast.Return(ast.Tuple(numbers, ast.Load())))
    given = [ast.arg(name) for name in parameters]
    tree = ast.FunctionDef(
        "calls", ast.arguments([], given, None, [], [], None, []), body, [], None, None
    )
    _place(tree)
    is_strict = len(run) == 1 and run[0].is_strict
    source = FunctionSource(calls, CALLS, tree, {})
    program = program_of(
        source, run[0].target, strict=is_strict, copied=CopyCount(), contracts=True
    )
    return Plan(program, tuple(parameters), tuple(returned))


def _statement(made: ast.expr, at: int, count: int) -> ast.stmt:
    if not count:
        return ast.Expr(made)
    names: list[ast.expr] = [ast.Name(f"r{at}_{k}", ast.Store()) for k in range(count)]
    return ast.Assign([names[0] if count == 1 else ast.Tuple(names, ast.Store())], made)


def _place(tree: ast.FunctionDef) -> None:
    """Give each statement a line of its own, by which the front end tells them apart."""
    for line, statement in enumerate(tree.body, _FIRST_LINE):
        for part in ast.walk(statement):
            if "lineno" in part._attributes:
                _put(part, line)
    for part in ast.walk(tree):
        if "lineno" in part._attributes and not hasattr(part, "lineno"):
            _put(part, 1)


def _put(node: Any, line: int) -> None:
    node.lineno = node.end_lineno = line
    node.col_offset = node.end_col_offset = 0
