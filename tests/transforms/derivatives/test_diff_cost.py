"""`diff_kernel`: how much work derivatives are, what they save, and how they are transformed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import islpy as isl
import numpy as np
import pytest

import polygen as pg
from polygen.analysis.access.domains import domain_of, with_surrounding
from polygen.errors import CannotProve, InvalidArgument
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.domain import unflatten
from polygen.ir.kernel import Kernel


def array(name: str, shape: Any, dtype: str = "float64") -> pg.GlobalArg:
    return pg.GlobalArg(name, dtype, shape)


def made(domains: Any, text: str, *data: Any, **options: Any) -> Kernel:
    return pg.make_kernel(domains, text, [*data, "..."], name="cost", **options)


ROWS = ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"]
X, Y, A = array("x", "n"), array("y", "n"), array("a", "n, n")
KERNELS: dict[str, tuple[Kernel, str, str]] = {
    "a logarithm of a sum": (
        made(ROWS, "z[i] = y[i]*log(sum(j, exp(x[j]*y[i])))", X, Y),
        "z",
        "x, y",
    ),
    "a norm": (made(ROWS, "z[i] = x[i]/sqrt(sum(j, x[j]*x[j]))", X), "z", "x"),
    "a sum in a sum": (
        made(
            [*ROWS, "{ [k]: 0<=k<n }"],
            "z[i] = sum(j, y[j]*sin(sum(k, a[i,k]*x[k]*y[j])))",
            X,
            Y,
            A,
        ),
        "z",
        "x, y, a",
    ),
    "a product": (made(ROWS, "z[i] = y[i]*product(j, a[i,j] + x[j])", X, Y, A), "z", "x, y, a"),
    "products in a sum": (
        made([*ROWS, "{ [k]: 0<=k<n }"], "z[i] = sum(k, y[k]*product(j, a[i,j]*a[k,j]))", Y, A),
        "z",
        "y, a",
    ),
    "maxima in a sum": (
        made([*ROWS, "{ [k]: 0<=k<n }"], "z[i] = sum(k, y[k]*max(j, a[i,j]*a[k,j]))", Y, A,
             assumptions="n >= 1"),
        "z",
        "y, a",
    ),
    "a minimum under a condition": (
        made(ROWS, "z[i] = (min(j, a[i,j]*x[j]) if y[i] > 0.5 else y[i])", X, Y, A,
             assumptions="n >= 1"),
        "z",
        "x, y, a",
    ),
    "rows of a temporary": (
        made(
            "{ [i,j,k]: 0<=i,j,k<n }",
            """
            t[i,j] = exp(a[i,j]*x[j])  {id=t}
            <> s = sum(k, t[i,k])  {dep=t}
            z[i] = log(s)*y[i]
            """,
            X, Y, A, pg.TemporaryVariable("t", "float64", "n, n", pg.AddressSpace.GLOBAL),
            loop_priority="i, j",
        ),
        "z",
        "x, y, a",
    ),
    "elimination": (
        made(
            "{ [i,j,k]: 0<=i<n and i<j<n and i<k<n }",
            "a[j,k] = a[j,k] - a[j,i]*a[i,k]/a[i,i]  {inames=i:j:k}",
            A,
            loop_priority="i, j, k",
        ),
        "a",
        "a",
    ),
}  # fmt: skip


# --- work


def points(knl: Kernel, inames: frozenset[str], n: int) -> int:
    """Return how many iterations loops have together."""
    around = with_surrounding(knl, inames)
    values = unflatten(domain_of(knl, around), sorted(around))
    for name in knl.parameters:
        position = values.find_dim_by_name(isl.dim_type.param, name)
        if position >= 0:
            values = values.fix_val(isl.dim_type.param, position, isl.Val(n))
    values = values.project_out(isl.dim_type.param, 0, values.dim(isl.dim_type.param))
    return int(values.count_val().to_python())


def operations(node: Any) -> int:
    if isinstance(node, ex.Sum | ex.Product):
        return len(node.children) - 1
    return int(isinstance(node, ex.Call | ex.Quotient | ex.Power | ex.Comparison))


def work_of(knl: Kernel, node: Any, inames: frozenset[str], n: int) -> int:
    """Return how many operations an expression is, in all iterations of some loops."""
    if isinstance(node, ex.Variable | ex.Subscript):
        return 0
    if isinstance(node, ex.Reduction):
        inames = inames.union(node.inames)
        return points(knl, inames, n) + work_of(knl, node.operand, inames, n)
    inner = sum(work_of(knl, part, inames, n) for part in walk.parts(node))
    here = operations(node)
    return inner + (here * points(knl, inames, n) if here else 0)


def work(knl: Kernel, n: int) -> int:
    """Return how many operations and assignments a kernel takes."""
    found = 0
    for insn in knl.assignments:
        found += points(knl, insn.within_inames, n)
        for node in (*insn.values, *insn.predicates):
            found += work_of(knl, node, insn.within_inames, n)
    return found


@pytest.mark.parametrize("name", KERNELS)
def test_derivatives_are_a_multiple_of_the_work(name: str) -> None:
    knl, output, by = KERNELS[name]
    for mode, most in (("tangent", 5.5), ("reverse", 8)):
        new = pg.diff_kernel(knl, output, by, mode=mode)
        small, large = (work(new, n) / work(knl, n) for n in (10, 80))
        assert large < most, mode
        assert large < 1.3 * small, mode  # else the derivative has another order


# --- values


def results(knl: Kernel, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a kernel leaves in the arrays that it writes."""
    passed = {a.name: np.array(given[a.name]) for a in knl.arguments if a.name in given}
    _, found = knl.executor("c")(**passed)
    written = [a.name for a in knl.arguments if a.name in knl.writers]
    return dict(zip(written, found, strict=True))


