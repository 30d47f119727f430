"""Whether two bags hold the same, beside counting what they hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import islpy as isl
import pytest

from polygen.analysis.dataflow.comparison_context import Frame
from polygen.analysis.equality.bag import Factor, Loops, Piece
from polygen.analysis.equality.bag_matching import Matching
from polygen.analysis.equality.compared_values import Value
from polygen.ir import expression as ex
from tests.analysis.equality.small_kernels import at_sizes, ordered, value
from tests.analysis.python_values import python_value

KNL = ordered("{ [i, k]: 0<=i,k<n }", "c[i, k] = a[i] + b[k] {id=s}")
SIZES = [{"n": n} for n in range(5)]
POINTS = isl.Set("[n] -> { : n >= 0 }")


@dataclass(frozen=True)
class Held:
    """A piece: the arrays and subscripts of its factors, for all values of `i` and `k`.

    Attributes:
        factors: texts such as ``a[i+1]``; ``/a[i]`` divides.
        where: for which `i` and `k`; those that it does not mention are not bound.
        number: what the factors are multiplied by.
    """

    factors: str
    where: str
    number: int = 1

    @property
    def inames(self) -> list[str]:
        return [iname for iname in "ik" if iname in self.where]

    def names(self, side: int) -> dict[str, str]:
        return {iname: f"__{side}_{iname}" for iname in "ik"}

    def values(self, side: int) -> tuple[Factor, ...]:
        frame = Frame(KNL, KNL.assignment("s"), self.names(side))
        texts = self.factors.split()
        return tuple(
            Factor(Value(value(KNL, "s", text.lstrip("/")).node, frame), text.startswith("/"))
            for text in texts
        )

    def domain(self, side: int) -> isl.Set:
        text = self.where
        for iname, name in self.names(side).items():
            text = text.replace(iname, name)
        bound = [self.names(side)[iname] for iname in self.inames]
        return isl.Set(f"[{', '.join(['n', *bound])}] -> {{ : {text} }}")

    def piece(self, side: int) -> Piece:
        bound = frozenset(self.names(side)[iname] for iname in self.inames)
        return Piece(Fraction(self.number), self.values(side), bound, self.domain(side))

    def counted(self, n: int) -> list[tuple[int, tuple[str, ...]]]:
        """Return what it holds: for each point, the number and the factors' elements, sorted."""
        names = [self.names(1)[iname] for iname in self.inames]
        found: list[tuple[int, tuple[str, ...]]] = []
        for _, *point in at_sizes(self.domain(1), names, [{"n": n}]):
            known = {"n": n, **dict(zip(self.inames, point, strict=True))}
            elements: list[str] = []
            for text in self.factors.split():
                array, index = text.rstrip("]").split("[")
                elements.append(f"{array}{python_value(index, known)}")
            found.append((self.number, tuple(sorted(elements))))
        return found


def _same_element(a: Value, b: Value, points: isl.Set) -> isl.Set:
    """Compare elements of arrays of which each holds another value."""
    if ex.name_of(a.node) != ex.name_of(b.node):
        return points.subtract(points)
    for one, other in zip(ex.index_of(a.node), ex.index_of(b.node), strict=True):
        first, second = a.frame.integer(one), b.frame.integer(other)
        assert first is not None
        assert second is not None
        points = points.intersect(first.eq_set(second))
    return points


def _proved(first: Sequence[Held], second: Sequence[Held]) -> set[int]:
    """Return the sizes for which two bags are proved to hold the same."""
    found = Matching(_same_element).same(
        [held.piece(1) for held in first], [held.piece(2) for held in second], POINTS
    )
    return {n for (n,) in at_sizes(found, [], SIZES)}


def _equal(first: Sequence[Held], second: Sequence[Held]) -> set[int]:
    """Return the sizes for which two bags hold the same, by counting."""
    bags = [
        {n: Counter(x for held in bag for x in held.counted(n)) for n in range(5)}
        for bag in (first, second)
    ]
    return {n for n in range(5) if bags[0][n] == bags[1][n]}


