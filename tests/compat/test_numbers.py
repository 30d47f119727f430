"""Numbers in scripts: as outputs, of vectors, of elements, of targets; and several at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
import polygen.compat as lp
from polygen import errors

X = np.random.default_rng(11).random(10)


def made(text: Any, data: Any = (...,), domain: str = "{ [i]: 0<=i<10 }", **more: Any) -> Any:
    return lp.make_kernel(domain, text, data, silenced_warnings="UnusedIname", **more)


# --- outputs


def test_numbers_that_are_written_are_outputs() -> None:
    knl = made("a = sum(i, i)")
    (argument,) = knl["loopy_kernel"].args
    assert (argument.name, argument.shape) == ("a", ())
    _, (out,) = knl()
    assert (out.shape, int(out)) == ((), 45)


@pytest.mark.parametrize("text", ["a = sum(i, x[i])", [lp.Assignment("a", "sum(i, x[i])")]])
def test_sums(text: Any) -> None:
    knl = made(text)
    split = lp.prioritize_loops(lp.split_iname(knl, "i", 5), "i_outer, i_inner")
    for step in (knl, split, lp.tag_inames(knl, "i:unr")):
        _, (out,) = step(x=X)
        np.testing.assert_allclose(out, X.sum(), rtol=1e-14)
    _, (out,) = lp.add_dtypes(knl, {"a": np.float64, "x": np.float32})(x=X.astype(np.float32))
    np.testing.assert_allclose(out, X.sum(), rtol=1e-6)
    assert out.dtype == np.float64


def test_outputs_that_others_read() -> None:
    text = """
    mean = sum(i, x[i])/10            {id=m}
    var = sum(i, (x[i] - mean)**2)/10  {id=v, dep=m}
    y[i] = (x[i] - mean)/var           {dep=v}
    """
    _, (mean, var, y) = made(text)(x=X)
    np.testing.assert_allclose((mean, var), (X.mean(), X.var()), rtol=1e-12)
    np.testing.assert_allclose(y, (X - X.mean()) / X.var(), rtol=1e-12)


def test_outputs_of_several_results() -> None:
    _, (place, most) = made("most, at = argmax(i, x[i], i)")(x=X)
    assert (float(most), int(place)) == (float(X.max()), int(X.argmax()))


def test_an_output_that_grows() -> None:
    text = "s = 0 {id=a}\nfor i\n  s = s + x[i] {id=b, dep=a}\nend\nt = 2*s {dep=b}"
    _, (s, t) = made(text)(x=X)
    np.testing.assert_allclose((s, t), (X.sum(), 2 * X.sum()), rtol=1e-14)


def test_numbers_of_which_listed_data_says_nothing() -> None:
    with pytest.raises(errors.UndeclaredVariable, match="kernel_data lacks 'a'"):
        made("a = sum(i, x[i])", [lp.GlobalArg("x", np.float64, shape=10)])
    with pytest.raises(errors.UndeclaredVariable, match="'a' is written, but nothing declares it"):
        pg.make_kernel("{ [i]: 0<=i<10 }", "a = sum(i, x[i])")


# --- several at once


def test_tuples_and_reductions_over_nothing() -> None:
    _, (a, b) = made("a[i], b[i] = make_tuple(2*x[i], x[9 - i])")(x=X)
    np.testing.assert_array_equal((a, b), (2 * X, X[::-1]))
    _, (b, a) = made("most, at = reduce(argmax, i, make_tuple(x[i], i))")(x=X)
    assert (int(b), float(a)) == (int(X.argmax()), float(X.max()))
    for text in ("a[i] = reduce(any, [], 5)", "a[i] = reduce(sum, (), 5)", "a[i] = sum((), 5)"):
        _, (out,) = made(text)()
        np.testing.assert_array_equal(out, np.full(10, 5))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a[i], b[i] = make_tuple(x[i])", "there are 2 assignees and 1 value"),
        ("a[i] = make_tuple(x[i], 3)", "there is 1 assignee and 2 values"),
        ("a[i], b[i] = argmax([], x[i], i)", "takes an iname first"),
        ("a[i] = f((), x[i])", "takes no tuple"),
    ],
)
def test_tuples_that_do_not_fit(text: str, why: str) -> None:
    with pytest.raises(errors.MalformedInstruction, match=why):
        made(text)


# --- vectors


def test_vectors_of_random_numbers() -> None:
    text = """
    for i
        <> key = make_uint2(i, 324830944)
        <> ctr = make_uint4(5, 1, 2, 3)
        <> vals, ctr = philox4x32_f32(ctr, key)
        <> more, ctr = philox4x32_f32(ctr, key)
        o[i] = vals.s0 + 10*vals.s3
        p[i] = more.x + 10*more.w
        c[i] = ctr.s0
    end
    """
    plain = """
    o[i] = philox4x32_f32(5, 1, 2, 3, i, 324830944)[0] \\
        + 10*philox4x32_f32(5, 1, 2, 3, i, 324830944)[3]
    """.replace("\\\n", "")
    _, (c, o, p) = made(text, seq_dependencies=True)()
    _, (wanted,) = pg.make_kernel("{ [i]: 0<=i<10 }", plain)()
    _, (later,) = pg.make_kernel("{ [i]: 0<=i<10 }", plain.replace("(5,", "(6,"))()
    np.testing.assert_allclose(o, wanted, rtol=1e-6)
    np.testing.assert_allclose(p, later, rtol=1e-6)
    np.testing.assert_array_equal(c, np.full(10, 7))


def test_random_numbers_of_two_words() -> None:
    text = """
    <> ctr = make_uint4(5, 1, 2, 3)  {inames=i}
    <> key = make_uint4(i, 324830944, 1, 2)
    <> vals, <> next = threefry4x32_f64(ctr, key)
    o[i] = vals.s2
    n[i] = next.s0
    """
    words = "w[i], v[i] = threefry4x32(5, 1, 2, 3, i, 324830944, 1, 2)[2], "
    words += "threefry4x32(6, 1, 2, 3, i, 324830944, 1, 2)[2]"
    _, (n, o) = made(text, seq_dependencies=True)()
    _, (low, high) = pg.make_kernel("{ [i]: 0<=i<10 }", words)()
    np.testing.assert_allclose(o, high * 2.0**-32 + low * 2.0**-64, rtol=1e-15)
    np.testing.assert_array_equal(n, np.full(10, 7))
    assert o.dtype == np.float64


def test_vectors_of_other_numbers() -> None:
    _, (out,) = made("<> v = make_float2(i, x[i])\no[i] = v.s1 - v.x {if=v.x > 1}")(
        x=X, o=np.zeros(10, dtype=np.float32)
    )
    wanted = np.where(np.arange(10) > 1, X.astype(np.float32) - np.arange(10, dtype="f4"), 0)
    np.testing.assert_allclose(out, wanted, rtol=1e-6)
    text = "<> v = make_int2(9 - i, 2)\nif v.x > 4\n  o[v.x] = v.y\nelse\n  o[v.x] = 7\nend"
    _, (out,) = made(text, seq_dependencies=True)(o_len=10)
    np.testing.assert_array_equal(out, np.where(np.arange(10) > 4, 2, 7))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("o[i] = y.s0", "'y' is no vector, and has no parts"),
        ("<> v = make_int2(i, 2)\no[i] = v", "'v' is a vector, and stands where a number does"),
        ("<> v = make_int2(i, 2)\no[i] = v.s2", "the vector 'v' has 2 numbers"),
        ("<> v = make_int2(i)\no[i] = v.s1", r"make_int2\(\) takes 2 numbers"),
        ("o[i] = make_int2(i, 2)", "gets a vector of 2 numbers, and is none"),
        ("<> v = make_uint4(i, 1, 2, 3)\n<> r, v = philox4x32_f32(v, v)", "and a key of 2"),
        ("f(j) := v.s0\no[i] = f(i)", "'v' has no parts here"),
    ],
)
def test_vectors_that_are_none(text: str, why: str) -> None:
    with pytest.raises(errors.MalformedInstruction, match=why):
        made(text)


# --- elements


def test_numbers_of_elements_read_nothing() -> None:
    domain = "{ [i,j]: 0<=i<4 and 0<=j<3 }"
    for data in ([...], [lp.GlobalArg("a", np.int64, shape=(4, 3)), ...]):
        _, (out,) = made("a[i, j] = indexof(a[i, j])", data, domain, loop_priority="i,j")()
        np.testing.assert_array_equal(out, np.arange(12).reshape(4, 3))
    data = [lp.GlobalArg("a", np.int64, shape=(4, 3), order="F"), ...]
    _, (out,) = made("a[i, j] = indexof(a[i, j])", data, domain, loop_priority="i,j")()
    np.testing.assert_array_equal(out, np.arange(12).reshape(3, 4).T)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("b[i] = indexof(3)", "takes an element of an array"),
        ("b[i] = indexof(a, i)", "takes an element of an array"),
        ("b[i] = indexof(a[i])", "'a' has 2 axes, and 1 subscripts here"),
    ],
)
def test_numbers_of_what_has_none(text: str, why: str) -> None:
    with pytest.raises(errors.MalformedInstruction, match=why):
        made(text, [lp.GlobalArg("a", shape=(10, 2)), ...])


# --- names of targets


def five(_kernel: Any, name: str) -> Any:
    return (lp.to_loopy_type(np.float32), "5.0f") if name == "FIVE" else None


def pi(_kernel: Any, name: str) -> Any:
    return (np.dtype(np.float64), "M_PI") if name == "M_PI" else None


def test_manglers() -> None:
    data = [lp.GlobalArg("a", np.float32, shape=10)]
    for knl in (
        lp.register_symbol_manglers(made("a[i] = FIVE", data), [pi, five]),
        made("a[i] = FIVE", data, symbol_manglers=[five]),
        lp.register_symbol_manglers(made("a[i] = FIVE"), [five]),
    ):
        _, (out,) = knl()
        np.testing.assert_array_equal(out, np.full(10, 5, dtype=np.float32))
    _, (out,) = made("a[i] = M_PI", symbol_manglers=[pi])()
    np.testing.assert_array_equal(out, np.full(10, np.pi))


def test_manglers_that_know_nothing() -> None:
    knl = made("a[i] = 2*x[i]")
    assert lp.register_symbol_manglers(knl, [five]) is knl
    with pytest.raises(errors.InvalidArgument, match="'5 apples' is no name that a constant has"):
        made("a[i] = FIVE", symbol_manglers=[lambda _k, _n: (np.float32, "5 apples")])
    with pytest.raises(errors.MissingArgument, match="'FIVE'"):
        made("a[i] = FIVE", [lp.GlobalArg("a", np.float32, shape=10)])()
    with pytest.raises(AttributeError, match="use register_callable"):
        lp.register_function_manglers  # noqa: B018


# --- what flows between kernels


def test_what_flows() -> None:
    first = made("b[i] = 2*x[i]", name="first")
    second = lp.rename_iname(made("c[i] = b[9 - i]", name="second"), "i", "j")
    for kernels, flows in (
        ([first, second], [("b", 0, 1)]),
        ([first, second], [("b", 1, 0), ("z", 0, 1), ("b", 0, 1)]),
        ([second, first], [("b", 1, 0)]),
    ):
        _, (b, c) = lp.fuse_kernels(kernels, data_flow=flows)(x=X)
        np.testing.assert_array_equal((b, c), (2 * X, 2 * X[::-1]))
    with pytest.raises(errors.InvalidArgument, match="data_flow"):
        lp.fuse_kernels([first, second], data_flow=3)
