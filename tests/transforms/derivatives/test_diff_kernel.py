"""`diff_kernel`: Jacobians, tangents and adjoints, compared with central differences."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import polygen as pg
from polygen.ir.kernel import Kernel
from tests.few import few

Arrays = dict[str, Any]


def made(domains: Any, text: str, *data: Any, **options: Any) -> Kernel:
    """Return a kernel whose arrays and scalars are of float64 unless something else is declared."""
    knl = pg.make_kernel(domains, text, [*data, "..."], name="one", **options)
    names = [a.name for a in knl.arguments if isinstance(a, pg.GlobalArg) and a.dtype is None]
    return pg.add_dtypes(knl, dict.fromkeys(names, "float64"))


def array(name: str, shape: Any, dtype: str = "float64") -> pg.GlobalArg:
    return pg.GlobalArg(name, dtype, shape)


def scalar(name: str) -> pg.ValueArg:
    return pg.ValueArg(name, "float64")


def temporary(name: str, shape: Any) -> pg.TemporaryVariable:
    return pg.TemporaryVariable(name, "float64", shape, pg.AddressSpace.GLOBAL)


@dataclass(frozen=True)
class Case:
    """A kernel, and what it is differentiated by.

    Attributes:
        kernel: the kernel.
        outputs: what is differentiated.
        by: by what.
        sizes: for which sizes.
        data: what is passed beside random numbers, for given sizes.
    """

    kernel: Kernel
    outputs: tuple[str, ...]
    by: tuple[str, ...]
    sizes: Sequence[Mapping[str, int]] = tuple({"n": n} for n in (0, 1, 7, 9))
    data: Callable[[Mapping[str, int]], Arrays] = lambda _: {}


N = tuple({"n": n} for n in (0, 1, 7, 9))
POSITIVE = tuple({"n": n} for n in (1, 7, 9))
STEPS = tuple({"n": n, "m": m} for n, m in ((0, 2), (1, 3), (7, 2), (8, 0), (5, 3)))
BOTH = tuple({"n": n, "m": m} for n, m in ((0, 2), (1, 0), (7, 3), (8, 5)))


def rows(sizes: Mapping[str, int]) -> Arrays:
    """Return a matrix with compressed rows: as many entries in row `i` as ``i % 3``."""
    counts = np.arange(sizes["n"]) % 3
    first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    column = np.arange(first[-1], dtype=np.int32) * 5 % max(sizes["m"], 1)
    return {"first": first, "column": column}


def spread(sizes: Mapping[str, int]) -> Arrays:
    return {"k": (np.arange(sizes["n"]) * 3 % 4).astype(np.int32)}


CASES: dict[str, Case] = {
    "functions and a temporary": Case(
        made(
            "{ [i,j]: 0<=i,j<n }",
            "<> t = x[i]**2\nz[i] = sin(t) + y[i]*sum(j, a[i,j]*x[j])",
            array("x", "n"),
            array("y", "n"),
            array("a", "n, n"),
        ),
        ("z",),
        ("x", "y", "a"),
    ),
    "several outputs": Case(
        made(
            "{ [i]: 0<=i<n }",
            "<> r = sqrt(x[i]*x[i] + 1)\nu[i] = x[i]/r/y[i]\nv[i] = log(r)*y[i] - x[i]",
            array("x", "n"),
            array("y", "n"),
        ),
        ("u", "v"),
        ("x", "y"),
    ),
    "a recurrence": Case(
        made(
            "{ [t]: 1<=t<n }",
            "u[t] = u[t-1]*w[t] + sin(u[t-1])",
            array("u", "n"),
            array("w", "n"),
        ),
        ("u",),
        ("u", "w"),
    ),
    "a scalar that is carried": Case(
        made(
            ["{ [i]: 0<=i<n }", "{ [t]: 1<=t<n }"],
            "<> s = 1 {id=s0}\ns = s*(x[t] + 0.1*s) {id=s1,dep=s0}\nz[i] = s*x[0]*x[i] {dep=s1}",
            array("x", "n"),
            assumptions="n >= 1",
        ),
        ("z",),
        ("x",),
        POSITIVE,
    ),
    "split loops": Case(
        pg.split_iname(
            made("{ [i]: 1<=i<n }", "u[i] = u[i]*u[i-1]*w[i]", array("u", "n"), array("w", "n")),
            "i",
            4,
        ),
        ("u",),
        ("u", "w"),
    ),
    "in the loop of a sum": Case(
        made(
            "{ [i,j]: 0<=i<n and 0<=j<n }",
            "<> t = sin(x[j])*x[i] {inames=i:j}\nz[i] = sum(j, a[i,j]*t*x[j])*x[i] {inames=i}",
            array("a", "n, n"),
            array("x", "n"),
            loop_priority="i, j",
        ),
        ("z",),
        ("x", "a"),
    ),
    "joined loops": Case(
        pg.join_inames(
            made(
                "{ [i,j,t]: 0<=i<n and 0<=j<m and 0<=t<2 }",
                "u[i,j] = u[i,j]*u[i,j]*w[j]  {inames=t:i:j}",
                array("u", "n, m"),
                array("w", "m"),
                loop_priority="t, i, j",
            ),
            ["i", "j"],
        ),
        ("u",),
        ("u", "w"),
        tuple({"n": n, "m": m} for n, m in ((0, 2), (2, 0), (3, 2), (1, 1))),
    ),
    "in place": Case(
        made(
            "{ [i,t]: 0<=i<n and 0<=t<3 }",
            "u[i] = u[i]*u[i]*w[i] + t  {inames=i:t}",
            array("u", "n"),
            array("w", "n"),
            loop_priority="t, i",
        ),
        ("u",),
        ("u", "w"),
    ),
    "steps in time": Case(
        made(
            "{ [t,i,j]: 0<=t<m and 1<=i<n-1 and 1<=j<n-1 }",
            """
            for t
                v[i] = u[i] + 0.1*(u[i-1] - 2*u[i] + u[i+1]) + 0.1*u[i]*u[i]  {id=v, dep=*}
                u[j] = v[j]*c[j]  {id=u, dep=v}
            end
            """,
            array("u", "n"),
            array("c", "n"),
            temporary("v", "n"),
        ),
        ("u",),
        ("u", "c"),
        tuple({"n": n, "m": m} for n, m in ((1, 2), (2, 3), (7, 2), (8, 0), (5, 3))),
    ),
    "compressed rows": Case(
        made(
            ["{ [i]: 0<=i<n }", "{ [j]: start<=j<end }"],
            """
            <int32> start = first[i]
            <int32> end = first[i+1]
            y[i] = sum(j, v[j]*x[column[j]]*x[column[j]])
            """,
            array("first", "n+1", "int32"),
            array("column", "nnz", "int32"),
            array("v", "nnz"),
            array("x", "m"),
        ),
        ("y",),
        ("x", "v"),
        tuple({"n": n, "m": m} for n, m in ((1, 2), (7, 3), (8, 5))),
        rows,
    ),
    "gathered": Case(
        made(
            "{ [i]: 0<=i<n }",
            "z[i] = exp(x[k[i]])*y[i]",
            array("k", "n", "int32"),
            array("x", 4),
            array("y", "n"),
        ),
        ("z",),
        ("x", "y"),
        N,
        spread,
    ),
    "scattered": Case(
        made(
            "{ [i]: 0<=i<n }",
            "z[k[i]] = z[k[i]] + x[i]*x[i]",
            array("k", "n", "int32"),
            array("z", 4),
            array("x", "n"),
        ),
        ("z",),
        ("x", "z"),
        N,
        spread,
    ),
    "predicates": Case(
        made(
            "{ [i]: 0<=i<n }",
            """
            z[i] = x[i]*x[i]  {id=all}
            z[i] = z[i]*x[i-1]  {if=i >= 1 and c[i] > 0, dep=all, id=some}
            """,
            array("x", "n"),
            array("c", "n"),
        ),
        ("z",),
        ("x",),
    ),
    "by cases": Case(
        made(
            "{ [i]: 0<=i<n }",
            "z[i] = (x[i]*y[i] if x[i] > y[i] else sin(y[i])) + max(x[i], y[i], 0.1) + "
            "min(x[i], 2*y[i])*fabs(x[i] - 0.3) + (x[i-1] if i > 0 else 0)",
            array("x", "n"),
            array("y", "n"),
        ),
        ("z",),
        ("x", "y"),
    ),
    "products and extrema": Case(
        made(
            ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }", "{ [k]: 0<=k<n }"],
            """
            z[i] = product(j, x[j] + i)*x[i]*y[i]
            w[i] = max(k, x[k]*y[i]) + min(k, x[k] + y[k])*y[i]
            """,
            array("x", "n"),
            array("y", "n"),
            assumptions="n >= 1",
        ),
        ("z", "w"),
        ("x", "y"),
        POSITIVE,
    ),
    "the largest of each row": Case(
        made(
            ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<m }", "{ [k]: 0<=k<m }", "{ [l]: 0<=l<m }"],
            """
            <> most = max(j, a[i,j]*x[j])
            <> s = sum(k, exp(a[i,k] - most))
            z[i] = most*s
            w[i] = (min(l, a[i,l]*x[l]) if x[0] > 0.5 else s)*a[i,0]
            """,
            array("a", "n, m"),
            array("x", "m"),
            assumptions="m >= 1",
        ),
        ("z", "w"),
        ("a", "x"),
        tuple({"n": n, "m": m} for n, m in ((0, 2), (1, 1), (7, 3), (8, 5))),
    ),
    "sums in sums": Case(
        made(
            "{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<n }",
            "z[i] = sum(j, b[j]*sin(sum(k, a[i,k]*x[k]*b[j])))",
            array("a", "n, n"),
            array("b", "m"),
            array("x", "n"),
        ),
        ("z",),
        ("x", "b"),
        BOTH,
    ),
    "a triangle": Case(
        made(
            ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<i }"],
            "x[i] = (b[i] - sum(j, l[i,j]*x[j]))/l[i,i]",
            array("x", "n"),
            array("b", "n"),
            array("l", "n, n"),
        ),
        ("x",),
        ("b", "l"),
        N,
        lambda sizes: {"l": np.eye(sizes["n"]) * 2 + 0.1},
    ),
    "rules": Case(
        made(
            "{ [i,j]: 0<=i<n and 0<=j<m }",
            "f(k) := x[k]*exp(x[k])\nz[i,j] = f(i)*f(j)*y[j]",
            array("x", "n + m"),
            array("y", "m"),
            loop_priority="i, j",
        ),
        ("z",),
        ("x", "y"),
        BOTH,
    ),
    "at once": Case(
        made(
            "{ [i,t]: 0<=i<n and 0<=t<3 }",
            "a[i], b[i] = cos(b[i])*a[i], a[i]*b[i]  {inames=i:t}",
            array("a", "n"),
            array("b", "n"),
            loop_priority="t, i",
        ),
        ("a", "b"),
        ("a", "b"),
    ),
    "scalars": Case(
        made(
            "{ [i]: 0<=i<n }",
            "z[i] = s*x[i] + exp(s*r)*x[i]**3 + pow(x[i] + 2, s)",
            scalar("s"),
            scalar("r"),
            array("x", "n"),
        ),
        ("z",),
        ("s", "x", "r"),
    ),
    "saved where it is read": Case(
        made(
            "{ [i,j,k,t]: 0<=i,j,k<n and 0<=t<2 }",
            """
            for t
                z[i] = z[i] + (v[i-1]*x[i]*v[i-1] if i > 0 and c[i] > 0.5 else x[i])
                z[0] = z[0] + sum(j, (v[j]*x[j+1]*v[j] if j < n-1 else x[j]))*z[0]
                v[k] = v[k]*z[k]*0.5
            end
            """,
            array("z", "n"),
            array("v", "n"),
            array("x", "n"),
            array("c", "n"),
            assumptions="n >= 1",
            seq_dependencies=True,
        ),
        ("z", "v"),
        ("x", "v"),
        POSITIVE,
    ),
    "what is between outputs": Case(
        made(
            ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"],
            """
            a[i] = x[i]*x[i]      {id=a}
            b[j] = a[n-1-j]*a[j]  {id=b, dep=a}
            a[j] = b[j]*x[j]      {dep=b}
            """,
            array("a", "n"),
            array("b", "n"),
            array("x", "n"),
        ),
        ("a",),
        ("x",),
    ),
}


# Each takes PoCL a second a kernel; what differs from C is in all of them.
ON_POCL = ("functions and a temporary", "steps in time", "compressed rows", "scattered", "by cases")


def random(case: Case, sizes: Mapping[str, int]) -> Arrays:
    """Return arguments: random numbers between 0.2 and 0.9."""
    rng = np.random.default_rng(len(sizes) + sum(sizes.values()))
    given: Arrays = dict(case.data(sizes))
    names = dict(sizes) | ({"nnz": len(given["column"])} if "column" in given else {})
    for argument in case.kernel.arguments:
        if argument.name in given:
            continue
        if isinstance(argument, pg.GlobalArg):
            shape = [int(eval(str(e), {}, dict(names))) for e in argument.shape or ()]  # noqa: S307
            given[argument.name] = 0.2 + 0.7 * rng.random(shape)
        else:
            given[argument.name] = names.get(argument.name, 0.7)
    return given


def run(knl: Kernel, given: Arrays, target: str) -> Arrays:
    """Return what a kernel leaves in the arrays that it writes."""
    names = {a.name for a in knl.arguments}
    passed = {n: np.array(v) if np.ndim(v) else v for n, v in given.items() if n in names}
    written = [a.name for a in knl.arguments if a.name in knl.writers]
    _, found = _executor(knl, target)(**passed)
    return dict(zip(written, found, strict=True))


@functools.lru_cache(maxsize=8)  # differences call one kernel hundreds of times
def _executor(knl: Kernel, target: str) -> Any:
    return knl.executor(target)


def values(case: Case, given: Arrays) -> NDArray[Any]:
    """Return the outputs, one after the other."""
    found = run(case.kernel, given, "c")
    return np.concatenate([np.ravel(found[name]) for name in case.outputs])


@functools.cache
def jacobian(name: str, position: int) -> dict[str, NDArray[Any]]:
    """Return central differences: for each argument, a row an output, a column an element."""
    case = CASES[name]
    given = random(case, case.sizes[position])
    found: dict[str, NDArray[Any]] = {}
    rows = len(values(case, given))
    for by in case.by:
        columns: list[NDArray[Any]] = []
        for element in range(np.size(given[by])):
            both: list[NDArray[Any]] = []
            for h in (1e-5, -1e-5):
                moved = np.array(given[by], dtype=np.float64)
                moved.reshape(-1)[element] += h
                at = moved if np.ndim(given[by]) else float(moved)
                both.append(values(case, {**given, by: at}))
            columns.append((both[0] - both[1]) / 2e-5)
        found[by] = np.array(columns).T.reshape(rows, len(columns))
    return found


def directions(case: Case, given: Arrays) -> dict[str, NDArray[Any]]:
    rng = np.random.default_rng(1)
    return {name: rng.standard_normal(np.shape(given[name])) for name in case.by}


def along(case: Case, knl: Kernel, given: Arrays, target: str) -> NDArray[Any]:
    """Return the tangents of all outputs."""
    v = directions(case, given)
    dots = {f"{n}_dot": d if np.ndim(given[n]) else float(d) for n, d in v.items()}
    found = run(knl, given | _zeros(case, knl, given, "_dot") | dots, target)
    return np.concatenate([np.ravel(found[f"{name}_dot"]) for name in case.outputs])


def _zeros(case: Case, knl: Kernel, given: Arrays, suffix: str) -> Arrays:
    """Return arrays for what else is written, which need not be passed where sizes are known."""
    return {
        n + suffix: np.zeros_like(v)
        for n, v in given.items()
        if np.ndim(v) and n not in (*case.by, *case.outputs) and n + suffix in knl.variables
    }


def adjoints(case: Case, knl: Kernel, given: Arrays, target: str) -> tuple[Any, Arrays]:
    """Return the seeds, one after the other, and the adjoint of each argument."""
    rng = np.random.default_rng(2)
    seeds = {f"{n}_bar": rng.standard_normal(np.shape(given[n])) for n in case.outputs}
    whole = np.concatenate([np.ravel(seeds[f"{n}_bar"]) for n in case.outputs])
    found = run(knl, given | seeds, target)
    return whole, {n: (seeds | found)[f"{n}_bar"] for n in case.by}


@few(8, "name", CASES)
def test_derivatives_are_those_of_central_differences(name: str) -> None:
    case = CASES[name]
    tangent = pg.diff_kernel(case.kernel, case.outputs, case.by, mode="tangent")
    reverse = pg.diff_kernel(case.kernel, case.outputs, case.by, mode="reverse")
    for knl in (tangent, reverse):
        assert pg.parse_kernel(str(knl)) == knl
        assert pg.replay(knl.original or knl, knl.history) == knl
        pg.check_well_formed(knl)
    for position, sizes in enumerate(case.sizes):
        given = random(case, sizes)
        wanted = jacobian(name, position)
        v = directions(case, given)
        for target in ("c", "opencl") if sizes == case.sizes[-2] and name in ON_POCL else ("c",):
            dot = along(case, tangent, given, target)
            product = np.sum([wanted[n] @ v[n].ravel() for n in case.by], axis=0)
            np.testing.assert_allclose(dot, product, rtol=1e-6, atol=1e-7)
            w, bars = adjoints(case, reverse, given, target)
            for n in case.by:
                bar: NDArray[Any] = bars[n]
                gradient = (w @ wanted[n]).reshape(bar.shape)
                np.testing.assert_allclose(bar, gradient, rtol=1e-6, atol=1e-7, err_msg=n)
            sides = w @ dot, sum(np.sum(v[n] * bars[n]) for n in case.by)
            np.testing.assert_allclose(*sides, rtol=1e-11, atol=1e-12)


@pytest.mark.more
@pytest.mark.parametrize("name", CASES)
def test_jacobians_are_those_of_central_differences(name: str) -> None:
    case = CASES[name]
    for by in case.by:
        knl = pg.diff_kernel(case.kernel, case.outputs, by)
        assert pg.parse_kernel(str(knl)) == knl
        pg.check_well_formed(knl)
        for position, sizes in enumerate(case.sizes):
            given = random(case, sizes)
            wanted = jacobian(name, position)[by]
            for target in (
                ("c", "opencl") if sizes == case.sizes[-2] and name in ON_POCL else ("c",)
            ):
                found = run(knl, given, target)
                parts: list[NDArray[Any]] = [
                    found[f"{n}_d{by}"].reshape(np.size(given[n]), wanted.shape[1])
                    for n in case.outputs
                ]
                np.testing.assert_allclose(
                    np.concatenate(parts).reshape(wanted.shape), wanted, rtol=1e-6, atol=1e-7
                )