@pytest.mark.parametrize("name", KERNELS)
def test_both_directions_agree_with_central_differences(name: str) -> None:
    knl, output, by = KERNELS[name]
    names = by.split(", ")
    tangent = pg.diff_kernel(knl, output, by, mode="tangent")
    reverse = pg.diff_kernel(knl, output, by, mode="reverse")
    rng = np.random.default_rng(1)
    shapes = {"x": (5,), "y": (5,), "a": (5, 5)}
    given = {n: 0.3 + rng.random(s) for n, s in shapes.items()}
    given["a"] += 3 * np.eye(5)
    v = {n: rng.standard_normal(shapes[n]) for n in names}
    ends = [
        results(knl, given | {n: given[n] + h * v[n] for n in names})[output] for h in (1e-5, -1e-5)
    ]
    dot = results(tangent, given | {f"{n}_dot": v[n] for n in names})[f"{output}_dot"]
    np.testing.assert_allclose(dot, (ends[0] - ends[1]) / 2e-5, rtol=1e-6, atol=1e-8)
    w = rng.standard_normal(np.shape(dot))
    bars = results(reverse, given | {f"{output}_bar": w})
    total = sum(np.sum(v[n] * bars[f"{n}_bar"]) for n in names)
    np.testing.assert_allclose(total, np.sum(w * dot), rtol=1e-12)


def test_some_factors_are_0() -> None:
    knl = made(ROWS, "z[i] = product(j, a[i,j])", A)
    a = np.arange(1.0, 17).reshape(4, 4)
    a[1, 2] = a[2, 0] = a[2, 3] = 0
    a[3] = 1e-200  # the product of all is 0, that of three is not a normal number, either
    others = np.array([[np.prod(np.delete(row, j)) for j in range(4)] for row in a])
    (z_dot,) = pg.diff_kernel(knl, "z", "a", mode="tangent")(a=a, a_dot=np.ones((4, 4)))[1]
    np.testing.assert_allclose(z_dot, others.sum(axis=1))
    found = pg.diff_kernel(knl, "z", "a", mode="reverse")(a=a, z_bar=np.ones(4))[1]
    np.testing.assert_allclose(found[-1], others)
    assert others[1, 2] == 8 * 5 * 6


