"""`register_callable`: functions of the user's."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import polygen as pg
from polygen import errors
from polygen.errors import BuiltInFunction, InvalidArgument, NothingMatches
from polygen.ir.callables import ScalarCallable
from tests.lower.callables import MEAN, kernel
from tests.oracle.cases import QUIET

MEAN_OF_ONE = ScalarCallable({"same": "float64 -> float64"})


def test_register_callable() -> None:
    text = "static inline float mean_g(float a, float b) { return a; }"
    first = ScalarCallable({"mean_g": "float32, float32 -> float32"}, text)
    knl = kernel("{ [i]: 0<=i<n }", "out[i] = mean(a[i], 1)")
    new = pg.register_callable(knl, "mean", first)
    (out,) = new(a=np.arange(3, dtype=np.float32))[1]
    np.testing.assert_array_equal(out, np.arange(3, dtype=np.float32), strict=True)
    assert new.original is not None
    assert pg.replay(new.original, new.history) == new
    with pytest.raises(NothingMatches, match="nothing in kernel"):
        pg.register_callable(knl, "median", first)


@pytest.mark.parametrize("name", ["clamp", "sqrt", "step", "int32", "sum"])
def test_functions_that_are_there_already(name: str) -> None:
    """Registered or not, a call of this name means the function that is built in."""
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = f(a[i])", functions={"f": MEAN_OF_ONE})
    with pytest.raises(BuiltInFunction) as caught:
        pg.register_callable(knl, name, MEAN_OF_ONE)
    assert caught.value.what == (
        f"'{name}' is a function that kernels can call anyway, and cannot be one of your own"
    )
    assert caught.value.remedy == f"give yours another name, such as '{name}_', in the kernel, too"


def test_functions_that_are_registered_later() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = bump(a[i]) + 1", silenced_warnings=QUIET)
    with pytest.raises(errors.UnknownFunction, match="no function 'bump'") as caught:
        knl(a=np.arange(3.0))
    assert "register_callable(kernel, 'bump'" in str(caught.value.remedy)
    code = "static inline double bump_d(double x) { return x < 1 ? x : 1; }"
    bump = pg.ScalarCallable({"bump_d": "float64 -> float64"}, code)
    new = pg.register_callable(pg.split_iname(knl, "i", 4), "bump", bump)
    np.testing.assert_array_equal(new(a=np.array([0.5, 3]))[1][0], [1.5, 2])


def test_it_is_a_step() -> None:
    knl = kernel("{ [i]: 0<=i<n }", "out[i] = mean(a[i], 1)")
    first = ScalarCallable({"mean_g": "float64, float64 -> float64"})
    new = pg.register_callable(knl, "mean", first)
    assert new != knl
    with pytest.raises(NothingMatches, match="or it is this function already"):
        pg.register_callable(new, "mean", first)
    assert pg.register_callable(new, "mean", MEAN) == knl
    assert pg.parse_kernel(str(new)) == new
    assert pickle.loads(pickle.dumps(new)) == new  # noqa: S301  (of our own)
    with pytest.raises(InvalidArgument, match="which is not"):
        pg.register_callable(knl, "mean", "mean_g")  # type: ignore[arg-type]


def test_numpy_agrees() -> None:
    code = "static inline double clip_d(double x) { return x < 1 ? x : 1; }"
    clip = ScalarCallable({"clip_d": "float64 -> float64"}, code)
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = clip(a[i]) + i")
    run = pg.register_callable(knl, "clip", clip).executor("c")
    for n in (1, 2, 7):
        a = np.linspace(-2, 3, n)
        np.testing.assert_array_equal(run(a=a)[1][0], np.minimum(a, 1) + np.arange(n))
