"""What sums and the like are taken apart into: pieces, beside lists of terms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import islpy as isl
import pytest

from polygen.analysis.equality.bag import Factor, Level, Piece
from polygen.analysis.equality.compared_values import Value
from polygen.analysis.equality.data_bounds import Bounds
from polygen.analysis.equality.flow import Flow
from polygen.analysis.equality.pieces import Pieces, combining
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from tests.analysis.equality.small_kernels import SUMMED, at_sizes, numbers, ordered, value

INSIDE = isl.Set("[n, m, __i] -> { : 0 <= __i < n }")
DATA = (
    *(numbers(name, "float64", "n") for name in ("a", "b", "c")),
    *(numbers(name, "float64", "n", "m") for name in ("x", "y")),
    numbers("idx", "int64", "n"),
)
SUM = "a[i] + b[i] + c[i] + sum(k, x[i, k]*y[i, k]) + idx[i]"
KNL = ordered(SUMMED, f"out[i] = {SUM} {{id=s}}", *DATA)


def _none(_a: Value, _b: Value, points: isl.Set) -> isl.Set:
    return points.subtract(points)


def _pieces(knl: Kernel) -> Pieces:
    flow = Flow()
    return Pieces(flow, Bounds(knl, _none, flow.names))


def _shown(factors: Sequence[Factor]) -> str:
    """Return the factors in the order of the alphabet."""
    shown = [("1/" if f.divides else "") + show_expression(f.value.node) for f in factors]
    return " * ".join(sorted(shown))


def _found(
    text: str, level: Level = Level.WRITTEN, operation: str = "sum", knl: Kernel = KNL
) -> list[tuple[float, str]]:
    pieces = _pieces(knl).of(value(knl, "s", text, i="__i"), operation, INSIDE, level)
    assert pieces is not None
    return sorted((float(p.number), _shown(p.factors)) for p in pieces)


@pytest.mark.parametrize(
    ("text", "operation"),
    [
        ("a[i] + b[i]", "sum"),
        ("a[i]*b[i]", "product"),
        ("a[i]/b[i]", "product"),
        ("a[i]**3", "product"),
        ("a[i]**8", "product"),
        ("a[i]**9", None),  # too many factors
        ("a[i]**0.5", None),
        ("a[i]**b[i]", None),
        ("min(a[i], b[i])", "min"),
        ("max(a[i], b[i])", "max"),
        ("sum(k, x[i, k])", "sum"),
        ("product(k, x[i, k])", "product"),
        ("any(k, x[i, k] > 0)", "any"),
        ("a[i]", None),
        ("2", None),
        ("sin(a[i])", None),
    ],
)
def test_operations_that_combine(text: str, operation: str | None) -> None:
    assert combining(value(KNL, "s", text, i="__i")) == operation


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a[i]", [(1, "a[i]")]),
        ("a[i] + (b[i] + a[i])", [(1, "a[i]"), (1, "a[i]"), (1, "b[i]")]),
        ("a[i] - b[i]", [(-1, "b[i]"), (1, "a[i]")]),
        ("-(a[i] - b[i])", [(-1, "a[i]"), (1, "b[i]")]),
        ("1 + a[i] + 2", [(1, "a[i]"), (3, "")]),
        ("2 + a[i] - 2", [(1, "a[i]")]),
        ("2*a[i]*b[i]*3", [(6, "a[i] * b[i]")]),
        ("a[i]/4", [(0.25, "a[i]")]),
        ("a[i]*(b[i]/c[i])", [(1, "1/c[i] * a[i] * b[i]")]),
        ("a[i]/(b[i]/c[i])", [(1, "1/b[i] * a[i] * c[i]")]),
        ("a[i]**2", [(1, "a[i] * a[i]")]),
        ("2*(a[i] + b[i])", [(2, "a[i] + b[i]")]),
        ("sin(a[i] + b[i])", [(1, "sin(a[i] + b[i])")]),
        ("min(a[i], b[i])", [(1, "min(a[i], b[i])")]),
    ],
)
def test_sums_as_written(text: str, wanted: list[tuple[float, str]]) -> None:
    assert _found(text) == wanted


def test_products_of_sums_are_multiplied_out_at_the_last_level_only() -> None:
    text = "2*(a[i] + b[i])*c[i]"
    assert len(_found(text)) == len(_found(text, Level.FOLLOWED)) == 1
    assert _found(text, Level.DISTRIBUTED) == [(2, "a[i] * c[i]"), (2, "b[i] * c[i]")]
    # Of several sums, the first: the others are factors.
    text = "(a[i] + b[i])*(a[i] - c[i])"
    wanted = [(1, "a[i] * a[i] - c[i]"), (1, "a[i] - c[i] * b[i]")]
    assert _found(text, Level.DISTRIBUTED) == wanted


@pytest.mark.parametrize(
    ("text", "operation", "wanted"),
    [
        ("a[i]*(b[i]*2)/c[i]", "product", [(1, "1/c[i]"), (1, "a[i]"), (1, "b[i]"), (2, "")]),
        ("a[i]/(b[i]*4)", "product", [(0.25, ""), (1, "1/b[i]"), (1, "a[i]")]),
        ("2*a[i]*0.5", "product", [(1, "a[i]")]),
        ("a[i] + b[i]", "product", [(1, "a[i] + b[i]")]),
        ("min(a[i], min(b[i], a[i]))", "min", [(1, "a[i]"), (1, "a[i]"), (1, "b[i]")]),
        ("min(a[i], max(b[i], c[i]))", "min", [(1, "a[i]"), (1, "max(b[i], c[i])")]),
        ("max(a[i], max(b[i], c[i]))", "max", [(1, "a[i]"), (1, "b[i]"), (1, "c[i]")]),
    ],
)
def test_other_operations(text: str, operation: str, wanted: list[tuple[float, str]]) -> None:
    assert _found(text, operation=operation) == wanted


def test_integers_wrap_around_in_their_own_type() -> None:
    """A sum of integers in a sum of floating-point numbers is one term: it is of another type."""
    assert _found("a[i] + (idx[i] + idx[i])") == [(1, "a[i]"), (1, "idx[i] + idx[i]")]
    assert _found("idx[i] + (idx[i] + 2)") == [(1, "idx[i]"), (1, "idx[i]"), (2, "")]


def _by_point(pieces: Sequence[Piece], n: int, m: int) -> dict[int, Counter[str]]:
    """Return how often each product of factors is added up, by `i`."""
    found: dict[int, Counter[str]] = {}
    for piece in pieces:
        own = sorted(piece.bound)
        names = ["__i", *own]
        for point in at_sizes(piece.where, names, [{"n": n, "m": m}]):
            count = found.setdefault(point[2], Counter())
            count[_shown(piece.factors)] += 1
    return found


def test_choices_and_reductions_have_pieces_at_their_points() -> None:
    text = "if(i < 2, a[i], b[i]) + sum(k, x[i, k])"
    pieces = _pieces(KNL).of(value(KNL, "s", text, i="__i"), "sum", INSIDE, Level.WRITTEN)
    assert pieces is not None
    for n, m in ((0, 2), (1, 0), (4, 3)):
        wanted = {i: Counter({"a[i]" if i < 2 else "b[i]": 1, "x[i, k]": m}) for i in range(n)}
        assert _by_point(pieces, n, m) == {i: +count for i, count in wanted.items()}


LOOP = """
for i
    <> acc = 2*b[i] {id=start}
    for k
        acc = acc + x[i, k] {id=add}
    end
    out[i] = acc + a[i] {id=s}
