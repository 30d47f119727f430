"""The interpreters themselves: right where NumPy knows the answer, and strict."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.analysis.order.loop_tree import BarrierNode
from polygen.lower import lower as lowering
from tests.oracle.cases import grid, kernel, lowered, steps, tag
from tests.oracle.cells import Cells, Who
from tests.oracle.evaluate import OracleError
from tests.oracle.interpreter import interpret
from tests.oracle.machine import execute
from tests.oracle.overlaps import overlapping
from tests.oracle.trace import traced

RANDOM = np.random.default_rng(1)


def _out(knl: pg.Kernel, seed: int = 0, **arguments: Any) -> Any:
    return interpret(knl, arguments, seed).arrays["out"]


@pytest.mark.parametrize("seed", [0, 1])
def test_a_matrix_product(seed: int) -> None:
    knl = kernel("{ [i,j,k]: 0<=i,j,k<n }", "out[i,j] = sum(k, a[i,k]*b[k,j])")
    knl = steps(grid("i", 2), grid("j", 3, axis=1))(knl)
    a, b = (RANDOM.integers(-5, 6, (5, 5)).astype(np.float32) for _ in "ab")
    out = _out(knl, seed, a=a, b=b, out=np.zeros((5, 5), np.float32), n=5)
    np.testing.assert_array_equal(out, a @ b, strict=True)


def test_a_recurrence_runs_upward() -> None:
    knl = kernel("{ [i]: 1<=i<n }", "out[i] = out[i-1] + out[i]")
    np.testing.assert_array_equal(_out(knl, out=np.arange(9.0), n=9), np.arange(9.0).cumsum())


def test_sparse_rows() -> None:
    knl = kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: start<=j<stop }"],
        """
        <int32> start = row[i]
        <int32> stop = row[i+1]
        out[i] = sum(j, value[j]*x[column[j]])
        """,
        *(pg.GlobalArg(name, shape=(6,)) for name in ("value", "column", "x")),
    )
    dense = np.array([[1.0, 0, 2], [0, 0, 0], [3, 4, 5]])
    rows, columns = np.nonzero(dense)
    x = np.array([1.0, 10, 100])
    arguments: dict[str, Any] = {
        "row": np.searchsorted(rows, np.arange(4)).astype(np.int32),
        "value": dense[rows, columns],
        "column": columns,
        "x": x,
    }
    for step in grid("i", 2), tag(i="g.0"):
        out = _out(step(knl), out=np.zeros(3), n=3, **arguments)
        np.testing.assert_array_equal(out, dense @ x)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.float32])
def test_types_are_numpys(dtype: type) -> None:
    knl = kernel("{ [i]: 0<=i<n }", "out[i] = (2*a[i] + i) // 3 + if(i > 2, a[i] / 2, a[i])")
    a: Any = RANDOM.integers(-9, 9, 7).astype(dtype)
    values = [
        (2 * v + i) // 3 + (v / 2 if i > 2 else (v / 2).dtype.type(v)) for i, v in enumerate(a)
    ]
    np.testing.assert_array_equal(_out(knl, a=a, out=np.zeros(7), n=7), values)


def test_unsigned_numbers_are_subtracted_as_numpys() -> None:
    names = ("less", "negative", "negated")
    lines = "less[i] = x[i] - y[i]\nnegative[i] = -y[i]\nnegated[i] = -y[i] + x[i]"
    outputs = [pg.GlobalArg(name, np.int32) for name in names]
    knl = kernel("{ [i]: 0<=i<n }", lines, *outputs)
    x: Any = RANDOM.integers(-99, 99, 9).astype(np.int32)
    y: Any = RANDOM.integers(1, 255, 9).astype(np.uint8)
    arguments: dict[str, Any] = {
        "x": x,
        "y": y,
        "n": 9,
        **{n: np.zeros(9, np.int32) for n in names},
    }
    found = interpret(knl, arguments).arrays
    for name, expected in zip(names, (x - y, -y, -y + x), strict=True):
        np.testing.assert_array_equal(found[name], expected)


def test_each_instance_is_counted() -> None:
    marked = traced(kernel("{ [i,j]: 0<=j<=i<n }", "out[i] = sum(j, 1.0)"))
    outcome = interpret(marked.kernel, {"out": np.zeros(3), "n": 3})
    assert set(outcome.events.values()) == {1}
    assert {e for e in outcome.events if e[0] == 0} == {
        (0, (i, j)) for i in range(3) for j in range(i + 1)
    }
    assert {e for e in outcome.events if e[0] == 1} == {(1, (i,)) for i in range(3)}


def test_a_seed_picks_an_order() -> None:
    """Of instances that are not ordered, another one comes last."""
    with pg.without_proofs():
        knl = tag(i="g.0")(
            kernel("{ [i]: 0<=i<9 }", "out[0] = i*1.0", pg.GlobalArg("out", shape=(1,)))
        )
    assert len({float(_out(knl, seed, out=np.zeros(1))[0]) for seed in range(20)}) > 3


def test_what_must_not_be_read_or_touched() -> None:
    with pg.without_proofs():
        unwritten = kernel("{ [i]: 0<=i<n }", "<> t = a[i]  {if=i > 0}\nout[i] = t")
        outside = kernel("{ [i]: 0<=i<n }", "out[i] = a[i+1]", pg.GlobalArg("a", shape=("n",)))
    arrays = {"a": np.ones(3), "out": np.zeros(3)}
    with pytest.raises(OracleError, match="read before it is written"):
        interpret(unwritten, {**arrays, "n": 3})
    with pytest.raises(OracleError, match=r"a\[3\] is outside"):
        interpret(outside, {**arrays, "n": 3})


def test_reductions_in_reductions_add_up_in_the_loops_that_others_stand_in() -> None:
    lines = "t = a[i,j]  {id=t, inames=i:j, dep=*}\nout[0] = sum(i, sum(j, t))  {inames=, dep=*t}"
    knl = kernel("{ [i,j]: 0<=i<3 and 0<=j<4 }", lines, pg.TemporaryVariable("t"), "...")
    values = np.arange(12.0).reshape(3, 4)
    assert _out(knl, a=values, out=np.zeros(1)) == values.sum()


def test_what_is_not_asked_for_is_not_reduced() -> None:
    """Neither beside other instructions: `t` is not written where i is 0."""
    lines = """t[j] = a[i,j]  {id=t, if=i > 0, inames=i:j, dep=*}
        out[i] = if(i > 0, sum(j, t[j]), 7)  {inames=i, dep=*t}""".replace("        ", "")
    with pg.without_proofs():
        knl = kernel(
            "{ [i,j]: 0<=i<3 and 0<=j<4 }", lines, pg.TemporaryVariable("t", shape=4), "..."
        )
    values = np.arange(12.0).reshape(3, 4)
    expected = np.where(np.arange(3) > 0, values.sum(axis=1), 7)
    np.testing.assert_array_equal(_out(knl, a=values, out=np.zeros(3)), expected)


def test_both_results_of_a_reduction_in_a_loop_that_others_stand_in() -> None:
    t = pg.TemporaryVariable("t", "float64", (3, 5))
    best, where = pg.GlobalArg("best", "float64", (3,)), pg.GlobalArg("where", "int32", (3,))
    lines = """
        t[i, j] = 2*a[i, j]                          {id=t}
        best[i], where[i] = argmax(j, t[i, j], j)    {id=best, dep=t}
        out[i] = sum(j, t[i, j])*sum(j, t[i, j])     {id=out, dep=t}
        """
    knl = kernel(["{ [i]: 0<=i<3 }", "{ [j]: 0<=j<5 }"], lines, t, best, where)
    a: Any = RANDOM.permutation(15).reshape(3, 5).astype(np.float64)
    outputs: dict[str, Any] = {"best": np.zeros(3), "where": np.zeros(3, np.int32)}
    found = interpret(knl, {"a": a, "out": np.zeros(3), **outputs}).arrays
    np.testing.assert_array_equal(found["best"], 2 * a.max(axis=1))
    np.testing.assert_array_equal(found["where"], a.argmax(axis=1))
    np.testing.assert_array_equal(found["out"], (2 * a.sum(axis=1)) ** 2)


def test_a_condition_that_adds_up_in_a_loop_that_others_stand_in() -> None:
    t = pg.TemporaryVariable("t", "float64", (3, 5))
    lines = """
        t[i, j] = 2*a[i, j]      {id=t}
        out[i] = sum(j, t[i, j]) {id=out, dep=t, if=sum(j, t[i, j]) > 20, if=i < 2}
        """
    knl = kernel(["{ [i]: 0<=i<3 }", "{ [j]: 0<=j<5 }"], lines, t)
    a: Any = np.arange(15.0).reshape(3, 5)
    np.testing.assert_array_equal(_out(knl, a=a, out=np.zeros(3)), [0, 70, 0])


@pytest.mark.parametrize("shift", [0, 1, -2])
def test_arrays_that_overlap(shift: int) -> None:
    knl = kernel("{ [i]: 0<=i<6 }", "out[i] = a[i] + 1", pg.GlobalArg("out", may_alias=True))
    called = overlapping({"a": np.arange(6.0), "out": np.zeros(6)}, "a", "out", shift)
    assert np.shares_memory(called["a"], called["out"])
    before = {name: array.copy() for name, array in called.items()}
    found = interpret(knl, called).arrays
    for name, array in called.items():
        np.testing.assert_array_equal(array, before[name])  # arguments are not changed
    for i in range(6):
        called["out"][i] = called["a"][i] + 1
    for name, array in called.items():
        np.testing.assert_array_equal(found[name], array)


def test_races() -> None:
    first, second = Who((0,), (0,)), Who((0,), (1,))
    cells = Cells("a", np.dtype(np.float64), 4)
    cells.write(0, 1.0, first)
    with pytest.raises(OracleError, match="a race"):
        cells.read(0, second)
    assert cells.read(0, second.after_barrier()) == 1.0
    with pytest.raises(OracleError, match="a race"):  # a barrier is for one group
        cells.read(0, Who((1,), (0,)).after_barrier())
    with pytest.raises(OracleError, match="before it is written"):
        cells.read(1, first)


def test_a_loop_program_without_its_barrier_is_a_race(monkeypatch: pytest.MonkeyPatch) -> None:
    knl = kernel(
        "{ [i,j]: 0<=i,j<16 }",
        "t[i] = a[i]  {id=w}\nout[j] = t[15-j]  {dep=w}",
        pg.TemporaryVariable("t", shape=(16,), address_space=pg.AddressSpace.LOCAL),
    )
    knl = tag(i="l.0", j="l.0")(knl)
    arguments = {"a": np.arange(16, dtype=np.float32), "out": np.zeros(16, np.float32)}
    outcome = execute(lowered(knl), arguments)
    np.testing.assert_array_equal(outcome.arrays["out"], arguments["a"][::-1])

    def without(_: Any, tree: Any) -> Any:
        return tuple(node for node in tree if not isinstance(node, BarrierNode))

    monkeypatch.setattr(lowering, "place_barriers", without)
    with pytest.raises(OracleError, match=r"a race for t|t.* before it is written"):
        execute(lowered(knl), arguments)