def test_of_equal_operands_the_first_counts() -> None:
    knl = made(ROWS, "z[i] = max(j, x[j]*y[i])", X, Y, assumptions="n >= 1")
    x, one = np.array([1.0, 3, 2, 3, 3]), np.ones(5)
    (z_dot,) = pg.diff_kernel(knl, "z", "x", mode="tangent")(x=x, y=one, x_dot=np.arange(5.0))[1]
    np.testing.assert_array_equal(z_dot, one)
    (x_bar,) = pg.diff_kernel(knl, "z", "x", mode="reverse")(x=x, y=one, z_bar=one)[1]
    np.testing.assert_array_equal(x_bar, [0, 5, 0, 0, 0])


# --- what is computed once


def test_a_reduction_is_computed_once() -> None:
    for name in ("a logarithm of a sum", "a norm"):
        knl, output, by = KERNELS[name]
        for mode in ("forward", "reverse"):
            new = pg.diff_kernel(knl, output, by.split(", ")[0], mode=mode)
            (insn,) = (i for i in new.instructions if i.reductions)
            assert insn.within_inames < frozenset().union(
                *(
                    i.within_inames
                    for i in new.assignments
                    if i.written_names[0] in ("x_bar", "z_dx")
                )
            )


def test_a_result_that_is_its_own_derivative_is_computed_once() -> None:
    knl = made("{ [i]: 0<=i<n }", "<> t = exp(x[i]*x[i])\nz[i] = t*t*y[i]", X, Y)
    new = pg.diff_kernel(knl, "z", "x, y", mode="reverse")
    text = str(pg.generate_code(pg.add_dtypes(new, {"z_bar": "float64"}), "opencl"))
    assert text.count("exp(") == 1
    x, y, w = np.random.default_rng(1).random((3, 4))
    t = np.exp(x * x)
    x_bar, y_bar = new(x=x, y=y, z_bar=w)[1]
    np.testing.assert_allclose(x_bar, 4 * w * t * t * y * x)
    np.testing.assert_allclose(y_bar, w * t * t)


def test_nothing_outside_of_arrays_is_read_ahead_of_a_loop() -> None:
    knl = made("{ [i,j]: 0<=i<n and 0<=j<m }", "z[i,j] = y[i]*w[j]*exp(v[0])*exp(y[i])",
               Y, array("w", "m"), array("v", "m"), array("z", "n, m"))  # fmt: skip
    new = pg.diff_kernel(knl, "z", "w", mode="reverse")
    loops = {str(v): len(i.within_inames) for i in new.assignments for v in i.values}
    (ahead,) = (n for text, n in loops.items() if text.startswith("exp(y["))
    assert ahead == 1
    assert not [n for text, n in loops.items() if "exp(v[0])" in text and n < 2]
    y, w, bar = np.ones(3), np.ones(0), np.ones((3, 0))
    assert new(y=y, w=w, v=w, z_bar=bar, n=3, m=0)[1][0].shape == (0,)


def test_only_what_is_lost_is_saved() -> None:
    knl, output, by = KERNELS["elimination"]
    assert not pg.diff_kernel(knl, output, by, mode="reverse").temporaries[1:]


def test_adjoints_of_rows_begin_as_rows() -> None:
    knl = made(
        "{ [i,j,k,l,d]: 0<=i,j,k,l,d<n }",
        """
        t[i,j] = a[i,j]*a[i,j]  {id=t}
        <> s = sum(k, t[i,k])  {dep=t}
        z[i,d] = sum(l, t[i,l]*b[l,d])/s  {dep=t}
        """,
        A, array("b", "n, n"), pg.TemporaryVariable("t", "float64", "n, n", pg.AddressSpace.GLOBAL),
        loop_priority="i, j",
    )  # fmt: skip
    new = pg.diff_kernel(knl, "z", "a", mode="reverse")
    row = new.instruction("start_t_bar")
    assert len(row.within_inames) == 2
    assert "i_0" in row.within_inames
    assert work(new, 80) < 6 * work(knl, 80)