end
"""


def test_partial_sums_that_were_stored() -> None:
    knl = ordered(SUMMED, LOOP, *DATA, loop_priority="i, k")
    assert _found("acc + a[i]", knl=knl) == [(1, "a[i]"), (1, "acc")]
    whole = value(knl, "s", i="__i")
    pieces = _pieces(knl).of(whole, "sum", INSIDE, Level.FOLLOWED)
    assert pieces is not None
    assert {(float(p.number), _shown(p.factors)) for p in pieces} == {
        (1, "a[i]"),
        (2, "b[i]"),
        (1, "x[i, k]"),
    }
    for n, m in ((0, 2), (2, 0), (3, 1), (2, 3)):
        wanted = {i: +Counter({"a[i]": 1, "b[i]": 1, "x[i, k]": m}) for i in range(n)}
        assert _by_point(pieces, n, m) == wanted


def test_what_data_decides_stays_whole() -> None:
    knl = ordered(SUMMED, "c[idx[i]] = a[i] + b[i]\nout[i] = c[i] + 1 {id=s}", *DATA)
    assert _found("c[i] + 1", Level.FOLLOWED, knl=knl) == [(1, ""), (1, "c[i]")]


def test_too_many_pieces() -> None:
    for count in (40, 45):
        text = " + ".join(f"a[i]**{1 + number % 8}*b[i]" for number in range(count))
        whole = value(KNL, "s", text, i="__i")
        found = _pieces(KNL).of(whole, "sum", INSIDE, Level.WRITTEN)
        assert (found is not None and len(found)) == (40 if count == 40 else False)


def test_at_no_points_there_are_no_pieces() -> None:
    nowhere = INSIDE.subtract(INSIDE)
    whole = value(KNL, "s", "a[i] + b[i]", i="__i")
    assert _pieces(KNL).of(whole, "sum", nowhere, Level.WRITTEN) == []


def test_loops_of_reductions() -> None:
    pieces = _pieces(KNL)
    loops = pieces.loops(value(KNL, "s", "sum(k, x[i, k]*y[i, k])", i="__i"), INSIDE)
    assert show_expression(loops.value.node) == "x[i, k]*y[i, k]"
    (k,) = loops.names
    assert loops.is_ordered
    assert loops.value.frame.names == {"i": "__i", "k": k}
    found = at_sizes(loops.where, ["__i", k], [{"n": n, "m": m} for n in (0, 2) for m in (0, 3)])
    assert found == {(2, 3, i, k) for i in range(2) for k in range(3)}
