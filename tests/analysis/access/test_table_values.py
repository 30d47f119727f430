"""Subscripts and bounds from tables of constants: what the tables say is known."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.analysis.access import table_values
from polygen.errors import OutOfBounds
from polygen.ir.kernel import Kernel

X = pg.GlobalArg("x", np.float64, shape=9)
RANDOM = np.random.default_rng(17)


def table(name: str, values: Any, dtype: Any = None) -> pg.TemporaryVariable:
    return pg.TemporaryVariable(name, initializer=np.array(values, dtype), read_only=True)


def make(domains: Any, text: str, *data: Any, **more: Any) -> Kernel:
    return pg.make_kernel(domains, text, [*data, "..."], **more)


def left_open(knl: Kernel) -> list[str]:
    return [str(o) for o in pg.obligations(knl)]


def is_inside(seed: int) -> bool:
    """Check a random subscript beside all of its values; return whether these are inside."""
    random = np.random.default_rng(seed)
    values = random.integers(-1 if seed % 3 == 0 else 0, 9, 12)
    first, step, more = (int(v) for v in random.integers(0, 3, 3))
    factor = int(random.integers(1, 3)) if seed % 2 else 1
    subscript = f"{factor}*t[{step}*i + {first}] - {more}*i + {2 * more}"
    touched = [factor * int(values[step * i + first]) + more * (2 - i) for i in range(4)]
    outside = [i for i, at in enumerate(touched) if not 0 <= at < 9]
    data = table("t", values), X
    if not outside:
        assert left_open(make("{ [i]: 0<=i<4 }", f"out[i] = x[{subscript}]", *data)) == []
        return True
    with pytest.raises(OutOfBounds) as caught:
        make("{ [i]: 0<=i<4 }", f"out[i] = x[{subscript}]", *data)
    (found,) = re.findall(r"insn\[i=(\d)\] reads x\[(-?\d+)\]", caught.value.what)
    assert int(found[0]) in outside
    assert int(found[1]) == touched[int(found[0])]
    return False


def test_beside_all_instances() -> None:
    """A kernel is refused exactly if some instance is outside, and that one is named."""
    found = [is_inside(seed) for seed in range(60)]
    assert 10 < sum(found) < 50


@pytest.mark.parametrize(
    ("subscript", "data"),
    [
        ("t[u[i]]", [table("t", [8, 3, 3, 100]), table("u", [1, 2, 0])]),
        ("t[i, 1] + i", [table("t", [[99, 2], [99, 3], [99, 6]])]),
        ("min(t[i], 8)", [table("t", [0, 5, 70])]),
        ("t[i]//10", [table("t", [0, 89, 70])]),
        ("t[i] % 9", [table("t", [-1, 89, 70])]),
        ("t[i] - u[i]", [table("t", [20, 30, 40]), table("u", [19, 22, 40])]),
        ("c + i", [table("c", 6)]),
        ("t[i]", [table("t", [2, 8, 0], np.uint8)]),
    ],
)
def test_forms_of_subscripts(subscript: str, data: list[Any]) -> None:
    knl = make("{ [i]: 0<=i<3 }", f"out[i] = x[{subscript}]", X, *data)
    assert left_open(knl) == []


def test_the_size_decides() -> None:
    data = table("t", [4, 8, 9, 0]), X
    make("{ [i]: 0<=i<n }", "out[i] = x[t[i]]", *data, assumptions="n <= 2")
    with pytest.raises(OutOfBounds, match=r"for n=3, insn\[i=2\] reads x\[9\]"):
        make("{ [i]: 0<=i<n }", "out[i] = x[t[i]]", *data, assumptions="n <= 4")


def test_writes_and_other_axes() -> None:
    data = table("t", [[1, 2], [3, 8]]), pg.GlobalArg("y", np.float64, shape=(9, 2))
    with pytest.raises(OutOfBounds, match=r"insn\[i=1, j=1\] writes y\[9, 1\]"):
        make("{ [i, j]: 0<=i,j<2 }", "y[i + t[i, j], j] = 1", *data)


def test_tables_along_several_axes() -> None:
    data = table("t", [1, 0, 2]), table("u", [0, 3, 1]), pg.GlobalArg("y", np.float64, shape=(3, 3))
    with pytest.raises(OutOfBounds, match=r"insn\[i=1\] writes y\[0, 3\]"):
        make("{ [i]: 0<=i<3 }", "y[t[i], u[i]] = 1", *data)
    with pytest.raises(OutOfBounds, match=r"insn\[i=1\] writes y\[3, 0\]"):
        make("{ [i]: 0<=i<3 }", "y[u[i], t[i]] = 1", *data)


def test_beside_what_is_data() -> None:
    """What the table does not say is left open, and nothing is claimed of it."""
    given = pg.GlobalArg("p", np.int32, shape=3)
    knl = make("{ [i]: 0<=i<3 }", "out[i] = x[t[i] + p[i]]", X, given, table("t", [1, 2, 3]))
    assert left_open(knl) == ["insn: x[t[i] + p[i]] is inside of 'x': 0 <= t[i] + p[i] < 9"]
    knl = make("{ [i]: 0<=i<3 }", "out[i] = x[t[i]] {if=p[i] > 0}", X, given, table("t", [1, 2, 9]))
    assert left_open(knl) == ["insn: x[t[i]] is inside of 'x': 0 <= t[i] < 9"]


def test_long_tables_have_a_range(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_values, "_MOST_RUNS", 3)
    values = [0, 2, 1, 8, 3, 7, 4, 6, 5]
    assert left_open(make("{ [i]: 0<=i<9 }", "out[i] = x[t[i]]", X, table("t", values))) == []
    knl = make("{ [i]: 0<=i<9 }", "out[i] = x[t[i] + i//8]", X, table("t", values))
    assert len(left_open(knl)) == 1  # more than the range is not known, so nothing is refused


ROWS = ["{ [i]: 0<=i<4 }", "{ [j]: lo<=j<hi }"]
SUM = "{0} lo = start[i]\n{0} hi = start[i+1]\nout[i] = sum(j, x[j]*w[col[j]])"


@pytest.mark.parametrize("kind", ["<>", "<int64>"])
def test_bounds_of_loops(kind: str) -> None:
    """A matrix in compressed rows, of which the pattern is known."""
    start, col = [0, 2, 2, 5, 9], [0, 3, 1, 2, 3, 0, 1, 2, 3]
    knl = make(
        ROWS,
        SUM.format(kind),
        X,
        table("start", start, np.int32),
        table("col", col, np.int32),
        pg.GlobalArg("w", np.float64, shape=4),
        name="rows",
    )
    # Which of its elements a row takes is known as a range alone; col[j] is inside for all of them.
    assert left_open(knl) == []
    x, w = RANDOM.random(9), RANDOM.random(4)
    dense = np.zeros((4, 4))
    for i in range(4):
        for j in range(start[i], start[i + 1]):
            dense[i, col[j]] += x[j]
    for target in ("c", "opencl"):
        _, (out,) = knl.executor(target)(x=x, w=w)
        np.testing.assert_allclose(out, dense @ w)


@pytest.mark.parametrize(
    ("text", "last"),
    [
        (SUM.format("<int32>"), 10),  # too far
        (SUM.format("<int8>"), 9),  # perhaps another number when it is kept
        ("<> lo = start[i]\n<> hi = start[i+1] + 0*q[i]\nout[i] = sum(j, x[j]*w[col[j]])", 9),
        (
            "<> lo = start[i] {id=a}\nlo = q[i] {id=b, dep=a}\n<> hi = start[i+1]\n"
            "out[i] = sum(j, x[j]*w[col[j]]) {dep=b, inames=i}",
            9,
        ),
    ],
)
def test_bounds_that_are_left_open(text: str, last: int) -> None:
    knl = make(
        ROWS,
        text,
        X,
        table("start", [0, 2, 2, 5, last], np.int32),
        pg.GlobalArg("col", np.int32, shape=9),
        pg.GlobalArg("w", np.float64, shape=4),
    )
    assert any("x[j] is inside" in line for line in left_open(knl))


def test_a_constant_as_a_bound() -> None:
    assert left_open(make("{ [j]: 0<=j<c }", "x[j] = 1", X, table("c", 9))) == []
    assert len(left_open(make("{ [j]: 0<=j<c }", "x[j] = 1", X, table("c", 10)))) == 1
