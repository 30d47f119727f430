"""Loops distributed over statements: what each may have in parallel."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.analysis.dataflow.statement_parallelism import parallel_loops_by_statement
from polygen.ir.kernel import Kernel


def nest(text: str, inames: str, domain: str) -> Kernel:
    return pg.make_kernel(
        domain,
        f"for {inames}\n{text}\nend",
        seq_dependencies=True,
        loop_priority=inames if "," in inames else None,
    )


def found(knl: Kernel) -> dict[str, tuple[str, ...]]:
    return dict(parallel_loops_by_statement(knl, pg.dependences(knl)))


def test_a_chain_is_distributed() -> None:
    knl = nest("a[i] = b[i] {id=s}\nc[i] = a[i-1] {id=u}", "i", "{ [i]: 1<=i<n }")
    assert pg.dependences(knl)[0].carried_by is not None
    assert found(knl) == {"s": ("i",), "u": ("i",)}


def test_a_cycle_is_not() -> None:
    knl = nest("a[i] = b[i-1] {id=s}\nb[i] = a[i] {id=u}", "i", "{ [i]: 1<=i<n }")
    assert found(knl) == {"s": (), "u": ()}


def test_a_cycle_through_a_third_statement() -> None:
    text = "a[i] = c[i-1] {id=s}\nb[i] = a[i] {id=u}\nc[i] = b[i] {id=v}\nd[i] = c[i] {id=w}"
    knl = nest(text, "i", "{ [i]: 1<=i<n }")
    assert found(knl) == {"s": (), "u": (), "v": (), "w": ("i",)}


def test_imperfect_nests() -> None:
    text = "a[i] = a[i-1] + 1 {id=s}\nfor j\nb[i,j] = b[i,j-1] + a[i] {id=u}\nend"
    knl = nest(text, "i", "{ [i,j]: 1<=i<n and 1<=j<n }")
    assert found(knl) == {"s": (), "u": ("i",)}


LISTING_2 = """
a[i + p1, j, k, m] = b[i, j, k, m]*c[i, j, k, m]  {id=S1}
b[i, j + p2, k, m] = a[i, j, k, m] + b[i, j + p3, k, m]  {id=S2}
"""


@pytest.mark.parametrize(
    ("values", "first", "second"),
    [
        ((0, 1, -2), "ikm", "ikm"),
        ((1, 1, -1), "jkm", "km"),
        ((10, 99, -1), "ijkm", "ijkm"),
    ],
)
def test_four_loops_with_three_unknown_distances(
    values: tuple[int, int, int], first: str, second: str
) -> None:
    """ALPyNA's Listing 2, rebuilt from what the paper says of it, for the values it names.

    The dependence graphs of its figures 3 and 4, and the parallel loops that it derives.
    """
    p1, p2, p3 = values
    shape = [pg.GlobalArg(x, np.float64, shape="w, h, km, mm") for x in "ab"]
    text = LISTING_2.replace("[i", "[i + p").replace(", j", ", j + q")
    knl = pg.make_kernel(
        "{ [i,j,k,m]: 0<=i<im and 0<=j<jm and 0<=k<km and 0<=m<mm }",
        f"for i, j, k, m\n{text.replace('c[i + p, j + q', 'c[i, j')}\nend",
        [*shape, "..."],
        assumptions="0<=p and 0<=p+p1 and p+im<=w and p+p1+im<=w and 0<=q and 0<=q+p2 and 0<=q+p3 "
        "and q+jm<=h and q+p2+jm<=h and q+p3+jm<=h",
        seq_dependencies=True,
        loop_priority="i, j, k, m",
    )
    sizes = {"im": 10, "jm": 100, "km": 100, "mm": 100, "p1": p1, "p2": p2, "p3": p3}
    sizes |= {"p": 200, "q": 200, "w": 1000, "h": 1000}
    conditions = pg.parallel_conditions(knl)
    loops = conditions.by_statement(**sizes)
    assert loops == {"S1": tuple(first), "S2": tuple(second)}
    # Solved again for these values alone, it is the same.
    assert found(pg.fix_parameters(knl, **sizes)) == loops
