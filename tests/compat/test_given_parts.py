"""Calls of kernels in scripts: slices, shapes that `merge` finds, calls that assign nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
import polygen.compat as lp
from polygen import errors

N = 7
X = np.arange(40.0)
ROWS = np.random.default_rng(3).random((5, 4))


def twice(count: int = N, **more: Any) -> Any:
    return lp.make_function(f"{{ [i]: 0<=i<{count} }}", "y[i] = 2*x[i]", name="f", **more)


def calling(text: str, *others: Any, count: int = N) -> Any:
    data = [lp.GlobalArg("X", np.float64, shape=(40,)), lp.GlobalArg("Y", np.float64, shape=(40,))]
    knl = lp.make_kernel("{ [e]: 0<=e<2 }", text, [*data, ...], silenced_warnings="UnusedIname")
    return lp.merge([knl, twice(count), *others])


SLICES = [
    ("Y[0:7] = f(X[5:40:5])", slice(0, 7), slice(5, 40, 5)),
    ("Y[:7] = f(X[33:])", slice(0, 7), slice(33, 40)),
    ("Y[3:31:4] = f(X[::2])", slice(3, 31, 4), slice(0, 14, 2)),
    ("Y[1:8:1] = f(X[2:9])", slice(1, 8), slice(2, 9)),
]


@pytest.mark.parametrize(("text", "to", "of"), SLICES, ids=[s[0] for s in SLICES])
def test_slices(text: str, to: slice, of: slice) -> None:
    out = np.zeros(40)
    calling(text)(X=X, Y=out)
    wanted = np.zeros(40)
    wanted[to] = 2 * X[of]
    np.testing.assert_array_equal(out, wanted)


def test_slices_that_loops_move() -> None:
    _, (out,) = calling("Y[7*e:7*e+7] = f(X[e+1:e+8])")(X=X, Y=np.zeros(40))
    np.testing.assert_array_equal(out[:14], np.concatenate([2 * X[1:8], 2 * X[2:9]]))


@pytest.mark.parametrize(
    ("text", "kind", "why"),
    [
        ("Y[:7] = f(X[5:39:6])", errors.OutOfBounds, r"'x' with the subscript 6 there"),
        (
            "Y[e:e+6] = f(X[:7])",
            errors.OutOfBounds,
            r"'\[_0 < 6\]: Y\[_0 \+ e\]', of 6 elements along axis 0",
        ),
        ("Y[:n] = f(X[:7])", errors.OutOfBounds, r"n elements along axis 0.* \(where n=0\)"),
        ("Y[:-1] = f(X[:])", errors.MalformedInstruction, "count from the front"),
        ("Y[::-1] = f(X[:])", errors.MalformedInstruction, "step of a slice is no positive"),
        ("Y[:7] = f(X[p[e]:p[e]+7])", errors.MalformedInstruction, "more than loops and sizes"),
        ("Y[:7] = 2*X[:7]", errors.MalformedInstruction, "slice of 'Y', which only a call of a"),
        ("[j]: Y[j] = f([j]: X[j:])", errors.MalformedInstruction, "names for its axes, and slice"),
        ("g(k) := X[:]\nY[e] = g(e)", errors.MalformedInstruction, "part of 'X' stands here"),
        ("[e < 2] Y[e] = 3", errors.MalformedInstruction, "its domain says"),
    ],
)
def test_slices_that_are_none(text: str, kind: type[Exception], why: str) -> None:
    with pytest.raises(kind, match=why):
        lp.generate_code_v2(lp.add_dtypes(calling(text), {"X": np.float64}))


def test_parts_say_how_long_they_are() -> None:
    text = "[j < 7]: Y[j + 7*e] = f([j < n]: X[j + n])"
    knl = lp.make_kernel("{ [e]: 0<=e<2 }", text, assumptions="n >= 7")
    kernel = knl.default_entrypoint
    assert "[j < 7]: Y[j + 7*e] = f([j < n]: X[j + n])" in str(kernel)
    assert pg.parse_kernel(str(kernel)) == kernel
    fixed = lp.merge([lp.fix_parameters(knl, n=9), twice()])
    _, (out,) = fixed(X=X[:16])
    np.testing.assert_array_equal(out, np.tile(2 * X[9:16], 2))


# --- what merge finds


def rows(text: str, *data: Any) -> Any:
    domains = "{ [e,k]: 0<=e<5 and 0<=k<4 }"
    return lp.make_kernel(domains, text, [*data, "..."], silenced_warnings="UnusedIname")


@pytest.mark.parametrize(
    "text",
    [
        "[k]: y[e, k] = f([k]: x[e, k])",
        "y[e, :] = f(x[e, :])",
        "<> t = e {id=t}\ny[e, :] = f(x[e, :]) {dep=t}\nz[e] = t {dep=t}",
    ],
)
def test_shapes_that_merge_finds(text: str) -> None:
    knl = rows(text)
    assert all(a.shape is None for a in knl["loopy_kernel"].args if a.name in "xy")
    program = lp.merge([knl, twice(4)])
    assert [a.shape for a in program["loopy_kernel"].args[:2]] == [(5, 4), (5, 4)]
    _, (out, *_) = program(x=ROWS)
    np.testing.assert_array_equal(out, 2 * ROWS)


def test_steps_before_merge() -> None:
    knl = lp.add_dtypes(rows("y[e, :] = f(x[e, :])"), {"x": np.float64})
    knl = lp.tag_array_axes(lp.rename_iname(knl, "e", "row"), "y", "F")
    _, (out,) = lp.merge([knl, twice(4)])(x=ROWS)
    np.testing.assert_array_equal(out, 2 * ROWS)
    assert out.flags.f_contiguous


def test_the_default_order_of_arrays_whose_shape_comes_later() -> None:
    knl = lp.make_kernel("{ [e]: 0<=e<5 }", "y[e, :] = f(x[e, :])", default_order="F")
    _, (out,) = lp.merge([knl, twice(4)])(x=np.asfortranarray(ROWS))
    np.testing.assert_array_equal(out, 2 * ROWS)
    assert out.flags.f_contiguous


def test_temporaries_whose_shape_comes_later() -> None:
    text = "t[:] = f(x[e, :])  {id=call}\nfor k\n  y[e, k] = 3*t[k]  {dep=call}\nend"
    program = lp.merge([rows(text, lp.TemporaryVariable("t")), twice(4)])
    _, (out,) = program(x=ROWS)
    np.testing.assert_array_equal(out, 6 * ROWS)


def test_functions_that_call_functions() -> None:
    outer = lp.make_function("{ : }", "v[:] = f(u[:])", name="g")
    _, (out,) = lp.merge([rows("y[e, :] = g(x[e, :])"), outer, twice(4)])(x=ROWS)
    np.testing.assert_array_equal(out, 2 * ROWS)


def test_numbers_that_functions_return() -> None:
    total = lp.make_function("{ [i]: 0<=i<4 }", "out = sum(i, x[i])", name="f")
    _, (out,) = lp.merge([rows("y[e] = f(x[e, :])"), total])(x=ROWS)
    np.testing.assert_allclose(out, ROWS.sum(axis=1), rtol=1e-14)
    _, (out,) = lp.merge([rows("y = f(x[2, :])"), total])(x=ROWS[:3])
    assert out.shape == ()
    np.testing.assert_allclose(out, ROWS[2].sum(), rtol=1e-14)


def test_arrays_that_functions_return_whole() -> None:
    _, (out,) = lp.merge([rows("y = f(x[2, :])"), twice(4)])(x=ROWS[:3])
    np.testing.assert_array_equal(out, 2 * ROWS[2])


def test_what_is_never_merged_is_said_at_the_call() -> None:
    with pytest.raises(errors.UnknownFunction, match="calls 'f', and nothing says what that is"):
        rows("y[e, :] = f(x[e, :])")(x=ROWS)
    with pytest.raises(errors.MalformedInstruction, match="'x' has 1 axes, and is given"):
        lp.merge([rows("y[e, :] = f(x[:, :])"), twice(4)])


# --- calls that assign nothing


def test_calls_that_assign_nothing() -> None:
    out = np.zeros((5, 4))
    lp.merge([rows("f([k]: x[e, k], y[e, :])"), twice(4)])(x=ROWS, y=out)
    np.testing.assert_array_equal(out, 2 * ROWS)


def test_calls_that_change_what_they_are_given() -> None:
    own = lp.make_function("{ [i]: 0<=i<4 }", "x[i] = 2*x[i] + 1", name="f")
    values = ROWS.copy()
    lp.merge([rows("f(x[e, :])"), own])(x=values)
    np.testing.assert_array_equal(values, 2 * ROWS + 1)


@pytest.mark.parametrize(
    ("text", "kind", "why"),
    [
        ("sin(x[e, k])", errors.MalformedInstruction, "sin\\(\\) computes something, and nothing"),
        ("sum(k, x[e, k])", errors.MalformedInstruction, "computes something, and nothing is"),
        ("f(x[e, :])", errors.OverlappingParts, "and .\\[_0\\]: x\\[e, _0\\]., which overlap"),
        ("f(x[e, :], y[e, :], z[e, :])", errors.WrongArity, "takes 1 argument \\(x\\), and is"),
        ("f(x[e, :], y[e, :]) {atomic}", errors.MalformedInstruction, "is never atomic"),
    ],
)
def test_calls_that_assign_nothing_and_should(text: str, kind: type[Exception], why: str) -> None:
    with pytest.raises(kind, match=why):
        lp.generate_code_v2(lp.add_dtypes(lp.merge([rows(text), twice(4)]), {"x": np.float64}))


def test_steps_that_need_a_shape_that_is_not_known_yet() -> None:
    knl = rows("y[e, :] = f(x[e, :])  {id=call}\nz[e, k] = 2*y[e, k]  {dep=call}")
    with pytest.raises(errors.ShapeNotFound, match="the shape of 'y' is not known yet"):
        lp.add_prefetch(knl, "y", ["k"])
    with pytest.raises(errors.CannotProve):
        lp.duplicate_inames(lp.set_options(knl, trust_data=False), "e", "id:call")