LINE = "0 <= i < n"
SQUARE = "0 <= i < n and 0 <= k < n"
BAGS: dict[str, tuple[list[Held], list[Held]]] = {
    "nothing": ([], []),
    "nothing and something": ([], [Held("a[i]", LINE)]),
    "the same": ([Held("a[i]", LINE)], [Held("a[k]", "0 <= k < n")]),
    "reversed": ([Held("a[i]", LINE)], [Held("a[n-1-i]", LINE)]),
    "shifted": ([Held("a[i]", LINE)], [Held("a[i-1]", "1 <= i <= n")]),
    "one too many": ([Held("a[i]", LINE)], [Held("a[i]", "0 <= i <= n")]),
    "two halves": (
        [Held("a[i]", LINE)],
        [Held("a[i]", "0 <= i < n and i < 2"), Held("a[i]", "2 <= i < n")],
    ),
    "a gap": (
        [Held("a[i]", LINE)],
        [Held("a[i]", "0 <= i < 2 and i < n"), Held("a[i]", "3 <= i < n")],
    ),
    "even and odd": (
        [Held("a[i]", "0 <= i < 2*n")],
        [Held("a[2*i]", LINE), Held("a[2*i+1]", LINE)],
    ),
    "twice and once": ([Held("a[i]", LINE), Held("a[i]", LINE)], [Held("a[i]", LINE)]),
    "other numbers": ([Held("a[i]", LINE, 2)], [Held("a[i]", LINE)]),
    "other arrays": ([Held("a[i]", LINE)], [Held("b[i]", LINE)]),
    "factors turned": ([Held("a[i] b[k]", SQUARE)], [Held("b[i] a[k]", SQUARE)]),
    "a factor divides": ([Held("a[i] /b[i]", LINE)], [Held("/b[i] a[i]", LINE)]),
    "the other divides": ([Held("a[i] /b[i]", LINE)], [Held("b[i] /a[i]", LINE)]),
    "fewer factors": ([Held("a[i] b[i]", LINE)], [Held("a[i]", LINE)]),
    "a square": ([Held("a[i] a[k]", SQUARE)], [Held("a[k] a[i]", SQUARE)]),
    "a triangle": (
        [Held("a[i] b[k]", "0 <= i <= k < n")],
        [Held("b[i] a[k]", "0 <= k <= i < n")],
    ),
    "an iname that is not in it": ([Held("a[i]", SQUARE)], [Held("a[i]", SQUARE)]),
    "as many times": ([Held("a[i]", SQUARE)], [Held("a[k]", SQUARE)]),
    "numbers alone": ([Held("", LINE, 3)], [Held("", "0 <= k < n", 3)]),
    "more numbers": ([Held("", LINE, 3)], [Held("", "0 <= k <= n", 3)]),
}


@pytest.mark.parametrize("case", BAGS)
def test_bags(case: str) -> None:
    first, second = BAGS[case]
    assert _proved(first, second) == _proved(second, first) == _equal(first, second)


@pytest.mark.parametrize("turned", [False, True])
def test_one_piece_is_not_paired_with_several(turned: bool) -> None:
    bags = [Held("a[i]", LINE)], [Held("a[i]", SQUARE)]
    first, second = bags[::-1] if turned else bags
    assert _equal(first, second) == {0, 1}
    assert {0} <= _proved(first, second) <= {0, 1}


def test_too_many_factors_are_not_compared() -> None:
    line = [Held(" ".join(f"a[i+{k}]" for k in range(count)), LINE) for count in (6, 7)]
    assert _proved([line[0]], [line[0]]) == set(range(5))
    assert _proved([line[1]], [line[1]]) == {0}


def _loops(held: Held, side: int, order: str, *, is_ordered: bool = True) -> Loops:
    (factor,) = held.values(side)
    names = tuple(held.names(side)[iname] for iname in order)
    return Loops(factor.value, names, held.domain(side), is_ordered)


def _sequence(held: Held, order: str, n: int) -> list[str]:
    """Return the elements that a reduction combines, one after the other."""
    names = [held.names(1)[iname] for iname in order]
    points = sorted(at_sizes(held.domain(1), names, [{"n": n}]))
    array, index = held.factors.rstrip("]").split("[")
    known = [dict(zip(order, point, strict=True)) for _, *point in points]
    return [f"{array}{python_value(index, {'n': n, **at})}" for at in known]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((Held("a[i]", LINE), "i"), (Held("a[k]", "0 <= k < n"), "k")),
        ((Held("a[i]", LINE), "i"), (Held("a[n-1-i]", LINE), "i")),  # backwards
        ((Held("a[i]", LINE), "i"), (Held("a[i-2]", "2 <= i < n+2"), "i")),
        ((Held("a[n*4+i]", "0 <= i < 3"), "i"), (Held("a[n*4+i]", "0 <= i < 4"), "i")),
        ((Held("a[8*i+k]", SQUARE), "ik"), (Held("a[8*i+k]", SQUARE), "ik")),
        ((Held("a[8*i+k]", SQUARE), "ik"), (Held("a[8*i+k]", SQUARE), "ki")),
        ((Held("a[8*i+k]", SQUARE), "ik"), (Held("a[i+8*k]", SQUARE), "ki")),
        (
            (Held("a[i]", "0 <= i < 8"), "i"),
            (Held("a[4*i+k]", "0 <= i < 2 and 0 <= k < 4"), "ik"),
        ),
        ((Held("a[i]", LINE), "i"), (Held("b[i]", LINE), "i")),
    ],
)
def test_reductions_in_order(first: tuple[Held, str], second: tuple[Held, str]) -> None:
    found = Matching(_same_element).same_in_order(
        _loops(first[0], 1, first[1]), _loops(second[0], 2, second[1]), POINTS
    )
    wanted = {n for n in range(5) if _sequence(*first, n) == _sequence(*second, n)}
    assert {n for (n,) in at_sizes(found, [], SIZES)} == wanted


def test_inames_that_are_no_loops_have_no_order() -> None:
    held = Held("a[i]", LINE)
    loops = [_loops(held, 1, "i"), _loops(held, 2, "i", is_ordered=False)]
    for first, second in (loops, loops[::-1]):
        assert Matching(_same_element).same_in_order(first, second, POINTS).is_empty()
