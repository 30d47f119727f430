"""Array arguments in constant memory."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import OverlappingArguments
from tests.oracle.compare import assert_same, make_arguments

TARGETS = ("c", "opencl")


def polynomial(**more: Any) -> pg.Kernel:
    """Return a kernel that evaluates a polynomial with coefficients that are passed."""
    return pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [k]: 0<=k<m }"],
        "out[i] = sum(k, c[k]*x[i]**k)",
        [pg.ConstantArg("c", shape="m", **more), "..."],
    )


def looked_up(**more: Any) -> pg.Kernel:
    """Return a kernel that looks up numbers of a table with two axes."""
    return pg.make_kernel(
        "{ [i, j]: 0<=i<n and 0<=j<m }",
        "out[i, j] = 2*table[j, i]",
        [pg.ConstantArg("table", shape="m, n", **more), "..."],
        loop_priority="i, j",
    )


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("n", "m"), [(0, 3), (1, 1), (7, 5), (17, 2), (5, 0)])
def test_values(target: str, n: int, m: int) -> None:
    random = np.random.default_rng(0)
    x, c = random.random(n), random.random(m)
    _, (out,) = polynomial().executor(target)(x=x, c=c)
    expected = sum((c[k] * x**k for k in range(m)), np.zeros(n))
    np.testing.assert_allclose(out, expected, rtol=1e-13)
    table = random.random((m, n))
    assert np.array_equal(looked_up().executor(target)(table=table)[1][0], 2 * table.T)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "int8", "uint64", "complex64", "bool"])
def test_types(target: str, dtype: str) -> None:
    table = np.array([[1, 0, 3], [0, 5, 6]]).astype(dtype)
    knl = pg.make_kernel(
        "{ [i, j]: 0<=i<3 and 0<=j<2 }",
        "out[i, j] = table[j, i]",
        [pg.ConstantArg("table", shape="2, 3"), "..."],
        loop_priority="i, j",
    )
    _, (out,) = knl.executor(target)(table=table)
    assert out.dtype == table.dtype
    assert np.array_equal(out, table.T)


@pytest.mark.parametrize("target", TARGETS)
def test_strides_and_offsets_of_the_call(target: str) -> None:
    whole = np.random.default_rng(0).random((9, 11))
    for part in (whole[1:8:2, 2:], whole.T[::3, 1:4], whole[::-1, :5]):
        assert np.array_equal(looked_up().executor(target)(table=part)[1][0], 2 * part.T)
    declared = looked_up(strides="1, m")
    table = np.asfortranarray(whole)
    assert np.array_equal(declared.executor(target)(table=table)[1][0], 2 * table.T)


def test_code() -> None:
    knl = pg.add_dtypes(polynomial(), {"c": "float32", "x": "float32"})
    assert "__constant float const *restrict c" in str(pg.generate_code(knl, "opencl"))
    assert "    float const *restrict c," in str(pg.generate_code(knl, "c"))


@pytest.mark.parametrize("make", [polynomial, looked_up])
def test_text(make: Any) -> None:
    for knl in (make(), make(dtype=np.float64)):
        assert ": ConstantArg, type: " in str(knl)
        assert pg.parse_kernel(str(knl)) == knl
        assert pickle.loads(pickle.dumps(knl)) == knl  # noqa: S301
        scope: dict[str, Any] = {}
        exec(pg.kernel_to_python(knl), scope)  # noqa: S102
        assert scope["knl"] == knl


def test_it_is_no_other_argument() -> None:
    constant, other = pg.ConstantArg("a", shape=(3,)), pg.GlobalArg("a", shape=(3,))
    assert constant != other
    assert other != constant
    assert constant == pg.ConstantArg("a", shape=(3,))


def test_interpreters_agree() -> None:
    knl = looked_up()
    split = pg.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.0")
    arguments = make_arguments(knl, {"n": 5, "m": 3})
    assert_same(knl, arguments)
    assert_same(split, arguments)


@pytest.mark.parametrize("target", TARGETS)
def test_split_and_fixed(target: str) -> None:
    knl = pg.split_iname(looked_up(), "i", 4, outer_tag="g.0", inner_tag="l.0")
    knl = pg.fix_parameters(knl, m=3)
    assert isinstance(knl.variables["table"], pg.ConstantArg)
    for n in (0, 1, 4, 5, 13):
        table = np.random.default_rng(n).random((3, n))
        assert np.array_equal(knl.executor(target)(table=table)[1][0], 2 * table.T)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("may_alias", [False, True])
def test_it_never_overlaps_what_is_written(target: str, may_alias: bool) -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "out[i] = 2*c[i]",
        [pg.ConstantArg("c", shape="n"), pg.GlobalArg("out", may_alias=may_alias), "..."],
    )
    a = np.arange(7.0)
    run = knl.executor(target)
    with pytest.raises(OverlappingArguments, match="'c'"):
        run(c=a[:5], out=a[2:])
    run(c=a[:3], out=a[3:6])
    assert np.array_equal(a, [0, 1, 2, 0, 2, 4, 6])
