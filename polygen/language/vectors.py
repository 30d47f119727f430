"""Vectors of numbers, as random numbers come in Loo.py: ``vals.s0`` is a number of ``vals``.

``<> ctr = make_uint4(i, 0, 0, 0)`` declares four numbers, and ``<> vals, ctr = philox4x32_f32(ctr,
key)`` gets four random ones, and a counter for the next four.  There are no vectors afterwards:
each of their numbers is a variable of its own, ``vals_s0`` and so on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from polygen.analysis.typing.random_numbers import GENERATORS, Generator
from polygen.errors import MalformedInstruction, UserError
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.dtype import DType, to_dtype
from polygen.ir.expression import Expression
from polygen.language.parser import located
from polygen.language.statement import Statement

_C = {"char": "int8", "short": "int16", "int": "int32", "long": "int64"}
_TYPES = {**_C, **{f"u{c}": f"u{t}" for c, t in _C.items()}, "float": "float32"}
_TYPES["double"] = "float64"
_MAKE = re.compile(rf"make_({'|'.join(_TYPES)})(2|3|4|8|16)")
_WIDE = re.compile(r"((?:philox|threefry)[24]x32)_f64")  # of two words each


def without_vectors(statements: Sequence[Statement]) -> list[Statement]:
    """Return statements in which vectors are numbers of names of their own.

    Raises:
        MalformedInstruction: if what is no vector is taken for one, or a vector for a number.
    """
    vectors = _Vectors(frozenset(_names(statements)))
    for said in statements:
        vectors.find(said)
    return [vectors.resolved(said) for said in statements]


def has_vectors(line: str) -> bool:
    """Tell whether a line may make a vector, or take a number of one."""
    return "make_" in line or "." in line


def _names(statements: Iterable[Statement]) -> Iterable[str]:
    for said in statements:
        for node in said.expressions:
            yield from walk.free_variables(node)


def _call(node: Expression) -> ex.Call | None:
    node = node.aggregate if isinstance(node, ex.Component) else node
    return node if isinstance(node, ex.Call) else None


@dataclass(frozen=True)
class _Vector:
    """The numbers of a vector: their names, and their type if it is said."""

    names: tuple[str, ...]
    dtype: DType | None

    @property
    def nodes(self) -> tuple[ex.Variable, ...]:
        return tuple(map(ex.Variable, self.names))


class _Vectors:
    """The vectors of a kernel, by name."""

    def __init__(self, taken: frozenset[str]) -> None:
        self._taken = taken
        self._known: dict[str, _Vector] = {}

    def find(self, said: Statement) -> None:
        """Note what a statement makes vectors of."""
        call = _call(said.values[0]) if said.values else None
        if call is None or said.verbatim is not None:
            return
        function = ex.name_of(call.function)
        names = [a.name for a in said.assignees if isinstance(a, ex.Variable)]
        if len(names) != len(said.assignees):
            return
        if made := _MAKE.fullmatch(function):
            self._add(names, int(made[2]), to_dtype(_TYPES[made[1]]))
        elif (generator := _generator(function)) and self._takes_vectors(call):
            self._add(names[:1], generator.count, None)
            self._add(names[1:], generator.count, generator.word)

    def _takes_vectors(self, call: ex.Call) -> bool:
        return len(call.parameters) == 2 and all(map(self._is_vector, call.parameters))

    def _is_vector(self, node: Expression) -> bool:
        if isinstance(node, ex.Variable):
            return node.name in self._known
        return isinstance(node, ex.Call) and _MAKE.fullmatch(ex.name_of(node.function)) is not None

    def _add(self, names: Iterable[str], count: int, dtype: DType | None) -> None:
        for name in names:
            start = f"{name}_s"
            while any(f"{start}{n}" in self._taken for n in range(count)):
                start += "_"
            numbers = tuple([f"{start}{n}" for n in range(count)])
            self._known.setdefault(name, _Vector(numbers, dtype))

    def resolved(self, said: Statement) -> Statement:
        """Return a statement about numbers alone."""
        if said.verbatim is not None or not said.values:
            return said
        call = _call(said.values[0])
        function = "" if call is None else ex.name_of(call.function)
        if call is not None and _MAKE.fullmatch(function):
            said = self._assigning(said, [self._numbers(said, call)])
        elif call is not None and (generator := _generator(function)) and self._takes_vectors(call):
            said = self._assigning(said, self._random(said, call, generator))

        def numbers(nodes: tuple[Expression, ...]) -> tuple[Expression, ...]:
            return tuple([walk.rewrite(node, lambda n: self._part(said, n)) for node in nodes])

        new = replace(
            said,
            assignees=numbers(said.assignees),
            values=numbers(said.values),
            predicates=numbers(said.predicates),
        )
        for node in new.expressions:
            if whole := sorted(walk.free_variables(node).intersection(self._known)):
                raise _refused(said, f"'{whole[0]}' is a vector, and stands where a number does")
        return new

    def _assigning(self, said: Statement, results: Sequence[Sequence[Expression]]) -> Statement:
        """Return a statement that assigns the numbers of vectors, each its own value."""
        names = [ex.name_of(assignee) for assignee in said.assignees]
        if len(names) > len(results):
            raise _refused(said, f"there are {len(names)} assignees of {len(results)} vectors")
        declared = dict(said.declared)
        pairs: list[tuple[str, Expression]] = []
        new: list[tuple[str, DType | None]] = []
        for name, values in zip(names, results, strict=False):
            vector = self._known.get(name)
            if vector is None or len(vector.names) != len(values):
                raise _refused(
                    said, f"'{name}' gets a vector of {len(values)} numbers, and is none"
                )
            pairs += [
                (n, v) for n, v in zip(vector.names, values, strict=True) if v != ex.Variable(n)
            ]
            if name in declared:
                new += [(n, vector.dtype or declared[name]) for n in vector.names]
        return replace(
            said,
            assignees=tuple([ex.Variable(n) for n, _ in pairs]),
            values=tuple([v for _, v in pairs]),
            declared=tuple(new),
        )

    def _numbers(self, said: Statement, node: Expression) -> tuple[Expression, ...]:
        """Return the numbers of a vector that is named, or made where it stands."""
        if isinstance(node, ex.Variable):
            return self._known[node.name].nodes
        assert isinstance(node, ex.Call)
        made = _MAKE.fullmatch(ex.name_of(node.function))
        assert made is not None
        if len(node.parameters) != int(made[2]):
            raise _refused(said, f"{made[0]}() takes {made[2]} numbers")
        return tuple([ex.converted(_TYPES[made[1]], p) for p in node.parameters])

    def _random(
        self, said: Statement, call: ex.Call, generator: Generator
    ) -> list[tuple[Expression, ...]]:
        """Return random numbers, and the counter for the next ones."""
        counter, key = [self._numbers(said, node) for node in call.parameters]
        if (len(counter), len(key)) != (generator.count, generator.keys):
            raise _refused(
                said,
                f"{ex.name_of(call.function)}() takes a counter of {generator.count} words, and a "
                f"key of {generator.keys}",
            )

        def later(by: int) -> tuple[Expression, ...]:
            first = ex.converted(generator.word.name, ex.sum_of(counter[0], by))
            return (first, *counter[1:])

        def drawn(words: tuple[Expression, ...]) -> list[Expression]:
            one = ex.Call(ex.Variable(generator.name), (*words, *key))
            return [ex.Component(one, n) for n in range(generator.count)]

        if not _WIDE.fullmatch(ex.name_of(call.function)):
            return [tuple(drawn(counter)), later(1)]
        values = [
            _of_two(high, low) for high, low in zip(drawn(counter), drawn(later(1)), strict=True)
        ]
        return [tuple(values), later(2)]

    def _part(self, said: Statement, node: Expression) -> Expression:
        if not isinstance(node, ex.Component) or not isinstance(node.aggregate, ex.Variable):
            return node
        vector = self._known.get(node.aggregate.name)
        if vector is None:
            raise _refused(said, f"'{node.aggregate.name}' is no vector, and has no parts")
        if node.position >= len(vector.names):
            count = len(vector.names)
            raise _refused(said, f"the vector '{node.aggregate.name}' has {count} numbers")
        return ex.Variable(vector.names[node.position])


def _generator(function: str) -> Generator | None:
    """Return the generator that a function draws from: for numbers of two words, that of words."""
    wide = _WIDE.fullmatch(function)
    return GENERATORS.get(wide[1] if wide else function)


def _of_two(high: Expression, low: Expression) -> Expression:
    """Return the number that is at least 0 and less than 1, of 53 bits of two words."""
    bits = ex.BitwiseOr(
        (
            ex.LeftShift(ex.converted("uint64", high), 21),
            ex.RightShift(ex.converted("uint64", low), 11),
        )
    )
    return ex.product_of(ex.converted("float64", bits), 2.0**-53)


def _refused(said: Statement, what: str) -> UserError:
    return located(
        MalformedInstruction,
        what,
        said,
        0,
        "vectors are made by make_uint4(a, b, c, d) and the like, and random numbers are drawn "
        "as vectors; v.s0 is the first number of v",
    )
