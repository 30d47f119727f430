"""Sizes that shapes of arrays tell: factors of products, roots, and those that nothing tells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import MissingArgument, NegativeSize, WrongShape
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel

ROWS = np.arange(15.0).reshape(3, 5)
FLAT = ROWS.ravel()
BOX = np.arange(24.0).reshape(2, 3, 4)
IN_TWO = "{ [i,j]: 0<=i<n and 0<=j<m }"
IN_THREE = "{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<p }"


def made(domain: str, text: str, **shapes: str) -> Kernel:
    given = [pg.GlobalArg(name, "float64", shape) for name, shape in shapes.items()]
    knl = kernel(domain, text, *given, target="c")
    untyped = [a.name for a in knl.arguments if a.name in ("a", "b", "c") and a.dtype is None]
    return pg.add_dtypes(knl, dict.fromkeys(untyped, "float64"))


TWICE = made("{ [i]: 0<=i<n*m }", "b[i] = 2*a[i]")
# The kernel, what a call is given, and the only result.
CALLS: list[tuple[Kernel, dict[str, Any], Any]] = [
    (TWICE, {"a": FLAT, "n": 3}, 2 * FLAT),
    (TWICE, {"a": FLAT, "m": np.int64(5)}, 2 * FLAT),
    (TWICE, {"a": np.zeros(0), "n": 0, "m": 7}, np.zeros(0)),
    (made("{ [i]: 0<=i<n*n }", "b[i] = 2*a[i]"), {"a": FLAT[:9]}, 2 * FLAT[:9]),
    (made("{ [i]: 0<=i<n*n }", "b[i] = 2*a[i]"), {"a": FLAT[:0]}, FLAT[:0]),
    (made("{ [i]: 0<=i<n*n*m }", "b[i] = 2*a[i]"), {"a": FLAT[:12], "m": 3}, 2 * FLAT[:12]),
    (made("{ [i]: 0<=i<2*n*n+1 }", "b[i] = 2*a[i]"), {"a": FLAT[:9]}, 2 * FLAT[:9]),
    (made("{ [i]: 0<=i<n*m }", "b[i] = a[i//m, i%m]*c[i//m]"), {"a": ROWS, "c": ROWS[:, 1]},
     (ROWS * ROWS[:, 1:2]).ravel()),
    (made(IN_TWO, "b[i*m + j] = a[i,j]", a="n, m"), {"a": ROWS}, FLAT),
    (made(IN_TWO, "b[i*m + j] = a[i,j]", a="n, m"), {"a": ROWS[:, :0]}, FLAT[:0]),
    (made(IN_TWO, "b[j*n + i] = a[i,j]", a="n, m"), {"a": ROWS}, ROWS.T.ravel()),
    (made(IN_TWO, "b[i,j] = a[i*m + j]"), {"a": FLAT, "b": np.zeros((3, 5))}, ROWS),
    (made(IN_THREE, "b[i*m*p + j*p + k] = a[i,j,k]", a="n, m, p"), {"a": BOX}, BOX.ravel()),
    (made(IN_THREE, "b[(i*m + j)*p + k] = a[i,j,k]", a="n, m, p"), {"a": BOX}, BOX.ravel()),
    (made("{ [i]: 1<=i<n*m }", "b[i-1] = a[i]", a="n*m", b="n*m - 1"),
     {"a": np.zeros(0), "b": np.zeros(0), "n": 0, "m": 5}, np.zeros(0)),
]  # fmt: skip


@pytest.mark.parametrize(("knl", "given", "expected"), CALLS)
def test_factors_of_products(knl: Kernel, given: dict[str, Any], expected: Any) -> None:
    _, (found,) = knl(**given)
    np.testing.assert_array_equal(found, expected)


def test_on_a_device_with_groups() -> None:
    knl = made(IN_TWO, "b[i*m + j] = a[i,j]", a="n, m").copy(target="opencl")
    knl = pg.split_iname(
        pg.join_inames(knl, ["i", "j"]), "i_j", 4, outer_tag="g.0", inner_tag="l.0"
    )
    _, (found,) = knl(a=ROWS)
    np.testing.assert_array_equal(found, FLAT)


def test_rows_of_another_length_tell_nothing() -> None:
    """Then the array says how long it is, and each row begins where the caller says."""
    knl = made(IN_TWO, "b[i,j] = a[i*lda + j]")
    assert [str(extent) for extent in knl.array("a").shape or ()] == ["a_len"]
    a = np.arange(20.0)
    _, (found,) = knl(a=a, n=3, m=5, lda=6)
    np.testing.assert_array_equal(found, np.stack([a[0:5], a[6:11], a[12:17]]))


REFUSED: list[tuple[dict[str, Any], type[pg.UserError], str]] = [
    ({"a": FLAT}, MissingArgument, "needs a value of 'm', which does not follow"),
    ({"a": FLAT, "n": 4}, WrongShape, r"no integer 'm' makes n\*m equal to 15"),
    ({"a": FLAT, "n": 0}, MissingArgument, "needs a value of 'm'"),
]


@pytest.mark.parametrize(("given", "kind", "text"), REFUSED)
def test_refused(given: dict[str, Any], kind: type[pg.UserError], text: str) -> None:
    with pytest.raises(kind, match=text):
        TWICE(**given)


def test_no_root() -> None:
    with pytest.raises(WrongShape, match=r"no integer 'n' makes n\*n equal to 8"):
        made("{ [i]: 0<=i<n*n }", "b[i] = 2*a[i]")(a=FLAT[:8])


def test_sizes_below_zero_are_no_extents() -> None:
    """-3 * -5 is 15, but loops over such a product are empty: nothing would be written."""
    knl = made("{ [i]: 0<=i<n*m }", "b[i] = c[0]", b="n*m")
    for n, m in ((-3, -5), (-3, 5)):
        with pytest.raises(NegativeSize, match="-15"):
            knl(c=np.ones(1), n=n, m=m)
