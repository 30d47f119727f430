"""`collect_common_factors`: sums are multiplied, not all that they consist of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    AxisNotPossible,
    InvalidArgument,
    NewObligation,
    NothingMatches,
    OutOfBounds,
    Reassociated,
    TypeNotFound,
    UserError,
    VerbatimNotPossible,
)
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.language.parser import parse_expression
from polygen.transforms.instructions._expanded_products import multiplied_out
from tests.oracle.cases import SIZES, Step, grid, kernel
from tests.oracle.compare import check_arrays, make_arguments, typed

SQUARE = "{ [i,j]: 0<=i,j<n }"
S = pg.ValueArg("s", "float64")


def made(text: str, domains: Any = SQUARE, *data: Any, **options: Any) -> Kernel:
    """Return a kernel whose inputs are of float64."""
    knl = kernel(domains, text, *data, **options)
    arrays = [
        a.name
        for a in knl.arguments
        if isinstance(a, pg.GlobalArg) and a.name not in knl.writers and a.dtype is None
    ]
    return pg.add_dtypes(knl, dict.fromkeys(arrays, "float64"))


def sums() -> Kernel:
    return made(
        """
        <float64> t = 0.0                 {id=start, inames=i}
        t = t + alpha[i]*a[i,j]*x[j]      {id=one, dep=start}
        t = t + y[j]*(a[j,i]*alpha[i])    {id=two, dep=start:one}
        out[i] = t                        {dep=one:two}
        """
    )


def columns(domains: str = "{ [i,j,k]: 0<=i,j,k<n }") -> Kernel:
    """Return a kernel that keeps sums in an array, and reads them in another loop."""
    return made(
        """
        t[i] = 0                          {id=start}
        t[i] = t[i] + s*a[i,j]*c[i]       {id=one, dep=start}
        out[k] = t[n-1-k] + t[k]*t[k]     {dep=one}
        """,
        domains,
        pg.TemporaryVariable("t", "float64", "n", address_space=pg.AddressSpace.GLOBAL),
        S,
    )


def collect(name: str, *axes: int) -> Step:
    return lambda knl: pg.collect_common_factors(knl, name, axes)


# A kernel, the step, what is stored afterwards, and what it is read as.
CASES: dict[str, tuple[Kernel, Step, list[str], list[str]]] = {
    "two updates": (
        sums(),
        collect("t"),
        ["t = 0.0", "t = t + a[i, j]*x[j]", "t = t + y[j]*a[j, i]"],
        ["out[i] = alpha[i]*t"],
    ),
    "on a grid": (
        grid("i", 4)(sums()),
        collect("t"),
        ["t = 0.0", "t = t + a[4*i_outer + i_inner, j]*x[j]"],
        ["= alpha[4*i_outer + i_inner]*t"],
    ),
    "of an array": (
        columns(),
        collect("t"),
        ["t[i] = t[i] + a[i, j]*c[i]"],
        ["s*t[n - 1 - k] + (s*t[k])*(s*t[k])"],
    ),
    "that vary": (
        columns(),
        collect("t", 0),
        ["t[i] = t[i] + a[i, j]"],
        ["c[n - 1 - k]*s*t[n - 1 - k] + (c[k]*s*t[k])*(c[k]*s*t[k])"],
    ),
    "of a reduction": (
        made("<> t = sum(j, s*a[i,j]*c[i])\nout[i] = t + 1", SQUARE, S),
        collect("t"),
        ["t = sum(j, a[i, j])"],
        ["out[i] = c[i]*s*t + 1"],
    ),
    "of a product of reductions": (
        made("<> t = sum(j, a[i,j])*sum(k, s*x[k])\nout[i] = t", "{[i,j,k]: 0<=i,j,k<n}", S),
        collect("t"),
        ["t = sum(j, a[i, j])*sum(k, x[k])"],
        ["out[i] = s*t"],
    ),
    "twice": (
        made("<> t = s*(s*a[i,i] + s*c[i])\nout[i] = t", "{ [i]: 0<=i<n }", S),
        collect("t"),
        ["t = a[i, i] + c[i]"],
        ["out[i] = s*s*t"],
    ),
    "of a quotient and a choice": (
        made(
            "<> t = if(i < 3, s*a[i]/c[i], 2*a[i]*s) \nout[i] = t",
            "{ [i]: 0<=i<n }",
            S,
            pg.GlobalArg("c", None, "n"),
        ),
        collect("t"),
        ["t = if(i < 3, 1/c[i], 2)"],
        ["out[i] = a[i]*s*t"],
    ),
    "beside numbers": (
        made("<> t = 0.5*s*a[i] - 3*a[i]*s\nout[i] = t", "{ [i]: 0<=i<n }", S),
        collect("t"),
        ["t = 0.5 + -1*3"],
        ["out[i] = a[i]*s*t"],
    ),
    "in rules": (
        made(
            "f(q) := s*a[q]\ng(q) := t + q\n<> t = f(i)*c[i] + f(i)\nout[i] = g(i)*t",
            "{ [i]: 0<=i<n }",
            S,
        ),
        collect("t"),
        ["t = c[i] + 1"],
        ["(a[i]*s*t + i)*(a[i]*s*t)"],
    ),
    "that are expressions": (
        made("<> t = sin(c[i])*a[i]\nout[i] = t", "{ [i]: 0<=i<n }"),
        collect("t"),
        ["t = 1"],
        ["out[i] = a[i]*sin(c[i])*t"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_multiplied(name: str) -> None:
    old, step, stored, read = CASES[name]
    new = step(old)
    for line in (*stored, *read):
        assert line in str(new), str(new)
    assert pg.parse_kernel(str(new)) == new
    assert pg.replay(old, new.history[len(old.history) :]) == new
    assert new.domains == old.domains
    assert [i.within_inames for i in new.instructions] == [
        i.within_inames for i in old.instructions
    ]
    pg.check_well_formed(new)


@pytest.mark.parametrize("name", [n for n in CASES if "quotient" not in n and "expr" not in n])
def test_it_computes_the_same(name: str) -> None:
    old, step, _, _ = CASES[name]
    for size in SIZES:
        arguments = make_arguments(old, {**size, "s": 3})
        arguments["s"] = 3.0
        arguments = {n: v for n, v in arguments.items() if n in old.variables}
        check_arrays(typed(old, arguments), arguments, [step])


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_on_awkward_sizes(target: str) -> None:
    runs = {name: CASES[name][1](CASES[name][0]).executor(target) for name in CASES}
    for n in (0, 1, 7, 8, 9):
        random = np.random.default_rng(n)
        a, alpha, x, y, c = random.random((n, n)), *random.random((4, n)) + 1
        sums_of = alpha * (a @ x + a.T @ y)
        for name in ("two updates", "on a grid"):
            _, (out,) = runs[name](a=a, alpha=alpha, x=x, y=y)
            np.testing.assert_allclose(out, sums_of, rtol=1e-12)
        rows = 2.5 * c * a.sum(axis=1)
        for name in ("of an array", "that vary"):
            _, (out,) = runs[name](a=a, c=c, s=2.5)
            np.testing.assert_allclose(out, rows[::-1] + rows**2, rtol=1e-12)
        _, (out,) = runs["of a quotient and a choice"](a=x, c=c, s=2.5)
        choice: Any = np.where(np.arange(n) < 3, 2.5 * x / c, 5 * x)
        np.testing.assert_allclose(out, choice, rtol=1e-12)
        _, (out,) = runs["that are expressions"](a=x, c=c)
        np.testing.assert_allclose(out, x * np.sin(c), rtol=1e-12)


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("s*(a + b)", "a*s + b*s", True),
        ("s*(a - b)", "a*s + b*s", False),
        ("2*a + a", "3*a", True),
        ("a - a", "0.0", True),
        ("s*a/b", "a*(s/b)", True),
        ("s*a/b", "s*b/a", False),
        ("s*if(a < 1, b, 0)", "if(a < 1, s*b, 0)", True),
        ("s*if(a < 1, b, 0)", "if(a < 2, s*b, 0)", False),
        ("s*sum(j, x[j])", "sum(j, s*x[j])", True),
        ("sum(j, s*x[j])*sum(k, x[k])", "sum(j, x[j])*sum(k, s*x[k])", True),
        ("sum(j, x[j]*y[j])", "sum(j, x[j])*sum(j, y[j])", False),
        ("y[j]*sum(k, x[k])", "sum(k, y[k]*x[k])", False),
        ("sum((j, k), x[j]*y[k])", "sum(j, sum(k, x[j]*y[k]))", False),  # not seen
    ],
)
def test_multiplied_out(first: str, second: str, same: bool) -> None:
    one, other = (multiplied_out(_reduced(parse_expression(text))) for text in (first, second))
    assert (one == other) is same


def _reduced(node: Expression) -> Expression:
    """Return an expression whose calls of ``sum`` are reductions."""

    def rule(part: Expression) -> Expression:
        if not isinstance(part, ex.Call) or ex.name_of(part.function) != "sum":
            return part
        inames, operand = part.parameters
        names = (inames,) if isinstance(inames, ex.Variable) else walk.parts(inames)
        return ex.Reduction("sum", tuple(map(ex.name_of, names)), operand)

    return walk.rewrite(node, rule)


def test_integers_stay_integers() -> None:
    old = kernel(
        SQUARE,
        "<int32> t = 0 {id=t, inames=i}\nt = t + f[i]*k[i,j] {id=u, dep=t}\nout[i] = t {dep=u}",
        pg.GlobalArg("f", "int32", "n"),
        pg.GlobalArg("k", "int32", "n, n"),
        pg.GlobalArg("out", "int32", "n"),
    )
    new = pg.collect_common_factors(old, "t")
    k, f = np.arange(25, dtype=np.int32).reshape(5, 5), np.arange(5, dtype=np.int32) - 2
    for target in ("c", "opencl"):
        _, (out,) = new.executor(target)(k=k, f=f)
        np.testing.assert_array_equal(out, f * k.sum(axis=1))
    wide = pg.add_dtypes(
        kernel("{ [i]: 0<=i<n }", "<float32> t = f[i]*k[i]\nout[i] = t"),
        {"f": "float64", "k": "float32"},
    )
    with pytest.raises(InvalidArgument, match="multiplied by the factors it would be of type"):
        pg.collect_common_factors(wide, "t")
    truth = pg.TemporaryVariable("t", "bool")
    knl = kernel("{ [i]: 0<=i<n }", "t = a[i] > 1 or i > 3\nout[i] = t", truth)
    with pytest.raises(InvalidArgument, match="truth values have no factors"):
        pg.collect_common_factors(pg.add_dtypes(knl, {"a": "float32", "out": "bool"}), "t")


def test_the_temporary_keeps_its_type() -> None:
    old = pg.add_dtypes(
        kernel("{ [i]: 0<=i<n }", "<> t = f[i]*k[i]\nout[i] = t"),
        {"f": "float64", "k": "float32"},
    )
    new = pg.collect_common_factors(old, "t")
    assert new.array("t").dtype == np.dtype("float64")


T = pg.TemporaryVariable("t", "float64", 4)
REFUSED: dict[str, tuple[Any, Any, type[UserError], str]] = {
    "nothing in common": ("<> t = s*a[i] + c[i]\nout[i] = t", (), NothingMatches, "no factor"),
    "numbers": ("<> t = 2*a[i] + 2*c[i]\nout[i] = t", (), NothingMatches, "no factor"),
    "what the kernel writes": (
        "out[i] = 1  {id=one}\n<> t = out[i]*2  {id=t, dep=one}\nb[i] = t  {dep=t}",
        (),
        NothingMatches,
        "no factor",
    ),
    "what varies between iterations": (
        "<> t = 0 {id=t, inames=}\nt = t + c[i]*a[i] {id=u, dep=t}\nout[0] = t {dep=u}",
        (),
        NothingMatches,
        "no factor",
    ),
    "a square": (
        "<> t = s*a[i] {id=t}\nt = t*t*s*a[i] {id=u, dep=t}\nout[i] = t {dep=u}",
        (),
        InvalidArgument,
        r"'u' uses 't' in 't\*t\*s",
    ),
    "a condition on itself": (
        "<> t = s {id=t, inames=i}\nt = s*a[i] {id=u, dep=t, if=t > 3}\nout[i] = t {dep=u}",
        (),
        InvalidArgument,
        "'u' asks 't' which element to write, or whether",
    ),
    "axes that are not there": ("<> t = s*a[i]\nout[i] = t", (0,), AxisNotPossible, "no|none"),
    "no axes": ("<> t = s*a[i]\nout[i] = t", "0", InvalidArgument, "vary_by_axes='0'"),
    "a gather": (
        "<> t = c[idx[i]]*a[i]\nout[i] = t\nb[i] = t*2",
        (),
        NewObligation,
        r"c\[idx\[i\]\]",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    text, axes, kind, what = REFUSED[name]
    data: dict[str, Any] = {"s": S}
    if "idx" in text:
        data = {"idx": pg.GlobalArg("idx", "int32", "n"), "c": pg.GlobalArg("c", "float64", "m")}
    knl = made(text, "{ [i]: 0<=i<n }", *(d for n, d in data.items() if n in text))
    with pytest.raises(kind, match=what):
        pg.collect_common_factors(knl, "t", axes)


def test_factors_are_inside_where_they_are_evaluated() -> None:
    text = (
        "<> t = 0 {id=t, inames=i}\nt = t + c[i]*b[i,j] {id=u, dep=t, if=i < m}\nout[i] = t {dep=u}"
    )
    knl = made(text, SQUARE, pg.GlobalArg("c", None, "m"), pg.GlobalArg("b", None, "n, n"))
    with pytest.raises(OutOfBounds, match=r"reads c\["):
        pg.collect_common_factors(knl, "t")


def test_refused_for_options_types_and_other_uses() -> None:
    exact = pg.set_options(sums(), allow_reassociation=False)
    with pytest.raises(Reassociated, match="'t'"):
        pg.collect_common_factors(exact, "t")
    with pytest.raises(TypeNotFound):
        untyped = kernel("{ [i]: 0<=i<n }", "<> t = c[i]*a[i]\nout[i] = t")
        pg.collect_common_factors(untyped, "t")
    with pytest.raises(InvalidArgument, match="var_name='out'"):
        pg.collect_common_factors(sums(), "out")
    atomic = made(
        "<int32> t = 0 {id=t, atomic=init, inames=}\nt += k[i] {id=u, dep=t, atomic}\n"
        "b[0] = t {dep=u}",
        "{ [i]: 0<=i<n }",
        pg.GlobalArg("k", "int32", "n"),
    )
    with pytest.raises(InvalidArgument, match="atomically"):
        pg.collect_common_factors(atomic, "t")
    bound = made(
        "<int32> m = s*k[i]\nout[i] = sum(j, a[j])",
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<m }"],
        pg.GlobalArg("k", "int32", "n"),
        pg.GlobalArg("a", None, "n"),
        pg.ValueArg("s", "int32"),
    )
    with pytest.raises(InvalidArgument, match="'m' is a bound in"):
        pg.collect_common_factors(bound, "m")
    verbatim = kernel(
        "{ [i]: 0<=i<4 }",
        '<> t = 2.0*i {id=t}\n... code(i) "b[i] = t;" reads(t) writes(b[i]) {inames=i, dep=t}',
        pg.GlobalArg("b", "float64", 4),
    )
    with pytest.raises(VerbatimNotPossible, match="'t'"):
        pg.collect_common_factors(verbatim, "t")
