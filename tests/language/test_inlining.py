"""Kernels that call kernels, on parts of arrays: as functions, and inlined."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen import errors
from polygen.errors import UserError
from tests.language.called_kernels import KERNELS, RANDOM, ROWS, TWICE, kernel, without_calls
from tests.oracle.cases import Step, agree, grid, steps, tag


def as_it_is(knl: pg.Kernel) -> pg.Kernel:
    """Return a kernel with its calls."""
    return knl


NORMS = kernel(
    "{ [i]: 0<=i<n }", "[l]: out[i + l] = length_of(2*m + 1, [k]: a[k, i])  {if=i % 2 == 0}"
)


@pytest.mark.parametrize("change", [as_it_is, without_calls])
def test_values(change: Step) -> None:
    a = RANDOM.integers(-5, 6, (7, 7)).astype(np.float64)
    for target in "c", "opencl":
        (out,) = change(ROWS).executor(target)(a=a)[1]
        np.testing.assert_array_equal(out, np.arange(7)[:, None] * a.T)
        b, c = change(TWICE).executor(target)(a=a[:, :6], b=np.zeros((7, 6)))[1]
        np.testing.assert_array_equal(b, 2 * a[:, :6])
        np.testing.assert_array_equal(c, (2 * a[:, :6]).T * (np.arange(7) + 1))
        (out,) = change(NORMS).executor(target)(a=a, out=np.zeros(7), n=7)[1]
        np.testing.assert_allclose(out[::2], np.linalg.norm(a, axis=0)[::2])
        assert not out[1::2].any()


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_read_and_written(target: str) -> None:
    knl = kernel(
        "{ [i]: 0<=i<n }",
        "[j]: a[i, j] = prefix(n, n - 1, [j]: a[i, j])",
        pg.GlobalArg("a", shape="n, n"),
    )
    a = np.arange(25.0).reshape(5, 5)
    wanted = np.cumsum(a, axis=1)
    wanted[:, 4] = a[:, 4]
    (found,) = knl.executor(target)(a=a.copy())[1]
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_whole_arrays_and_several_results(target: str) -> None:
    knl = kernel("{ : }", "[i]: hi[i], [i]: lo[i + 1] = extremes(n, m, a)")
    a = RANDOM.integers(-50, 50, (4, 9)).astype(np.int32)
    hi, lo = knl.executor(target)(a=a, lo=np.zeros(2, np.int32))[1]
    assert (hi[0], lo[1]) == (a.max(), a.min())


def test_agree() -> None:
    sizes = tuple({"n": n} for n in (0, 1, 4, 5))
    inlined = steps(without_calls, grid("i", 2))
    agree(ROWS, sizes, grid("i", 2), tag(i="g.0"), without_calls, inlined)
    in_place = kernel("{ [i]: 0<=i<n }", "[j]: b[i, j] = prefix(n, 3, [j]: b[i, j])")
    agree(in_place, sizes, tag(i="g.0"), inlined)
    agree(NORMS, [{"n": n, "m": 1} for n in (0, 1, 4)], grid("i", 2), inlined)


def test_a_loop_whose_calls_touch_one_part_is_not_parallel() -> None:
    with pytest.raises(errors.IllegalStep):
        pg.tag_inames(
            kernel("{ [i]: 0<=i<n }", "[j]: b[j] = prefix(n, i, [j]: b[j])"), {"i": "g.0"}
        )


def test_a_kernel_that_calls_one_that_calls() -> None:
    rows = pg.make_function(
        "{ [i]: 0<=i<n }",
        "[j]: y[i, j] = scale(n, 3, [j]: x[i, j])",
        ["n", "x", "y"],
        functions=KERNELS,
    )
    knl = pg.make_kernel(
        "{ [b]: 0<=b<2 }",
        "[i, j]: out[b, i, j] = rows(m, [j, i]: a[i, j, b])",
        functions={"rows": rows},
    )
    a = RANDOM.integers(0, 9, (3, 3, 2)).astype(np.float64)
    (out,) = knl(a=a)[1]
    np.testing.assert_array_equal(out, 3 * a.transpose(2, 1, 0))


@pytest.mark.parametrize(
    ("text", "kind", "what"),
    [
        ("[j]: b[j] = scale(n, [j]: a[j])", errors.WrongArity, "takes 3 arguments (m, s, x)"),
        ("[j]: b[j], [j]: c[j] = scale(n, 1, [j]: a[j])", errors.WrongArity, "1 assignee (y)"),
        ("[j]: b[j] = scale(n, [j]: a[j], 1)", errors.MalformedInstruction, "'s' is a number"),
        ("[j]: b[j] = scale(n, 1, 2)", errors.MalformedInstruction, "'x' is an array"),
        ("b[i] = scale(n, 1, [j]: a[j])", errors.MalformedInstruction, "'y' is an array"),
        ("[j,k]: b[j,k] = scale(n, 1, a)", errors.MalformedInstruction, "'y' has 1 axes"),
        ("[j]: b[j] = scale(k[i], 1, a)", errors.MalformedInstruction, "no affine function"),
        ("[j]: b[j] = prefix(n, 1, [j]: a[j])", errors.MalformedInstruction, "read and written"),
        ("b[i] = 1 + scale(n, 1, [j]: a[j])", errors.MalformedInstruction, "a part of an array"),
        ("[j]: b[j] = 2*a[i]", errors.MalformedInstruction, "a part of an array"),
        ("[2]: b[j] = 2", errors.MalformedInstruction, "found '2'"),
        ("[j]: b[j] += scale(n, 1, a)", errors.MalformedInstruction, "a part of an array"),
    ],
)
def test_refused(text: str, kind: type[UserError], what: str) -> None:
    with pytest.raises(kind) as caught:
        kernel("{ [i]: 0<=i<n }", text)
    assert what in caught.value.what


def test_inames_of_what_is_read() -> None:
    text = "<> t = a[i] {id=t}\n[j]: b[i,j] = scale(n, t, [j]: c[j]) "
    knl = kernel("{ [i]: 0<=i<n }", text)
    a, c = np.arange(4.0), np.arange(4.0) + 1
    (b,) = knl(a=a, c=c)[1]
    np.testing.assert_array_equal(b, a[:, None] * c)


def test_verbatim_code_is_not_inlined() -> None:
    text = '... code(k) "y[k] = 2*x[k];" reads(x) writes(y[k]) {inames=k}'
    data = [pg.GlobalArg("x", np.float64, "m"), pg.GlobalArg("y", np.float64, "m"), "..."]
    other = pg.make_function("{ [k]: 0<=k<m }", text, data)
    with pytest.raises(errors.MalformedInstruction, match="has verbatim C"):
        pg.make_kernel("{ : }", "[j]: b[j] = other([j]: a[j], 3)", functions={"other": other})
