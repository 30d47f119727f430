"""Calls of libraries in loop programs: launches of their own, in loops on the host."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    FunctionNotPossible,
    LibraryInParallel,
    LibraryNotPossible,
    PrivateAcrossLaunches,
    WrongStatement,
)
from polygen.lower.lower import Model, lower_prepared, prepare
from polygen.lower.program import Call, HostLoop, Launch
from tests.oracle.cases import agree, kernel
from tests.routines import CASES, Case
from tests.validation.edits import said, where

STEPS = """
for t
    y = library("gemv", a, x)     {id=y, dep=*}
    <> s = sum(j, abs(y[j]))      {id=s, dep=y}
    x[i] = y[i]/s                 {id=x, dep=s:y}
end
"""
POWER = kernel(
    ["{ [t]: 0<=t<T }", "{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"],
    STEPS,
    pg.GlobalArg("a", np.float64, shape="n, n"),
    pg.GlobalArg("x", np.float64, shape="n"),
    pg.TemporaryVariable("y", np.float64, shape="n", address_space=pg.AddressSpace.GLOBAL),
)


def test_launches_end() -> None:
    (loop,) = pg.lower_kernel(POWER, "c").host
    assert isinstance(loop, HostLoop)
    first, second = loop.body
    assert isinstance(first, Launch)
    assert isinstance(second, Launch)
    assert [type(node) for node in first.body] == [Call]
    assert "launch polygen_kernel_0(a, x, n, y)" in str(pg.lower_kernel(POWER, "c"))


@pytest.mark.parametrize("tagged", [False, True])
def test_a_time_loop(tagged: bool) -> None:
    knl = POWER
    if tagged:
        knl = pg.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.0")
    rng = np.random.default_rng(0)
    for n, steps in ((5, 7), (1, 2), (4, 0)):
        a, x = rng.random((n, n)), rng.random(n)
        expected = x.copy()
        for _ in range(steps):
            expected = a @ expected
            expected /= np.abs(expected).sum()
        knl.executor("c")(a=a, x=x, T=steps)
        np.testing.assert_allclose(x, expected, rtol=1e-13)


def test_under_a_condition() -> None:
    knl = kernel(
        "{ [t]: 0<=t<T }",
        'y = library("gemv", a, x, beta=1) {inames=t, if=2*t >= T}',
        *(pg.GlobalArg(n, np.float64, shape=s) for n, s in (("a", "n, n"), ("x", "n"), ("y", "n"))),
    )
    a, x = np.arange(4.0).reshape(2, 2), np.array([1.0, 2.0])
    for steps in (0, 1, 5):
        y = np.ones(2)
        knl.executor("c")(a=a, x=x, y=y, T=steps)
        np.testing.assert_array_equal(
            y, 1 + len([t for t in range(steps) if 2 * t >= steps]) * a @ x
        )


def test_scalars_outlive_a_call() -> None:
    """A number that is computed before a call, and needed in it and behind it."""
    data = [pg.GlobalArg(n, shape=s) for n, s in (("a", "n, n"), ("x", "n"), ("y", "n"))]
    text = """
        s = sum(j, x[j])                         {id=s}
        y = library("gemv", a, x, alpha=s)       {id=y, dep=s}
        z[i] = y[i] - s*x[i]                     {dep=y:s}
        """
    domains = ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"]
    spaces = pg.AddressSpace
    kept = kernel(domains, text, *data, pg.TemporaryVariable("s", address_space=spaces.AUTO))
    rng = np.random.default_rng(5)
    for n in (0, 1, 4):
        a, x = rng.random((n, n)), rng.random(n)
        z = kept.executor("c")(a=a, x=x)[1][-1]
        np.testing.assert_allclose(z, x.sum() * (a @ x) - x.sum() * x, rtol=1e-13)
    private = kernel(domains, text, *data, pg.TemporaryVariable("s", address_space=spaces.PRIVATE))
    with pytest.raises(PrivateAcrossLaunches, match="'s' is private"):
        pg.generate_code(pg.add_dtypes(private, dict.fromkeys("ax", np.float64)), "c")


def test_in_parallel_is_refused() -> None:
    data = [pg.GlobalArg(n, np.float64, shape="T, 4, 4") for n in "abc"]
    part = '[i,j]: c[t,i,j] = library("gemm", [i,j]: a[t,i,j], [i,j]: b[t,i,j], m=4, n=4, k=4)'
    knl = kernel("{ [t]: 0<=t<T }", part + " {inames=t}", *data)
    for tag in ("g.0", "l.0", "unr", "ilp"):
        fixed = pg.fix_parameters(knl, T=3)
        with pytest.raises(
            LibraryInParallel, match=f"loop of 't', which is tagged {tag}"
        ) as caught:
            pg.generate_code(pg.tag_inames(fixed, {"t": tag}), "c")
        assert "untag_inames(kernel, 't')" in str(caught.value.remedy)
    a, b = np.random.default_rng(1).random((2, 3, 4, 4))
    (c,) = knl.executor("c")(a=a, b=b)[1]
    np.testing.assert_allclose(c, a @ b, rtol=1e-13)


@pytest.mark.parametrize(
    ("types", "what"),
    [
        ((np.float64, np.float32, np.float64), "gemm of 'a', float64, and 'b', float32"),
        ((np.int32, np.int32, np.int32), "gemm of int32: libraries have float32"),
        ((np.float16, np.float16, np.float16), "gemm of float16"),
    ],
)
def test_types(types: tuple[Any, ...], what: str) -> None:
    data = [pg.GlobalArg(n, t, shape="n, n") for n, t in zip("abc", types, strict=True)]
    knl = kernel("{ : }", 'c = library("gemm", a, b)', *data)
    with pytest.raises(LibraryNotPossible) as caught:
        pg.generate_code(knl, "c")
    assert what in caught.value.what


def test_not_in_functions() -> None:
    data = [pg.GlobalArg(n, np.float64, shape="n, n") for n in "abc"]
    inner = pg.make_function("{ : }", 'c = library("gemm", a, b)', [*data, "..."], name="square")
    knl = kernel("{ : }", "c = square(a, b, n)", *data, functions={"square": inner})
    with pytest.raises(FunctionNotPossible, match="it calls a library, 'gemm', for which"):
        pg.generate_code(knl, "c")
    flat = pg.inline_callable_kernel(knl, "square")
    a, b = np.random.default_rng(1).random((2, 3, 3))
    (c,) = flat.executor("c")(a=a, b=b)[1]
    np.testing.assert_allclose(c, a @ b, rtol=1e-13)


def test_steps_on_what_stands_around() -> None:
    """Proofs see the elements that a routine reads and writes."""
    knl = kernel(
        ["{ [i,j]: 0<=i,j<n }", "{ [p,q]: 0<=p,q<n }"],
        """
        u[i,j] = i + 2*j             {id=u}
        v = library("gemm", u, u)    {id=v}
        w[p,q] = v[q,p]              {id=w}
        """,
        *(
            pg.TemporaryVariable(n, np.float64, shape="n, n", address_space=pg.AddressSpace.GLOBAL)
            for n in "uv"
        ),
        pg.GlobalArg("w", np.float64, shape="n, n"),
        loop_priority=["i, j", "p, q"],
    )
    knl = pg.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.0")
    with pytest.raises(pg.errors.UserError):
        pg.remove_instructions(knl, "v")
    (w,) = knl.executor("c")(n=5)[1]
    u = np.arange(5)[:, None] + 2.0 * np.arange(5)
    np.testing.assert_allclose(w, (u @ u).T, rtol=1e-13)


def test_validation_looks_at_it() -> None:
    knl = prepare(POWER)
    program = lower_prepared(knl, Model.LOOPS)

    def edited(**changes: Any) -> str:
        edit = where(Call, lambda node: (replace(node, **changes),), "y")
        return said(knl, edit(program), WrongStatement)

    (loop,) = program.host
    assert isinstance(loop, HostLoop)
    launch = loop.body[0]
    assert isinstance(launch, Launch)
    (call,) = launch.body
    assert isinstance(call, Call)
    n, m, a, stride, x, y = call.arguments
    assert "begins elsewhere" in edited(arguments=(n, m, a, stride, y, y))
    assert "another number" in edited(arguments=(n, 3, a, stride, x, y))
    assert "goes on elsewhere" in edited(arguments=(n, m, a, 3, x, y))
    assert "does not call gemv as it should" in edited(function="gemm")
    for changes in (
        {"options": (("trans", "T"),)},
        {"routine": "gemm"},
        {"dtype": np.dtype(np.float32)},
        {"name": "other"},
    ):
        wrong = replace(program, libraries=(replace(program.libraries[0], **changes),))
        assert "does not call gemv as it should" in said(knl, wrong, WrongStatement)


def check_agreement(case: Case) -> None:
    """The loop program does what the kernel means: the oracle executes both."""
    names = set(case.kernel.variables) & {"m", "n", "k"}
    dtype = np.complex128 if case.is_complex else np.float64
    arrays = {n: np.int32 if n == "p" else dtype for n in case.shapes}
    numbers = {n: case.number_type(dtype) for n in ("al", "be") if n in case.kernel.variables}
    values = dict.fromkeys(numbers, 2)
    sizes = [{**dict.fromkeys(names, size), **values} for size in (0, 1, 3)]
    agree(pg.add_dtypes(case.kernel, {**arrays, **numbers}), sizes)


@pytest.mark.parametrize("number", [0, 14, 17, 24, 45, 53])
def test_agree(number: int) -> None:
    check_agreement(CASES[number])


@pytest.mark.more
@pytest.mark.parametrize("case", CASES, ids=str)
def test_all_agree(case: Case) -> None:
    check_agreement(case)


def test_a_loop_agrees() -> None:
    agree(POWER, ({"n": 3, "T": 2}, {"n": 1, "T": 1}, {"n": 0, "T": 2}))
    counts = pg.get_synchronization_map(POWER)
    assert counts.eval_and_sum({"T": 5, "n": 3}) == 10  # launches
