"""Whether reads of temporaries come after a write, beside executions."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.analysis.values.sound_accesses import NOTHING
from polygen.analysis.wellformed.obligations import WRITTEN
from polygen.analysis.wellformed.read_cover import check_cover
from polygen.errors import UninitializedRead
from polygen.ir.kernel import Kernel
from tests.analysis.wellformed.unproved import LINE, array, unproved
from tests.oracle.compare import make_arguments
from tests.oracle.evaluate import OracleError
from tests.oracle.interpreter import interpret

LINES = [LINE, "{ [j]: 0<=j<n }", "{ [k]: 0<=k<3 }"]
T = pg.TemporaryVariable("t", "float64", shape=9)
FEW = "n <= 8"
SCALAR = pg.TemporaryVariable("u", "float64", shape=())

# One after the other, and whether every read sees a write.
CASES = {
    "the same element": ("t[i] = a[i]\nout[i] = t[i]", True),
    "of the next iteration": ("t[i+1] = a[i] {if=i < n-1}\nout[i] = t[i+1]", False),
    "of the iteration before": ("t[i+1] = a[i]\nout[i] = t[i]", False),
    "but for the first": ("t[i+1] = a[i]\nout[i] = if(i > 0, t[i], 0)", True),
    "a loop before": ("t[i] = a[i]\nout[j] = t[n-1-j]", True),
    "a loop before that is shorter": ("t[i] = a[i] {if=i < 2}\nout[j] = t[j]", False),
    "half of them and the rest": (
        "t[i] = a[i] {if=i < 2}\nt[i] = 2 {if=i >= 2}\nout[j] = t[j]",
        True,
    ),
    "the loop that reads is first": ("out[j] = t[j]\nt[i] = a[i]", False),
    "a scalar": ("u = a[i] {inames=i}\nout[i] = u", True),
    "a scalar that one iteration writes": ("u = a[i] {inames=i, if=i > 0}\nout[i] = u", False),
    "a scalar in a loop of none": ("u = a[j] {inames=j}\nout[0] = u {inames=, if=n > 0}", True),
    "a scalar of a loop that may be empty": ("u = a[j] {inames=j}\nout[0] = u {inames=}", False),
    "a reduction": ("t[k] = 1\nout[0] = sum(i, t[i])", False),
}


def _kernel(text: str) -> Kernel:
    with pg.without_proofs():
        return pg.make_kernel(
            LINES,
            text,
            [T, SCALAR, array("a", "n + 3"), array("out", "n + 3"), "..."],
            seq_dependencies=True,
            silenced_warnings="UnusedIname",
            assumptions=FEW,
        ).expanded


def _reads_garbage(knl: Kernel, n: int) -> bool:
    try:
        interpret(knl, make_arguments(knl, {"n": n}))
    except OracleError:
        return True
    return False


@pytest.mark.parametrize("case", CASES)
def test_reads_of_what_nothing_wrote(case: str) -> None:
    text, covered = CASES[case]
    knl = _kernel(text)
    assert any(_reads_garbage(knl, n) for n in (0, 1, 3, 5)) != covered
    if covered:
        assert list(check_cover(knl, NOTHING)) == []
        return
    with pytest.raises(UninitializedRead, match="nothing has written"):
        list(check_cover(knl, NOTHING))


def test_the_witness_is_one() -> None:
    knl = unproved(
        LINE, "t[i] = a[i] {id=w, if=i != 2}\nout[i] = t[i] {id=r, dep=w}", T, assumptions=FEW
    )
    witness = r"for n=[3-8], r\[i=2\] reads t\[2\], which nothing has written before"
    with pytest.raises(UninitializedRead, match=witness):
        list(check_cover(knl, NOTHING))


def test_data_decides() -> None:
    knl = unproved(
        LINE,
        "t[i] = a[i] {id=w, if=a[i] > 0}\nout[i] = t[i] {id=r, dep=w}",
        T,
        array("a", "n"),
        assumptions=FEW,
    )
    (owed,) = check_cover(knl, NOTHING)
    assert str(owed) == "r: t[i] was written before it is read"
    assert (owed.kind, owed.array) == (WRITTEN, "t")
    assert [r.name for r in owed.references] == ["t"]


def test_no_data_helps_where_nothing_writes() -> None:
    knl = unproved(
        LINE, "out[i] = if(a[i] > 0, t[i], 0) {id=r}", T, array("a", "n"), assumptions=FEW
    )
    with pytest.raises(UninitializedRead):
        list(check_cover(knl, NOTHING))


def test_scalars_that_bound_loops_are_read() -> None:
    text = "{first}out[i] = sum(k, a[k]) {{id=r{dep}}}"
    domains = [LINE, "{ [k]: 0<=k<count }"]
    count = pg.TemporaryVariable("count", "int32", shape=())
    data = (count, array("a", "100"), array("c", "n", dtype="int32"))
    first = "count = c[i] {id=w, inames=i}\n"
    good = unproved(domains, text.format(first=first, dep=", dep=w"), *data)
    assert list(check_cover(good, NOTHING)) == []
    with pytest.raises(UninitializedRead, match="'count' bounds a loop around"):
        list(check_cover(unproved(domains, text.format(first="", dep=""), *data), NOTHING))


def test_tables_and_arguments_are_there() -> None:
    table = pg.TemporaryVariable("t", initializer=np.arange(3.0), read_only=True)
    knl = unproved("{ [i]: 0<=i<3 }", "out[i] = t[i] + a[i]", table)
    assert list(check_cover(knl, NOTHING)) == []
