"""Remainders that wrap around at the ends of loops, as of neighbours on a torus.

Of ``u[(j - 1) % m] + u[(j + 1) % m]``, both are ``j - 1`` and ``j + 1`` but at the ends.  For
targets with vectors, the innermost loop has its ends apart::

    for (int j = 0; j < 1; ++j)          v[j] = u[j - 1 + m] + u[j + 1 < m ? j + 1 : j + 1 - m];
    for (int j = 1; j < m - 1; ++j)      v[j] = u[j - 1] + u[j + 1];
    for (int j = max(1, m - 1); j < m; ++j)    v[j] = u[j - 1] + u[j + 1 - m];

In other loops, a choice takes the place of the division.  Of ``u[(j + 2) % m]``, which wraps around
twice if ``m`` is 1, the division is left for the ends alone::

    int wrapped = j + 2;
    if (wrapped >= m)
        wrapped = wrapped % m;

This is done behind validation: it depends on the ranges of loops, and on what is assumed of sizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import islpy as isl

from polygen.analysis.integers.affine_forms import LinearForm, linear_form
from polygen.analysis.integers.known_facts import known_parameters
from polygen.analysis.integers.unknowns import is_by_size
from polygen.analysis.typing.kinds import Counter
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import ValueArg
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.lower.declare import expressions
from polygen.lower.neighbours import nodes_in
from polygen.lower.program import (
    Assign,
    Block,
    Declare,
    HostLoop,
    HostNode,
    If,
    Loop,
    LoopProgram,
    Node,
)
from polygen.lower.quotients import mapped, positive_divisors
from polygen.lower.ranges import Ranges

_FEWEST = 16  # iterations of a loop that is written three times
_LARGEST = 8  # statements in it


def without_wraps(program: LoopProgram, kernel: Kernel, *, apart: bool) -> LoopProgram:
    """Return a validated program without divisions by sizes whose quotient is one of two.

    Parameters:
        program: the program.
        kernel: what it was made of.
        apart: whether innermost loops are written apart where a quotient changes.
    """
    if not positive_divisors(kernel):
        return program
    wraps = _Wraps(program, kernel, apart=apart)
    host = tuple([wraps.host(node, known_parameters(kernel)) for node in program.host])
    return replace(
        program,
        host=host,
        nonnegative=program.nonnegative.union(wraps.nonnegative),
        dtypes={**program.dtypes, **dict.fromkeys(wraps.names, Counter)},
    )


@dataclass(frozen=True)
class _Wrap:
    """A division whose quotient is one of two numbers, or one; or a remainder near a range's ends.

    Attributes:
        node: the division.
        number: what is divided.
        first: the lesser quotient, 0 or -1.
        only: the quotient, if there is but one.
        is_open: whether it may also wrap around several times, as sizes are small.
    """

    node: ex.FloorDiv | ex.Remainder
    number: LinearForm
    first: int
    only: int | None = None
    is_open: bool = False

    @property
    def value(self) -> Expression:
        """The same value, without a division."""
        if self.only is not None:
            return self._for(self.only)
        below = ex.Comparison(self.number.expression(), "<", self.end)
        return ex.If(below, self._for(self.first), self._for(self.first + 1))

    @property
    def end(self) -> Expression:
        """The number from which on the quotient is the greater one."""
        return 0 if self.first else self.node.denominator

    def _for(self, quotient: int) -> Expression:
        if isinstance(self.node, ex.FloorDiv):
            return quotient
        return _sum(self.number, self.node.denominator, -quotient)

    def cut(self, iname: str) -> LinearForm | None:
        """Return from which value of a counter on the quotient is the greater one."""
        size = linear_form(self.node.denominator)
        if size is None or self.number.terms.get(iname) != 1 or self.only is not None:
            return None
        rest = self.number - LinearForm.of_name(iname)
        if iname in rest.names():  # in a quotient, say
            return None
        return -rest if self.first else size - rest


def _sum(number: LinearForm, size: Expression, times: int) -> Expression:
    form = linear_form(size)
    assert form is not None
    return (number + form * times).expression()


class _Wraps:
    def __init__(self, program: LoopProgram, kernel: Kernel, *, apart: bool) -> None:
        self._apart = apart
        self._ranges = Ranges(program)
        self._dtype = program.index_dtype
        self._sizes = frozenset(a.name for a in program.arguments if isinstance(a, ValueArg))
        self._taken = {*kernel.names, *program.dtypes}
        self.names: list[str] = []
        self.nonnegative: set[str] = set()

    def host(self, node: HostNode, known: isl.Set, scope: frozenset[str] | None = None) -> HostNode:
        scope = self._sizes if scope is None else scope
        if isinstance(node, HostLoop):
            inside, names = self._ranges.inside(known, node), scope | {node.iname}
            return replace(node, body=tuple([self.host(n, inside, names) for n in node.body]))
        if not any(True for _ in _divisions(node.body)):
            return node
        names = scope.union(iname for axis in node.axes for iname, _ in axis.inames)
        body = self._block(node.body, self._ranges.in_launch(known, node), names)
        return replace(node, body=body)

    def _block(self, block: Block, known: isl.Set, scope: frozenset[str], nested: int = 0) -> Block:
        """Return a block without divisions that are known in it, and in what is inside of it.

        Parameters:
            block: the statements.
            known: what is known of counters there.
            scope: the counters and sizes that have values there.
            nested: how many loops have to nest perfectly, the one in the block first.
        """
        if not any(True for _ in _divisions(block)):
            return block
        declared: list[Node] = []
        if nested < 1:
            # What is divided may have divisions itself, that are numbers now.
            while names := self._names(block, known, scope, declared):
                block = _rewritten(block, names)
        inside = [self._inside(node, known, scope, nested) for node in block]
        return (*declared, *(node for nodes in inside for node in nodes))

    def _inside(
        self, node: Node, known: isl.Set, scope: frozenset[str], nested: int
    ) -> Sequence[Node]:
        if isinstance(node, If):
            there = self._ranges.where(known, node.condition)
            return [replace(node, body=self._block(node.body, there, scope))]
        if not isinstance(node, Loop) or node.at_once:
            return [node]
        inner, scope = max(node.parallel, nested) - 1, scope | {node.iname}
        parts = self._parts(node, known) if nested < 1 else [node]
        return [
            replace(p, body=self._block(p.body, self._ranges.inside(known, p), scope, inner))
            for p in parts
        ]

    # --- choices

    def _names(
        self, block: Block, known: isl.Set, scope: frozenset[str], declared: list[Node]
    ) -> dict[Expression, Expression]:
        """Return what stands for divisions that are known in a block; declare the choices."""
        found: dict[Expression, Expression] = {}
        named: dict[Expression, Expression] = {}  # by what they stand for
        for node in dict.fromkeys(_divisions(block)):
            wrap = self._wrap(node, known) if walk.free_variables(node) <= scope else None
            if wrap is None:
                continue
            if wrap.is_open:
                found[node] = self._wrapped_again(wrap, declared)
                continue
            value = wrap.value
            if wrap.only is None and value not in named:
                named[value] = self._named(wrap, declared)
            found[node] = named.get(value, value)
        return found

    def _named(self, wrap: _Wrap, declared: list[Node]) -> ex.Variable:
        is_remainder = isinstance(wrap.node, ex.Remainder)
        name = self._new_name("wrapped" if is_remainder else "wraps")
        if is_remainder or wrap.first == 0:
            self.nonnegative.add(name)
        declared.append(Declare(name, self._dtype, initial=wrap.value, constant=True))
        return ex.Variable(name)

    def _wrapped_again(self, wrap: _Wrap, declared: list[Node]) -> ex.Variable:
        """Return the name of a remainder, for which is divided beyond an end alone."""
        name = self._new_name("wrapped")
        if not wrap.first:  # else it is negative for a moment
            self.nonnegative.add(name)
        variable = ex.Variable(name)
        declared.append(Declare(name, self._dtype, initial=wrap.number.expression()))
        beyond = ex.Comparison(variable, "<" if wrap.first else ">=", wrap.end)
        rest = ex.remainder_of(variable, wrap.node.denominator)
        declared.append(If(beyond, (Assign(variable, rest, ""),)))
        return variable

    def _new_name(self, like: str) -> str:
        name, count = like, 0
        while name in self._taken:
            name, count = f"{like}_{count}", count + 1
        self._taken.add(name)
        self.names.append(name)
        return name

    def _wrap(self, node: ex.FloorDiv | ex.Remainder, known: isl.Set) -> _Wrap | None:
        number = linear_form(node.numerator, self._ranges.counters)
        size = linear_form(node.denominator, self._ranges.counters)
        if number is None or size is None:
            return None

        def below(times: int) -> bool:
            """Tell whether the number is known to be less than so many times the size."""
            less = ex.Comparison((number - size * times).expression(), "<", 0)
            return self._ranges.holds(known, less)

        def not_below(times: int) -> bool:
            least = ex.Comparison((number - size * times).expression(), ">=", 0)
            return self._ranges.holds(known, least)

        if not_below(0):
            if below(1):
                return _Wrap(node, number, 0, only=0)
            if below(2):
                return _Wrap(node, number, 0, only=1 if not_below(1) else None)
        elif below(1) and not_below(-1):
            return _Wrap(node, number, -1, only=-1 if below(0) else None)
        return self._open_wrap(node, number, size, known)

    def _open_wrap(
        self,
        node: ex.FloorDiv | ex.Remainder,
        number: LinearForm,
        size: LinearForm,
        known: isl.Set,
    ) -> _Wrap | None:
        """Return a remainder of what is a constant away from a number that does not wrap."""
        shift = number.constant
        if not shift or not isinstance(node, ex.Remainder):
            return None
        begins = ex.Comparison((number - shift).expression(), ">=", 0)
        ends = ex.Comparison((number - shift - size).expression(), "<", 0)
        if not (self._ranges.holds(known, begins) and self._ranges.holds(known, ends)):
            return None
        return _Wrap(node, number, -1 if shift < 0 else 0, is_open=True)

    # --- loops apart

    def _parts(self, loop: Loop, known: isl.Set) -> list[Loop]:
        """Return a loop in up to three parts, of which the middle one has no choices."""
        if not self._apart or not _may_be_apart(loop):
            return [loop]
        inside = self._ranges.inside(known, loop)
        wraps = [self._wrap(n, inside) for n in dict.fromkeys(_divisions(loop.body))]
        cuts = [(w.first, c) for w in wraps if w is not None and (c := w.cut(loop.iname))]
        low = _farthest([cut for first, cut in cuts if first])
        high = _farthest([-cut for first, cut in cuts if not first])
        begin = loop.lower if low is None else self._larger(loop.lower, low.expression(), known)
        parts = [] if low is None else [replace(loop, upper=self._less(loop.upper, low, known))]
        if high is None:
            most = replace(loop, lower=begin)
            return [*parts, *(self._again(most, known) if parts else [most])]
        end = -high
        most = replace(loop, lower=begin, upper=self._less(loop.upper, end, known))
        rest = replace(loop, lower=self._larger(begin, end.expression(), known))
        return [*parts, *self._again(most, known), rest]

    def _again(self, loop: Loop, known: isl.Set) -> list[Loop]:
        """Return a part in parts, if in it the numerator of a division has no division any more."""
        inside = self._ranges.inside(known, loop)
        divisions = dict.fromkeys(_divisions(loop.body))
        wraps = {n: wrap for n in divisions if (wrap := self._wrap(n, inside)) is not None}
        decided: dict[Expression, Expression] = {
            n: wrap.value for n, wrap in wraps.items() if wrap.only is not None
        }
        around = [n for n in divisions if n not in decided]
        if not any(p in decided for n in around for p in walk.subexpressions(n.numerator)):
            return [loop]
        return self._parts(replace(loop, body=_rewritten(loop.body, decided)), known)

    def _less(self, first: Expression, second: LinearForm, known: isl.Set) -> Expression:
        other = second.expression()
        if self._ranges.holds(known, ex.Comparison(other, "<=", first)):
            return other
        return ex.Min((first, other))

    def _larger(self, first: Expression, second: Expression, known: isl.Set) -> Expression:
        if self._ranges.holds(known, ex.Comparison(first, "<=", second)):
            return second
        if self._ranges.holds(known, ex.Comparison(second, "<=", first)):
            return first
        return ex.Max((first, second))


def _divisions(block: Block) -> Iterator[ex.FloorDiv | ex.Remainder]:
    for node in nodes_in(block):
        for whole in expressions(node):
            yield from (part for part in walk.subexpressions(whole) if is_by_size(part))


def _rewritten(block: Block, names: Mapping[Expression, Expression]) -> Block:
    def change(node: Expression) -> Expression:
        return walk.rewrite(node, lambda part: names.get(part, part))

    return tuple([mapped(node, change) for node in block])


def _may_be_apart(loop: Loop) -> bool:
    """Tell whether a loop is innermost, in order, and neither short nor long as text."""
    if loop.step != 1 or loop.parallel or loop.unroll:
        return False
    ends = loop.lower, loop.upper
    if isinstance(ends[0], int) and isinstance(ends[1], int) and ends[1] - ends[0] < _FEWEST:
        return False
    inside = list(nodes_in(loop.body))
    return len(inside) <= _LARGEST and not any(isinstance(n, Loop) for n in inside)


def _farthest(cuts: Sequence[LinearForm]) -> LinearForm | None:
    """Return the largest of forms that differ by constants; None if there are others, or none."""
    if not cuts or any(cut.terms != cuts[0].terms for cut in cuts):
        return None
    return max(cuts, key=lambda cut: cut.constant)
