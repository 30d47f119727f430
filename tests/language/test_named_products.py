"""Products of sizes in domains: `{ [i]: 0<=i<n*m }`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    AssumptionViolated,
    MalformedInstruction,
    MissingArgument,
    NonAffineDomain,
    SizeMismatch,
    UnknownName,
    WrongShape,
)
from polygen.language.named_products import NamedProducts, used_names
from polygen.language.parser import parse_expression
from tests.oracle.cases import kernel


@pytest.mark.parametrize(
    ("text", "named", "sizes"),
    [
        ("{ [i]: 0<=i<n*m }", "{ [i]: 0<=i<n_m }", ["n_m = n * m"]),
        ("{ [i]: 0<=i<n*m + m*n }", "{ [i]: 0<=i<n_m + n_m }", ["n_m = n * m"]),
        ("{ [i]: 0<=i<n*m*k }", "{ [i]: 0<=i<n_m_k }", ["n_m = n * m", "n_m_k = n_m * k"]),
        ("{ [i]: 0<=i<2*n*m*3 }", "{ [i]: 0<=i<6*n_m }", ["n_m = n * m"]),
        ("{ [i]: 0<=i<2n*m }", "{ [i]: 0<=i<2*n_m }", ["n_m = n * m"]),
        ("{ [i]: 0<=i<(n-1)*m }", "{ [i]: 0<=i<size }", ["size = (n - 1) * m"]),
        (
            "{ [i]: 0<=i<(n*m+1)*k }",
            "{ [i]: 0<=i<size }",
            ["n_m = n * m", "size = (n_m + 1) * k"],
        ),
        ("{ [i]: 0<=i<n*n }", "{ [i]: 0<=i<n_n }", ["n_n = n * n"]),
        ("{ [i]: 0<=i<n*m/2 }", "{ [i]: 0<=i<n_m/2 }", ["n_m = n * m"]),
        ("{ [i]: 0<=2*i<n and i<(3)*m }", None, []),
        ("{ [i]: 0<=i*i<n }", None, []),
        ("{ [i, j]: 0<=i<n and 0<=j<i*m }", None, []),
        ("{ [i]: 0<=i<n and exists (q: i = q*m) }", None, []),
        ("{ [i]: 0<=i<floor(n/2)*m }", None, []),
        ("{ [i]: 0<=i<(n mod 4)*m }", None, []),
        ("{ [i]: 0<=i<(n*m }", "{ [i]: 0<=i<(n_m }", ["n_m = n * m"]),  # isl says what is wrong
        ("{ [i]: 0<=i<n* }", None, []),
        ("{ [i]: 0<=i<(n m)*k }", None, []),
    ],
)
def test_texts(text: str, named: str | None, sizes: list[str]) -> None:
    products = NamedProducts.beside(set[str])
    assert products.in_text(text) == (named or text)
    assert list(map(str, products.sizes)) == sizes
    assert products.in_all([text, 3]) == [named or text, 3]


@pytest.mark.parametrize(
    ("text", "named", "sizes"),
    [
        ("n*m + m*n", "n_m + n_m", ["n_m = n * m"]),
        ("2*n*(m*3) - 1", "6*n_m - 1", ["n_m = n * m"]),
        ("-n*m", "-1*n_m", ["n_m = n * m"]),
        ("(n - 1)*m*k", "size_k", ["size = (n - 1) * m", "size_k = size * k"]),
        ("n + 2*m", None, []),
        ("n*i", None, []),
        ("n*(i + 1)", None, []),
        ("n*m*1.5", None, []),
        ("n*(m//2)", None, []),
        ("n**2", None, []),
    ],
)
def test_trees(text: str, named: str | None, sizes: list[str]) -> None:
    products = NamedProducts.beside(set[str])
    found = products.in_tree(parse_expression(text), lambda name: name != "i")
    assert found == parse_expression(named or text)
    assert list(map(str, products.sizes)) == sizes


def test_names_that_are_taken_are_left_alone() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n*m }", "out[i] = n_m", [pg.ValueArg("n_m", "int32"), "..."])
    assert list(map(str, knl.derived_sizes)) == ["n_m_0 = n * m"]
    assert used_names("a[i1]", ["x2", pg.ValueArg("n_m")]) >= {"a", "i1", "x2", "n_m"}
    (out,) = knl.executor("c")(n=2, m=3, n_m=7)[1]
    assert out.tolist() == [7] * 6


def test_texts_of_kernels_read_back() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n*m }", "b[i] = 2*a[i]", assumptions="n*m >= 1")
    assert "SIZES:\nn_m = n * m\n" in str(knl)
    assert "b: GlobalArg, type: <runtime>, shape: (n*m)" in str(knl)
    assert pg.parse_kernel(str(knl)) == knl
    assert {a.name for a in knl.arguments} == {"a", "b", "m", "n"}


def test_sizes_follow_from_arrays() -> None:
    run = pg.make_kernel("{ [i]: 0<=i<n*m }", "b[i] = 2*a[i]").executor("c")
    a = np.arange(12.0)
    for given in ({"n": 3}, {"m": 6}, {"n": 3, "m": 4}):
        np.testing.assert_array_equal(run(a=a, **given)[1][0], 2 * a)
    assert run(a=a[:0], n=3)[1][0].shape == (0,)
    with pytest.raises(MissingArgument, match="needs a value of 'm'"):
        run(a=a)
    with pytest.raises(WrongShape, match="no integer 'm' makes"):
        run(a=a, n=5)
    with pytest.raises(SizeMismatch, match="it has to be \\(10,\\)"):
        run(a=a, n=5, m=2)


PLANE = np.arange(12.0).reshape(3, 4)
CUBE = np.arange(60.0).reshape(3, 4, 5)
RAVEL = ("{ [i]: 0<=i<n*m }", "b[i] = a[i//m, i % m]", {"a": "n, m"})
CALLS: dict[str, tuple[tuple[str, str, dict[str, str]], dict[str, Any], Any]] = {
    "ravel": (RAVEL, {"a": PLANE}, PLANE.ravel()),
    "ravel of nothing": (RAVEL, {"a": PLANE[:, :0]}, np.zeros(0)),
    "reshape": (
        ("{ [i,j]: 0<=i<n and 0<=j<m }", "b[i,j] = a[i*m + j]", {"a": "n*m"}),
        {"a": PLANE.ravel(), "n": 3},
        PLANE,
    ),
    "flatten": (
        ("{ [i,j]: 0<=i<n and 0<=j<m }", "b[i*m + j] = a[i,j]", {"a": "n, m", "b": "n*m"}),
        {"a": PLANE},
        PLANE.ravel(),
    ),
    "of three": (
        ("{ [i]: 0<=i<n*m*k }", "b[i] = a[i//(m*k), i//k % m, i % k]", {"a": "n, m, k"}),
        {"a": CUBE},
        CUBE.ravel(),
    ),
    "differences": (
        ("{ [i]: 0<=i<(n-1)*m }", "b[i] = a[i+m] - a[i]", {"a": "n*m"}),
        {"a": PLANE.ravel() ** 2, "n": 3},
        np.diff(PLANE**2, axis=0).ravel(),
    ),
}


def _made(name: str) -> pg.Kernel:
    domain, text, shapes = CALLS[name][0]
    return kernel(domain, text, *(pg.GlobalArg(a, shape=shape) for a, shape in shapes.items()))


@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str) -> None:
    knl = _made(name)
    assert pg.obligations(knl) == ()
    _, given, expected = CALLS[name]
    _, (found,) = knl.executor("c")(**given)
    np.testing.assert_array_equal(found, expected, strict=True)


def test_on_work_items() -> None:
    """With one batch of sources, for compilers take long."""
    _, given, expected = CALLS["of three"]
    knl = pg.split_iname(_made("of three"), "i", 8, outer_tag="g.0", inner_tag="l.0")
    np.testing.assert_array_equal(knl.executor("opencl")(**given)[1][0], expected)
    typed = pg.add_dtypes(knl, {"a": "float32"})
    assert "n_m_k" in pg.generate_code(typed, "cuda").source


def test_steps_keep_them() -> None:
    knl = _made("ravel")
    fixed = pg.fix_parameters(knl, m=4)
    assert fixed.derived_sizes == ()
    np.testing.assert_array_equal(fixed.executor("c")(a=PLANE)[1][0], PLANE.ravel())
    assert pg.rename_argument(knl, "n", "rows").derived_sizes[0].names == {"rows", "m"}


def test_assumptions_about_products() -> None:
    data = [pg.GlobalArg("a", "float64", "n, m"), "..."]
    knl = pg.make_kernel("{ [i]: 0<=i<n*m }", "b[i] = a[i//m, i % m]", data, assumptions="n*m >= 2")
    knl = pg.assume(knl, "m*n mod 2 = 0 and n*n >= 4")
    assert list(map(str, knl.derived_sizes)) == ["n_m = n * m", "n_n = n * n"]
    assert pg.parse_kernel(str(knl)) == knl
    run = knl.executor("c")
    np.testing.assert_array_equal(run(a=PLANE)[1][0], PLANE.ravel())
    for wrong in PLANE[:1, :1], PLANE[:3, :3], PLANE[:1, :2]:
        with pytest.raises(AssumptionViolated):
            run(a=wrong.copy())
    with pytest.raises(UnknownName, match="mentions 'q', which is no scalar argument"):
        pg.assume(knl, "n*q >= 1")


def test_sizes_that_are_negative_count_as_none() -> None:
    """As those of arrays, which cannot be negative: -2 times -3 is no loop of 6."""
    run = pg.make_kernel("{ [i]: 0<=i<n*m }", "s[0] = sum(i, i)").executor("c")
    assert [run(n=n, m=m)[1][0].tolist() for n, m in ((-2, -3), (2, 3), (-2, 3))] == [
        [0],
        [15],
        [0],
    ]


def test_other_products_are_refused() -> None:
    with pytest.raises(NonAffineDomain):
        pg.make_kernel("{ [i, j]: 0<=i<n and 0<=j<i*m }", "out[i, j] = 1")
    with pytest.raises(NonAffineDomain):
        pg.make_kernel("{ [i]: 0<=i<n and i*i<m }", "out[i] = 1")


def test_kernels_that_are_called_have_none() -> None:
    f = pg.make_function("{ [k]: 0<=k<n*m }", "y[k] = 2*x[k]", ["n", "m", "x", "y"], name="f")
    data = [pg.GlobalArg("x, out", shape="12, p"), "..."]
    text = "[k]: out[k, q] = f(3, 4, [k]: x[k, q])"
    with pytest.raises(MalformedInstruction, match=r"has the size n_m = n \* m, a product that"):
        pg.make_kernel("{ [q]: 0<=q<p }", text, data, functions={"f": f})
