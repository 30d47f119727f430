"""What loops have added up in a variable, beside what a list of the writes says."""

from __future__ import annotations

import islpy as isl
import pytest

from polygen.analysis.equality.flow import Flow
from polygen.analysis.equality.running_sums import Running
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from tests.analysis.equality.small_kernels import at_sizes, numbers, ordered

ROWS = ["{ [i]: 0<=i<n }", "{ [k]: 0<=k<m }"]
SUM = """
for i
    <> acc = 0.0 {id=start}
    for k
        acc = acc + x[i, k] + y[k] {id=add}
    end
    out[i] = acc {id=use}
end
"""
DATA = (numbers("x", "float64", "n", "m"), numbers("y", "float64", "m"))
SIZES = [{"n": n, "m": m} for n in (0, 1, 3) for m in (0, 1, 3)]


def _summed() -> Kernel:
    return ordered(ROWS, SUM, *DATA, loop_priority="i, k")


def test_all_terms_so_far() -> None:
    knl = _summed()
    running = Running(Flow(), knl, "acc", "sum")
    assert running.holds("add")
    assert not running.holds("start")
    assert not running.holds("use")
    where = isl.Set("[n, m, __i, __k] -> { : 0 <= __i < n and 0 <= __k < m }")
    found: set[tuple[int, ...]] = set()
    for added in running.added("add", {"i": "__i", "k": "__k"}, where):
        assert [show_expression(term) for term in added.adding.rest] == ["x[i, k]", "y[k]"]
        assert show_expression(added.adding.before) == "acc"
        names = ["__i", "__k", *(added.frame.names[iname] for iname in "ik")]
        pairs = added.points
        if names[:2] == names[2:]:  # its own terms
            names = ["__i", "__k"]
            found |= {(*p, p[2], p[3]) for p in at_sizes(pairs, names, SIZES)}
        else:
            found |= at_sizes(pairs, names, SIZES)
    # In acc after instance (i, k): the terms of (i, j) for all j up to k.
    assert found == {
        (n, m, i, k, i, j)
        for n in (0, 1, 3)
        for m in (0, 1, 3)
        for i in range(n)
        for k in range(m)
        for j in range(k + 1)
    }


def test_at_no_points_nothing_else_is_added() -> None:
    running = Running(Flow(), _summed(), "acc", "sum")
    where = isl.Set("[n, m, __i, __k] -> { : __k = 0 and 0 <= __i < n and m > 0 }")
    (own,) = running.added("add", {"i": "__i", "k": "__k"}, where)
    assert own.frame.names == {"i": "__i", "k": "__k"}
    assert own.points.is_equal(where)


@pytest.mark.parametrize(
    ("text", "operation"),
    [
        ("acc = acc*x[i, k]", "product"),
        ("acc = min(acc, x[i, k])", "min"),
        ("acc = max(x[i, k], acc)", "max"),
        ("acc = x[i, k] + acc", "sum"),
    ],
)
def test_operations(text: str, operation: str) -> None:
    knl = ordered(
        ROWS, SUM.replace("acc = acc + x[i, k] + y[k]", text), DATA[0], loop_priority="i, k"
    )
    flow = Flow()
    for other in ("sum", "product", "min", "max"):
        assert Running(flow, knl, "acc", other).holds("add") == (other == operation)


@pytest.mark.parametrize(
    "text",
    [
        "acc = acc + acc",  # twice
        "acc = acc + acc*x[i, k]",  # and in another term
        "acc = 2*acc",
        "acc = abs(acc)",
        "acc = acc - acc",
        "acc, y[k] = acc + x[i, k], 1",  # two assignees
    ],
)
def test_other_updates_are_no_running_sums(text: str) -> None:
    knl = ordered(
        ROWS, SUM.replace("acc = acc + x[i, k] + y[k]", text), DATA[0], loop_priority="i, k"
    )
    assert not Running(Flow(), knl, "acc", "sum").holds("add")


def test_where_nothing_adds() -> None:
    knl = ordered("{ [i]: 0<=i<n }", "<> acc = 1.0 {id=start}\nout[i] = acc {id=use}")
    assert not Running(Flow(), knl, "acc", "sum").holds("start")
    assert not Running(Flow(), knl, "a", "sum").holds("start")  # nothing writes it


def test_not_where_data_decides() -> None:
    knl = ordered(
        "{ [i]: 0<=i<n }", "a[idx[i]] = a[idx[i]] + b[i] {id=add}", numbers("idx", "int32", "n")
    )
    flow = Flow()
    assert not Running(flow, knl, "a", "sum").holds("add")
    assert len(flow.obstacles) == 1
