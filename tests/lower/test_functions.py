"""Kernels that are called become functions of the generated code."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import FunctionNotPossible, WrongStatement
from polygen.ir import expression as ex
from polygen.lower.lower import Model, lower_prepared, prepare
from polygen.lower.program import Call, Launch, Loop, LoopProgram
from polygen.validation.validate import validate
from tests.oracle.cases import QUIET, agree, grid, launches, tag

AXPY = pg.make_function(
    "{ [k]: 0<=k<m }", "y[k] = s*x[k] + y[k]", ["m", "s", "x", "y"], name="axpy"
)
SUMS = pg.make_function(
    "{ [p, q]: 0<=p<r and 0<=q<c }",
    "t[p] = sum(q, z[p, q])",
    ["r", "c", "z", "t"],
    name="sums",
    silenced_warnings=QUIET,
)
KERNELS = {"axpy": AXPY, "sums": SUMS}
CUBE = [pg.GlobalArg("a", None, "n, n, n"), pg.GlobalArg("b", None, "n, n")]
SIZES = tuple({"n": n} for n in (0, 1, 3, 5))


def calls(text: str, *data: Any, domain: Any = "{ [i]: 0<=i<n }", **more: Any) -> pg.Kernel:
    """Return a kernel that calls the two above."""
    functions = {**KERNELS, **more}
    return pg.make_kernel(
        domain, text, [*data, "..."], functions=functions, silenced_warnings=QUIET
    )


def source(knl: pg.Kernel, target: str = "c", **dtypes: Any) -> str:
    """Return the generated code, arrays without a type being of float32."""
    given = {
        a.name: dtypes.get(a.name, np.float32)
        for a in knl.arguments
        if a.dtype is None and (isinstance(a, pg.GlobalArg) or a.name in dtypes)
    }
    return str(pg.generate_code(pg.add_dtypes(knl, given), target))


def heads(code: str) -> list[str]:
    """Return the heads of the functions, without what is between parentheses over lines."""
    return [
        re.sub(r"\s+", " ", h).replace("( ", "(")
        for h in re.findall(r"static inline void (\w+\([^)]*\))", code)
    ]


def test_calls_that_agree_share_a_function() -> None:
    knl = calls(
        """
        [j]: b[i, j] = axpy(n, 2, [j]: a[i, 0, j], [j]: b[i, j])   {id=one}
        [j]: b[i, j] = axpy(n, i, [j]: a[0, i, j], [j]: b[i, j])   {id=two, dep=one}
        [j]: b[j, i] = axpy(n, 1, [j]: a[0, i, j], [j]: b[j, i])   {id=three, dep=two}
        [j]: b[i, j] = axpy(n, 1, [j]: a[0, j, i], [j]: b[i, j])   {id=four, dep=three}
        """,
        *CUBE,
    )
    code = source(knl)
    assert heads(code) == [
        "axpy(int const m, int const s, float const *x, float *y)",
        "axpy_0(int const m, int const s, float const *x, float *y, int const y_stride0)",
        "axpy_1(int const m, int const s, float const *x, int const x_stride0, float *y)",
    ]
    assert code.count("axpy(n, ") == 2
    assert "axpy_0(n, 1, a + i * n, b + i, n)" in code
    agree(knl, SIZES)


def test_types_make_functions_of_their_own() -> None:
    text = "[j]: c[j] = axpy(n, {}, [j]: d[j], [j]: c[j])"
    data = [pg.GlobalArg("c", None, "n"), pg.GlobalArg("d", None, "n")]
    knl = calls(text.format("s"), *data, domain="{ : }")
    for dtype, name in ((np.float32, "float"), (np.int64, "int64_t"), (np.complex64, "complex")):
        assert f"{name} *y" in source(knl, c=dtype, d=dtype, s=dtype)
    assert "double const s" in source(knl, s=np.float64, d=np.float32, c=np.float64)
    literal = calls(text.format(0.5), *data, domain="{ : }")
    assert "0.5f * x[k]" in source(literal)
    assert "0.5 * x[k]" in source(literal, c=np.float64, d=np.float64)
    assert heads(source(literal)) == ["axpy(int const m, float const *x, float *y)"]
    for target in "c", "opencl":
        for each in ("float32", "float64", "int8", "uint64", "complex128"):
            c, d = np.arange(5).astype(each), np.arange(5)[::-1].astype(each)
            three: Any = np.dtype(each).type(3)
            (found,) = knl.executor(target)(s=three, c=c.copy(), d=d)[1]
            np.testing.assert_array_equal(found, (three * d + c).astype(each), strict=True)


def test_declared_types_of_numbers_count() -> None:
    single = pg.make_function(
        "{ [k]: 0<=k<m }",
        "y[k] = s*x[k]",
        ["m", pg.ValueArg("s", np.float32), "x", "y"],
        name="single",
    )
    data = [pg.GlobalArg("c", np.float64, "n"), pg.GlobalArg("d", np.float64, "n")]
    knl = calls("[j]: c[j] = single(n, 0.1, [j]: d[j])", *data, domain="{ : }", single=single)
    d = np.arange(4.0)
    for each in (knl, pg.inline_callable_kernel(knl, "single")):
        for target in "c", "opencl":
            (found,) = each.executor(target)(d=d)[1]
            np.testing.assert_array_equal(found, np.float32(0.1) * d)


def test_address_spaces() -> None:
    knl = calls(
        """
        own[u] = b[i, u]                                              {id=load, dep=*}
        [j]: own[j] = axpy(3, 2, [j]: table[j], [j]: own[j])          {id=here, dep=load, inames=i}
        [j]: b[i, j] = axpy(3, 1, [j]: own[j], [j]: b[i, j])          {id=there, dep=here}
        """,
        pg.GlobalArg("b", np.float32, "n, 3"),
        pg.ConstantArg("table", np.float32, 3),
        pg.TemporaryVariable("own", np.float32, 3),
        domain="{ [i, u]: 0<=i<n and 0<=u<3 }",
    )
    code = source(knl, "opencl")
    assert heads(code) == [
        "axpy(int const m, int const s, __constant float const *x, float *y)",
        "axpy_0(int const m, int const s, float const *x, __global float *y)",
    ]
    agree(knl, SIZES, grid("i", 2), tag(i="g.0"))
    b, table = np.arange(12.0, dtype=np.float32).reshape(4, 3), np.array([1, 5, 7], np.float32)
    for target in "c", "opencl":
        (found,) = pg.split_iname(knl, "i", 2, outer_tag="g.0", inner_tag="l.0").executor(target)(
            b=b.copy(), table=table
        )[1]
        np.testing.assert_array_equal(found, 2 * b + 2 * table)


def test_local_memory_and_what_is_kept_across_barriers() -> None:
    knl = calls(
        """
        own[l, u] = 0                                                   {id=start, inames=g:l:u}
        s[v, w] = b[g, t, v, w]                                         {id=put, dep=start}
        with {inames=g:t:k}
        [j]: own[k, j] = axpy(3, 2, [j]: s[3 - k, 2 - j], [j]: own[k, j])  {id=add, dep=put}
        end
        c[g, m, x] = own[m, x]                                          {dep=add, inames=g:m:x}
        """,
        pg.GlobalArg("b", np.float32, "n, 5, 4, 3"),
        pg.GlobalArg("c", np.float32, "n, 4, 3"),
        pg.TemporaryVariable("own", np.float32, (4, 3)),
        pg.TemporaryVariable("s", np.float32, (4, 3), pg.AddressSpace.LOCAL),
        domain=["{ [g]: 0<=g<n }", "{ [t]: 0<=t<5 }"]
        + [f"{{ [{i}]: 0<={i}<4 }}" for i in "lkmv"]
        + [f"{{ [{i}]: 0<={i}<3 }}" for i in "uwx"],
    )
    knl = pg.prioritize_loops(pg.prioritize_loops(knl, "g,t,v,w"), "t,k")
    items = tag(g="g.0", **dict.fromkeys("lkmv", "l.0"))
    agree(knl, SIZES[:3], items)
    b = np.random.default_rng(3).integers(0, 9, (3, 5, 4, 3)).astype(np.float32)
    for target in "c", "opencl":
        (found,) = items(knl).executor(target)(b=b)[1]
        np.testing.assert_array_equal(found, 2 * b.sum(axis=1)[:, ::-1, ::-1])
    code = source(items(knl), "opencl")
    assert heads(code) == ["axpy(int const m, int const s, __local float const *x, float *y)"]
    assert "y[k] = s * x[-k] + y[k];" in code


def test_atomic_updates_in_functions() -> None:
    count = pg.make_function(
        "{ [k]: 0<=k<m }",
        "bins[x[k]] = bins[x[k]] + 1  {atomic}",
        ["m", "x", pg.GlobalArg("bins", None, "size"), "size"],
        name="count",
    )
    data = [pg.GlobalArg("a", np.int32, "n, m"), pg.GlobalArg("h", np.int32, "b")]
    text = "[j]: h[j] = count(m, [j]: a[i, j], [j]: h[j], b)"
    knl = pg.tag_inames(calls(text, *data, count=count), {"i": "g.0"})
    assert "#pragma omp atomic" in source(knl)  # the caller's loop is parallel
    assert "atomic_add(&bins[x[k]], 1);" in source(knl, "opencl")
    a = np.random.default_rng(1).integers(0, 5, (50, 41)).astype(np.int32)
    for target in "c", "opencl":
        (found,) = knl.executor(target)(a=a, h=np.zeros(5, np.int32))[1]
        np.testing.assert_array_equal(found, np.bincount(a.ravel(), minlength=5))


def test_halves_in_temporaries_are_floats() -> None:
    knl = calls(
        """
        own[u] = b[u]                                        {id=load}
        [j]: own[j] = axpy(3, 2, [j]: b[j], [j]: own[j])     {id=here, dep=load}
        c[v] = own[v]                                        {dep=here}
        """,
        pg.GlobalArg("b", np.float16, 3),
        pg.GlobalArg("c", np.float16, 3),
        pg.TemporaryVariable("own", np.float16, 3),
        domain=["{ [u]: 0<=u<3 }", "{ [v]: 0<=v<3 }"],
    )
    b = np.array([1, 2049 / 2048, 0.1], np.float16)
    for target in "c", "opencl":
        (found,) = knl.executor(target)(b=b)[1]
        np.testing.assert_array_equal(found, np.float16(2) * b + b, strict=True)


def test_two_axes() -> None:
    knl = calls("[p]: b[p, i] = sums(n, n, [p, q]: a[q, i, p])", *CUBE)
    assert heads(source(knl)) == [
        "sums(int const r, int const c, float const *z, int const z_stride1, float *t, "
        "int const t_stride0)"
    ]
    agree(knl, SIZES, grid("i", 2))
    a = np.random.default_rng(5).integers(0, 9, (4, 4, 4)).astype(np.float64)
    for layout in "C", "F":
        for target in "c", "opencl":
            (found,) = knl.executor(target)(a=np.asarray(a, order=layout))[1]
            np.testing.assert_array_equal(found, a.sum(axis=0).T)


def test_wide_counters() -> None:
    knl = calls("[j]: b[i, j] = axpy(n, 2, [j]: a[i, 0, j], [j]: b[i, j])", *CUBE)
    typed = pg.add_dtypes(knl, {"a": np.float32, "b": np.float32})
    program = lower_prepared(prepare(typed, np.dtype(np.int64)), Model.LOOPS, np.dtype(np.int64))
    assert {function.index_dtype.name for function in program.functions} == {"int64"}


BARRIER = "... lbarrier {id=wait, dep=put, inames=k}\n"
REFUSED: list[tuple[Callable[[], pg.Kernel], str]] = [
    (
        lambda: pg.split_iname(AXPY, "k", 2, inner_tag="l.0"),
        "its iname 'k_inner' is tagged l.0",
    ),
    (
        lambda: pg.make_function(
            "{ [k]: 0<=k<m }",
            "<> t = s*x[k] {id=put}\n" + BARRIER + "y[k] = y[k] + t {dep=wait}",
            ["m", "s", "x", "y"],
        ),
        "it has a barrier, 'wait'",
    ),
    (
        lambda: pg.make_function(
            "{ [k]: 0<=k<m }",
            "t[0] = s*x[k]\ny[k] = y[k] + t[0]",
            ["m", "s", "x", "y", pg.TemporaryVariable("t", None, 1, pg.AddressSpace.LOCAL)],
        ),
        "its temporary 't' is local",
    ),
    (
        lambda: pg.make_function(
            "{ [k]: 0<=k<m }",
            "y[k] = s*x[k]*t[0] + y[k]",
            [
                *["m", "s", "x", "y"],
                pg.TemporaryVariable("t", initializer=np.array([2.0]), read_only=True),
            ],
        ),
        "it has a table of constants, 't'",
    ),
]


@pytest.mark.parametrize(("make", "why"), REFUSED, ids=["tag", "barrier", "local", "table"])
def test_what_no_function_can_have(make: Callable[[], pg.Kernel], why: str) -> None:
    knl = calls("[j]: b[i, j] = f(n, 2, [j]: a[i, 0, j], [j]: b[i, j])", *CUBE, f=make())
    with pytest.raises(FunctionNotPossible, match=re.escape(why)) as caught:
        source(knl)
    assert "inline_callable_kernel(kernel, 'f')" in str(caught.value.remedy)
    agree(pg.inline_callable_kernel(knl, "f"), SIZES)


def unit_of(scratch: str, *shape: int) -> pg.Kernel:
    """A kernel whose columns are divided by their norms, by kernels that call each other."""
    squares = pg.make_function(
        "{ [k]: 0<=k<m }",
        "s = sum(k, x[k]*x[k])",
        ["m", "x", pg.GlobalArg("s", shape=())],
        name="squares",
    )
    unit = pg.make_function(
        "{ [p]: 0<=p<q }",
        f"{scratch} = squares(q, [w]: v[w])\nu[p] = v[p]/sqrt({scratch})",
        ["q", "v", "u", pg.TemporaryVariable("t", None, shape)],
        name="unit",
        functions={"squares": squares},
    )
    text = "[j]: b[j, i] = unit(m, [j]: a[j, i])"
    data = [*(pg.GlobalArg(x, np.float64, "m, n") for x in "ab"), "..."]
    return pg.make_kernel("{ [i]: 0<=i<n }", text, data, functions={"unit": unit})


def test_a_result_that_is_a_scalar_in_a_kernel_that_is_called() -> None:
    knl = unit_of("t")
    assert (
        heads(source(knl))[0]
        == "squares(int const m, double const *x, int const x_stride0, double *s)"
    )
    assert "squares(q, v, v_stride0, &t);" in source(knl)
    program = pg.merge([knl])
    inlined = program.with_kernel(pg.inline_callable_kernel(program["unit"], "squares"))
    for way in (knl, unit_of("t[0]", 1), inlined[knl.name]):
        for target, n in itertools.product(("c", "opencl"), (0, 1, 7)):
            a = np.random.default_rng(n).random((5, n)) + 0.1
            _, (b,) = way.executor(target)(a=a)
            np.testing.assert_allclose(b, a / np.sqrt((a * a).sum(0)))


SUM = pg.make_function(
    "{ [k]: 0<=k<m }", "s = sum(k, x[k])", ["m", "x", pg.GlobalArg("s", shape=())], name="total"
)
ADD = pg.make_function(
    "{ : }",
    "s = s + v*w",
    [pg.GlobalArg("s", shape=()), "v", pg.GlobalArg("w", shape=())],
    name="add",
)
SCALARS = """
    <> t = total(3, [j]: a[i, j])     {id=t}
    <> u = a[i, 0]                    {id=u}
    u = add(u, i, t)                  {id=v, dep=t:u, inames=i}
    c[i] = t*u                        {dep=v:t}
