"""`absorb_identity`: variables that begin with 0, or 1, and what is combined with them."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import polygen as pg
from polygen.errors import NotAnAccumulation, UnknownInstruction
from tests.oracle.cases import agree_in_arrays, kernel

DOMAIN = "{ [i,k]: 0<=i<n and 0<=k<m }"
A = pg.GlobalArg("a", np.float64, "n, m")


def summed(
    start: str = "t = 0  {id=start}",
    add: str = "t = t + sum(k, a[i,k])  {id=add, dep=start}",
    end: str = "out[i] = 2*t  {id=out, dep=add}",
    dtype: str = "float64",
) -> pg.Kernel:
    lines = "\n".join((start, add, end))
    text = f"for i\n{lines}\nend"
    out = pg.GlobalArg("out", np.float64, "n")
    return kernel(DOMAIN, text, A, out, pg.TemporaryVariable("t", dtype))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_same_values(dtype: str) -> None:
    for start, add in (
        ("t = 0  {id=start}", "t = t + sum(k, a[i,k])  {id=add, dep=start}"),
        ("t = 0.0  {id=start}", "t = sum(k, a[i,k]) + t  {id=add, dep=start}"),
        ("t = 1  {id=start}", "t = t*product(k, a[i,k])  {id=add, dep=start}"),
    ):
        knl = summed(start, add, dtype=dtype)
        new = pg.absorb_identity(knl, "add")
        assert "start" not in new.instructions_by_id
        sizes = [{"n": n, "m": m} for n, m in ((0, 2), (1, 0), (3, 4))]
        agree_in_arrays(knl, sizes, partial(_instead, new))


def _instead(new: pg.Kernel, _: pg.Kernel) -> pg.Kernel:
    return new


def test_an_element_of_an_argument() -> None:
    knl = kernel(
        DOMAIN,
        "out[i] = 0  {id=start}\nout[i] = out[i] + sum(k, a[i,k])  {id=add, dep=start}",
        A,
        pg.GlobalArg("out", np.float64, "n"),
    )
    new = pg.absorb_identity(knl, "add")
    assert [str(value) for insn in new.assignments for value in insn.values] == ["sum(k, a[i, k])"]
    agree_in_arrays(knl, [{"n": 3, "m": 2}, {"n": 2, "m": 0}], lambda _: new)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"add": "t = t + a[i,0]  {id=add, dep=start}"}, "does not combine an element with a red"),
        ({"add": "t = t + max(k, a[i,k])  {id=add, dep=start}"}, "does not combine an element"),
        ({"add": "t = t + sum(k, t*a[i,k])  {id=add, dep=start}"}, "what it adds up reads 't'"),
        ({"add": "t = t + sum(k, a[i,k]) {id=add, dep=start, if=i > 2}"}, "has a condition"),
        ({"start": "t = 1  {id=start}"}, "'start' does not store what changes nothing"),
        ({"start": "t = -0.0  {id=start}"}, "'start' does not store what changes nothing"),
        ({"start": "t = 0  {id=start, if=i > 2}"}, "not written by one other instruction"),
        ({"end": "out[i] = t  {id=out, dep=start}", "add": "t = t + sum(k, a[i,k]) "
          "{id=add, dep=out}"}, "'out' reads 't' before it"),
        ({"end": "t = t + 1  {id=more, dep=add}\nout[i] = t  {dep=more}"}, "not written by one"),
    ],
)  # fmt: skip
def test_refused(changed: dict[str, str], why: str) -> None:
    with pg.without_proofs():
        knl = summed(**changed)
    with pytest.raises(NotAnAccumulation, match=why):
        pg.absorb_identity(knl, "add")


def test_what_comes_later_is_no_start() -> None:
    knl = summed("t = 3  {id=start}", "t = t + sum(k, a[i,k])  {id=add, dep=start}")
    with pytest.raises(UnknownInstruction):
        pg.absorb_identity(knl, "none")
    later = kernel(
        DOMAIN,
        "out[i] = out[i] + sum(k, a[i,k])  {id=add}\nout[i] = 0  {id=start, dep=add}",
        A,
        pg.GlobalArg("out", np.float64, "n"),
    )
    with pytest.raises(NotAnAccumulation, match="'start' does not come before it"):
        pg.absorb_identity(later, "add")