def test_adjoints_begin_with_what_is_added_first() -> None:
    knl = made(
        "{ [i,j,k]: 0<=i,j,k<n }",
        "<> s = sum(j, a[i,j])\nz[i] = sum(k, a[i,k]*s)",
        A,
    )
    new = pg.diff_kernel(knl, "z", "a", mode="reverse")
    assert [i.id for i in new.assignments if i.id.startswith("start")] == ["start_s_bar"]
    a, w = np.random.default_rng(1).random((2, 4, 4))
    (a_bar,) = new(a=a, z_bar=w[0])[1]  # z = s*s
    np.testing.assert_allclose(a_bar, np.broadcast_to(2 * a.sum(axis=1) * w[0], (4, 4)).T)


# --- transformed


def test_atomic_adjoints_in_parallel() -> None:
    knl = made("{ [i]: 1<=i<n-1 }", "z[i] = x[i]*(x[i-1] + x[i+1])*y[k[i]]", X,
               array("y", 4), array("k", "n", "int32"), array("z", "n"))  # fmt: skip
    tags = {"i_0_outer": "g.0", "i_0_inner": "l.0"}
    plain = pg.split_iname(pg.diff_kernel(knl, "z", "y", mode="reverse"), "i_0", 8)
    with pytest.raises(CannotProve, match="which elements of 'y_bar' are touched depends on data"):
        pg.tag_inames(plain, tags)
    new = pg.diff_kernel(knl, "z", "x, y", mode="reverse", atomic=True)
    new = pg.tag_inames(pg.split_iname(new, "i_0", 8), tags)
    x, w = np.random.default_rng(1).random((2, 21))
    y, k = np.arange(1.0, 5), np.arange(21, dtype=np.int32) * 3 % 4
    _, (x_bar, y_bar) = new.executor("opencl")(x=x, y=y, k=k, z_bar=w)
    inner = slice(1, -1)
    seed, sides = w[inner] * y[k[inner]], x[:-2] + x[2:]
    wanted = np.zeros(21)
    wanted[inner] += seed * sides
    wanted[:-2] += seed * x[inner]
    wanted[2:] += seed * x[inner]
    np.testing.assert_allclose(x_bar, wanted)
    np.testing.assert_allclose(y_bar, np.bincount(k[inner], w[inner] * x[inner] * sides, 4))


@pytest.mark.parametrize("mode", ["forward", "tangent"])
def test_atomic_is_for_reverse(mode: str) -> None:
    knl = made("{ [i]: 0<=i<n }", "z[i] = x[i]", X)
    with pytest.raises(InvalidArgument, match=f"mode='{mode}' has no updates") as caught:
        pg.diff_kernel(knl, "z", "x", mode=mode, atomic=True)
    assert caught.value.remedy


def test_the_adjoint_of_a_matrix_product_is_tiled_and_prefetched() -> None:
    knl = made("{ [i,j,k]: 0<=i,j,k<n }", "c[i,j] = sum(k, a[i,k]*b[k,j])", A, array("b", "n, n"))
    new = pg.diff_kernel(knl, "c", "a", mode="reverse")
    new = pg.prioritize_loops(new, "i_0, k_0, j_0")
    for iname, tag in (("i_0", 1), ("k_0", 0)):
        new = pg.split_iname(new, iname, 4, outer_tag=f"g.{tag}", inner_tag=f"l.{tag}")
    new = pg.split_iname(new, "j_0", 4)
    new = pg.add_prefetch(new, "c_bar", "i_0_inner, j_0_inner", default_tag="l.auto")
    b, c_bar = np.random.default_rng(1).random((2, 9, 9))
    _, (a_bar,) = new.executor("opencl")(a=b, b=b, c_bar=c_bar)
    np.testing.assert_allclose(a_bar, c_bar @ b.T)