"""


@pytest.mark.parametrize(
    "dtype",
    [
        "float16",
        "int8",
        "complex64",
        *(pytest.param(t, marks=pytest.mark.more) for t in ("float32", "uint64")),
    ],
)
def test_results_that_are_scalars(dtype: str) -> None:
    data = [pg.GlobalArg("a", dtype, "n, 3"), pg.GlobalArg("c", dtype, "n")]
    knl = calls(SCALARS, *data, total=SUM, add=ADD)
    assert pg.parse_kernel(str(knl)) == knl
    if dtype == "float32":
        agree(pg.add_dtypes(knl, {"t": dtype}), SIZES, tag(i="g.0"), grid("i", 2))
    for n in (0, 1, 7):
        a = np.random.default_rng(n).integers(0, 3, (n, 3)).astype(dtype)
        t = a.sum(1, dtype=dtype)
        expected = t * (a[:, 0] + np.arange(n).astype(dtype) * t)
        for target in "c", "opencl":
            for way in knl, grid("i", 4)(knl), pg.split_iname(knl, "i", 4, inner_tag="unr"):
                (found,) = way.executor(target)(a=a)[1]
                np.testing.assert_array_equal(found, expected.astype(dtype), strict=True)


@pytest.mark.parametrize("space", ["private", "local", "global", "auto"])
def test_scalars_in_address_spaces(space: str) -> None:
    knl = calls(
        "t = total(3, [j]: a[i, j])  {id=t}\nc[i] = 2*t  {dep=t}",
        *[pg.GlobalArg("a", np.float32, "n, 3"), pg.GlobalArg("c", np.float32, "n")],
        pg.TemporaryVariable("t", np.float32, (), pg.AddressSpace(space)),
        total=SUM,
    )
    given = {"local": "__local ", "global": "__global "}.get(space, "")
    assert heads(source(knl, "opencl")) == [
        f"total(int const m, __global float const *x, {given}float *s)"
    ]
    assert ("3 * i, t);" if space == "global" else "3 * i, &t);") in source(knl, "opencl")
    agree(knl, SIZES)
    a = np.arange(21, dtype=np.float32).reshape(7, 3)
    for target in "c", "opencl":
        np.testing.assert_array_equal(knl.executor(target)(a=a)[1][0], 2 * a.sum(1))


def test_a_scalar_that_is_kept_across_a_barrier() -> None:
    knl = calls(
        """
        <> t = total(3, [j]: a[i, j])     {id=t}
        ... lbarrier                      {id=wait, dep=t, inames=i}
        c[i] = 2*t                        {dep=wait:t}
        """,
        *[pg.GlobalArg("a", np.float32, "8, 3"), pg.GlobalArg("c", np.float32, 8)],
        domain="{ [i]: 0<=i<8 }",
        total=SUM,
    )
    knl = pg.tag_inames(knl, {"i": "l.0"})
    assert "total(3, a + 3 * i, t + i);" in source(knl)  # of each work item
    assert "total(3, a + 3 * i, &t);" in source(knl, "opencl")
    a = np.arange(24, dtype=np.float32).reshape(8, 3)
    for target in "c", "opencl":
        np.testing.assert_array_equal(knl.executor(target)(a=a)[1][0], 2 * a.sum(1))


def test_another_scalar_is_found() -> None:
    text = "<> t = total(3, [j]: a[i, j]) {id=t}\n<> u = i {id=u}\nc[i] = t + u {dep=t:u}"
    knl = calls(text, pg.GlobalArg("a", np.float32, "n, 3"), total=SUM)
    kernel = prepare(pg.add_dtypes(knl, {"c": np.float32}))
    program = lower_prepared(kernel, Model.LOOPS)
    validate(kernel, program)
    (launch,) = launches(program)
    other = with_argument(2, ex.Variable("u"))
    nodes = [mapped(node, other) for node in launch.body]
    with pytest.raises(WrongStatement, match="'s' begins elsewhere"):
        validate(kernel, replace(program, host=(replace(launch, body=tuple(nodes)),)))


def mapped(node: Any, change: Callable[[Call], Call]) -> Any:
    """Return a node with the calls in it changed."""
    if isinstance(node, Loop):
        return replace(node, body=tuple([mapped(child, change) for child in node.body]))
    return change(node) if isinstance(node, Call) else node


@pytest.mark.parametrize(
    ("array", "why"),
    [
        (pg.GlobalArg("b", np.float32, "n, 4", dim_tags="N0, vec"), "axes tagged vec or sep"),
        (pg.ImageArg("b", np.float32, "n, 4"), "it is given 'b', an image"),
    ],
    ids=["vec", "image"],
)
def test_arrays_that_no_function_can_be_given(array: Any, why: str) -> None:
    text = "[j]: c[i, j] = axpy(4, 2, [j]: b[i, j], [j]: c[i, j])"
    knl = calls(text, array, pg.GlobalArg("c", None, "n, 4"))
    with pytest.raises(FunctionNotPossible, match=re.escape(why)):
        source(knl, "opencl")


@pytest.mark.parametrize(
    ("text", "why", "remedy"),
    [
        ("axpy(n, 0.5*i, [j]: a[i, 0, j], [j]: b[i, j])", "without a type of its own", "float64("),
        ("axpy(n, 1, [j]: a[i, 0, j//2], [j]: b[i, j])", "'j//2' is no multiple", "inline"),
        ("axpy(n, 1, [j]: a[i, 0, j % 2], [j]: b[i, j])", "'j % 2' is no multiple", "inline"),
    ],
)
def test_what_no_function_can_be_given(text: str, why: str, remedy: str) -> None:
    knl = calls(f"[j]: b[i, j] = {text}  {{if=n > 2}}", *CUBE)
    with pytest.raises(FunctionNotPossible, match=re.escape(why)) as caught:
        source(knl)
    assert remedy in str(caught.value.remedy)
    agree(pg.inline_callable_kernel(knl, "axpy"), SIZES)


# --- validation


def broken(program: LoopProgram, change: Callable[[Call], Call]) -> LoopProgram:
    """Return a program with its call changed."""
    (launch,) = launches(program)
    (loop,) = launch.body
    assert isinstance(loop, Loop)
    (call,) = loop.body
    assert isinstance(call, Call)
    new = replace(launch, body=(replace(loop, body=(change(call),)),))
    assert isinstance(new, Launch)
    return replace(program, host=(new,))


def with_argument(position: int, value: Any) -> Callable[[Call], Call]:
    """Return what changes an argument of a call."""

    def change(call: Call) -> Call:
        arguments = list(call.arguments)
        arguments[position] = value(arguments[position]) if callable(value) else value
        return replace(call, arguments=tuple(arguments))

    return change


FAULTS: list[tuple[Callable[[Call], Call], str]] = [
    (with_argument(0, 3), "'m' is given another number"),
    (with_argument(1, ex.Variable("n")), "'s' is given another number"),
    (with_argument(2, ex.Subscript(ex.Variable("a"), 0)), "'x' begins elsewhere"),
    (with_argument(2, ex.Subscript(ex.Variable("b"), 0)), "'x' begins elsewhere"),
    (with_argument(3, 1), "'x' goes on elsewhere"),
    (lambda call: replace(call, arguments=call.arguments[:-1]), "is given 4 arguments"),
    (lambda call: replace(call, function="other"), "'other' is called instead of 'axpy'"),
    (lambda call: replace(call, insn_id="nothing"), "nothing"),
]


@pytest.mark.parametrize(("change", "what"), FAULTS)
def test_faults_are_found(change: Callable[[Call], Call], what: str) -> None:
    knl = calls("[j]: b[i, j] = axpy(n, i, [j]: a[j, i, 0], [j]: b[i, j])", *CUBE)
    kernel = prepare(pg.add_dtypes(knl, {"a": np.float32, "b": np.float32}))
    program = lower_prepared(kernel, Model.LOOPS)
    validate(kernel, program)
    with pytest.raises(WrongStatement, match=re.escape(what)):
        validate(kernel, broken(program, change))


def test_another_function_is_found() -> None:
    knl = calls("[j]: b[i, j] = axpy(n, i, [j]: a[j, i, 0], [j]: b[i, j])", *CUBE)
    kernel = prepare(pg.add_dtypes(knl, {"a": np.float32, "b": np.float32}))
    program = lower_prepared(kernel, Model.LOOPS)
    (function,) = program.functions
    (launch,) = launches(function)
    (loop,) = launch.body
    assert isinstance(loop, Loop)
    wrong = replace(function, host=(replace(launch, body=(replace(loop, body=()),)),))
    with pytest.raises(pg.errors.WrongLoopProgram):
        validate(kernel, replace(program, functions=(wrong,)))
    with pytest.raises(WrongStatement, match="other functions than it calls"):
        validate(kernel, replace(program, functions=()))


# --- address spaces that are found


def test_auto_temporaries() -> None:
    auto = pg.AddressSpace.AUTO
    own = pg.TemporaryVariable("t", np.float64, 4, auto)
    twice = pg.make_function(
        "{ [k]: 0<=k<4 }",
        "t[k] = 2*x[k]  {id=t}\ny[k] = t[k] + x[k]  {dep=t}",
        ["x", "y", own],
        name="thrice",
    )
    knl = calls(
        """
        s[u] = a[i, u]                    {id=s, dep=*}
        [j]: b[i, j] = thrice([j]: s[j])  {dep=s, inames=i}
        """,
        *[pg.GlobalArg(name, np.float64, "n, 4") for name in "ab"],
        pg.TemporaryVariable("s", np.float64, 4, auto),
        domain=["{ [i]: 0<=i<n }", "{ [u]: 0<=u<4 }"],
        thrice=twice,
    )
    shared = tag(u="l.0", i="g.0")
    agree(knl, SIZES, tag(i="g.0"), grid("i", 2), shared)
    assert pg.address_spaces(knl)["s"] is pg.AddressSpace.PRIVATE
    assert pg.address_spaces(shared(knl))["s"] is pg.AddressSpace.LOCAL
    assert heads(source(shared(knl), "opencl")) == [
        "thrice(__local double const *x, __global double *y)"
    ]
    a = np.arange(12.0).reshape(3, 4)
    for target in "c", "opencl":
        np.testing.assert_array_equal(shared(knl).executor(target)(a=a)[1][0], 3 * a)
