"""`split_argmax`: the greatest value, and then its place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import NoSuchReduction, TypeNotFound, UnknownInstruction
from polygen.ir.kernel import Kernel
from tests.oracle.cases import agree_in_arrays, kernel

NAN = float("nan")


BOTH = """
    v[i], k[i] = argmax(j, a[i,j], j)  {id=find}
    w[i], l[i] = argmin(j, a[i,j], j)  {id=least}
    """


def rows(text: str = BOTH, dtype: Any = "float32", **more: Any) -> Kernel:
    knl = kernel("{ [i,j]: 0<=i<n and 0<=j<m }", text)
    return pg.add_dtypes(knl, {"a": dtype, **more})


def both(knl: Kernel) -> Kernel:
    return pg.split_argmax(pg.split_argmax(knl, "find"), "least")


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint64"])
def test_as_numpy(dtype: str) -> None:
    """Of equal values, and of several that are NaN, the first one; zeros are equal."""
    knl = both(rows(dtype=dtype))
    operations = {node.operation for insn in knl.instructions for node in insn.reductions}
    assert operations == {"max", "min"}
    run, rng = knl.executor("c"), np.random.default_rng(3)
    for n, m in ((1, 1), (5, 7), (40, 3), (0, 2)):
        a: Any = rng.integers(-3 if dtype != "uint64" else 0, 4, (n, m)).astype(dtype)
        if dtype.startswith("f"):
            a[rng.random((n, m)) < 0.1] = NAN
            a[rng.random((n, m)) < 0.1] = -0.0
            a[:1] = -np.inf
        _, (k, places, v, w) = run(a=a)
        np.testing.assert_array_equal(k, a.argmax(1))
        np.testing.assert_array_equal(places, a.argmin(1))
        np.testing.assert_array_equal(v, a.max(1))
        np.testing.assert_array_equal(w, a.min(1))


def test_results_that_are_stored_in_another_type() -> None:
    """The place is that of the value, not of what is left of it."""
    knl = rows("v[i], k[i] = argmax(j, a[i,j], j)  {id=find}", "float64", v="float32")
    a = np.array([[1.0, 1 + 1e-12, 1 + 1e-11, 1.0]])
    _, (k, v) = pg.split_argmax(knl, "find").executor("c")(a=a)
    assert (k, v) == (2, 1)


FORMS = {
    "the place alone": "k[i] = argmax(j, a[i,j], 2*j + i)[1]  {id=find}",
    "a value that is declared": "v[i], k[i] = argmax(j, a[i,j], j)  {id=find}",
    "a condition": "v[i], k[i] = argmin(j, a[i,j], j)  {id=find, if=i % 2 == 0}",
    "of what is computed": "v[i], k[i] = argmin(j, a[i,j]*a[i,j] % 5, j)  {id=find}",
    "what comes after": "v[i], k[i] = argmax(j, a[i,j], j) {id=find}\ny[i] = k[i]*v[i] {dep=find}",
}


@pytest.mark.parametrize("name", FORMS)
def test_forms(name: str) -> None:
    knl = rows(FORMS[name], "int32", **({"v": "int32"} if "declared" in name else {}))
    sizes = ({"n": 0, "m": 2}, {"n": 3, "m": 1}, {"n": 4, "m": 11})
    agree_in_arrays(knl, sizes, lambda k: pg.split_argmax(k, "find"))


def test_refused() -> None:
    def refused(text: str, dtype: str = "float32", name: str = "find") -> None:
        pg.split_argmax(rows(text, dtype), name)

    with pytest.raises(NoSuchReduction, match="two loops might round in different ways"):
        refused("v[i], k[i] = argmax(j, a[i,j]*a[i,j] + i, j)  {id=find}")
    with pytest.raises(NoSuchReduction, match="two loops might round"):
        refused("v[i], k[i] = argmax(j, a[i,j], j)  {id=find}", "float16")
    with pytest.raises(NoSuchReduction, match="places that are no integers"):
        refused("v[i], k[i] = argmax(j, a[i,j], 0.5*j)  {id=find}")
    with pytest.raises(NoSuchReduction, match="something else than the place"):
        refused("v[i] = max(j, a[i,j])  {id=find}")
    with pytest.raises(NoSuchReduction, match="something else than the place"):
        refused("v[i] = 2*argmax(j, a[i,j], j)[1]  {id=find}")
    with pytest.raises(NoSuchReduction, match="reads what it writes"):
        refused("k[i] = argmax(j, a[i,j], j + k[i])[1]  {id=find}")
    with pytest.raises(UnknownInstruction):
        refused(BOTH, name="other")
    with pytest.raises(TypeNotFound):
        pg.split_argmax(kernel("{ [j]: 0<=j<n }", "k[0] = argmax(j, a[j], j)[1]"), "insn")
