"""`diff_kernel`: the derivative of each function, names, storage, and what is refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.analysis.access.domains import domain_of
from polygen.errors import (
    InvalidArgument,
    NotDifferentiable,
    UnknownArgument,
    UserError,
)
from polygen.ir.domain import rename_dimension
from polygen.ir.kernel import Kernel
from tests.few import few

X = pg.GlobalArg("x", "float64", "n")
Y = pg.GlobalArg("y", "float64", "n")


def made(text: str, *data: Any, domains: Any = "{ [i]: 0<=i<n }", **options: Any) -> Kernel:
    return pg.make_kernel(domains, text, [X, Y, *data, "..."], name="one", **options)


# Of what is differentiated, with x and y between 0.2 and 0.9.
FUNCTIONS = (
    "abs(x-0.5) acos(x) acosh(x+1) acospi(x) asin(x) asinh(x) asinpi(x) atan(x) atanh(x) "
    "atanpi(x) cbrt(x) cos(x) cosh(x) cospi(x) degrees(x) erf(x) erfc(x) exp(x) exp10(x) "
    "exp2(x) expm1(x) fabs(x-0.5) log(x) log10(x) log1p(x) log2(x) radians(x) rsqrt(x) "
    "sin(x) sinh(x) sinpi(x) sqrt(x) tan(x) tanh(x) tanpi(0.4*x) atan2(x,y) atan2pi(x,y) "
    "copysign(x,y-0.5) fdim(x,y) fmod(3*x,y) hypot(x,y) pow(x,y) powr(x,y) pow(x,3) "
    "pown(x,3) rootn(x,3) ldexp(x,2) remainder(3*x,y) fma(x,y,x) mad(x,y,y) mix(x,y,x) "
    "smoothstep(0.1*x,1+y,0.6) clamp(x,0.3,y) maxmag(x,y) minmag(x,-y) max(x,y) fmax(x,y) "
    "min(x,y,0.5) fmin(x,y) x**3 x**y 2**x (x*y)**2 sincos(x)[0] sincos(x)[1] modf(3*x)[0] "
    "fract(3*x)[0] x/y x%y -x/y**2 x*x*y float64(x)*y native_sin(x) half_exp(x) "
    "native_divide(x,y) native_recip(x) x*floor(3*y) x*int32(3*y) select(x,y,1) "
    "select(y,x,isless(x,y)) x*(x<y) scalbn(x,1) (x+y)//1 sign(x)*y"
)


@few(1, "target", ["c", "opencl"])
def test_each_function(target: str) -> None:
    """Along (1, 0) and (0, 1), tangents are central differences; in reverse, their sum is."""
    n, h = 7, 1e-6
    functions = FUNCTIONS.split(" ")
    for start in range(0, len(functions), 24):
        some = functions[start : start + 24]
        text = "\n".join(f"z[{k}, i] = {_of_elements(f)}" for k, f in enumerate(some))
        data = pg.GlobalArg("z", "float64", f"{len(some)}, n")
        knl = made(text + f"\nz[{len(some) - 1}, i] = 1.0*z[{len(some) - 1}, i] + x[i]*y[i]", data,
                   seq_dependencies=True)  # fmt: skip
        tangent = pg.diff_kernel(knl, "z", "x, y", mode="tangent")
        reverse = pg.diff_kernel(knl, "z", "x, y", mode="reverse")
        rng = np.random.default_rng(start)
        x, y = 0.2 + 0.7 * rng.random((2, n))
        w = rng.standard_normal((len(some), n))
        run = knl.executor(target)
        back = reverse.executor(target)(x=x, y=y, z_bar=w.copy())[1]
        for bar, (dx, dy) in zip(back[:2], ((1.0, 0.0), (0.0, 1.0)), strict=True):
            sides = [run(x=x + s * dx * h, y=y + s * dy * h)[1][0] for s in (1, -1)]
            wanted = (sides[0] - sides[1]) / (2 * h)
            dots = {"x_dot": np.full(n, dx), "y_dot": np.full(n, dy)}
            _, (z_dot,) = tangent.executor(target)(x=x, y=y, **dots)
            for k, function in enumerate(some):
                np.testing.assert_allclose(
                    z_dot[k], wanted[k], rtol=1e-4, atol=1e-6, err_msg=function
                )
            np.testing.assert_allclose(bar, np.sum(w * z_dot, axis=0), rtol=1e-10)


def _of_elements(function: str) -> str:
    return re.sub(r"\b([xy])\b", r"\1[i]", function)


def test_names_and_what_else_is_computed() -> None:
    knl = made("<> t = x[i]*y[i]\nz[i] = t*t\nw[i] = z[i] + x[i]")
    jacobian = pg.diff_kernel(knl, "z, w", "x", "k", copy_outputs="w")
    assert {"z_dx", "w_dx", "w", "z"} <= {a.name for a in jacobian.arguments}
    assert [i for i in jacobian.inames if i.startswith("k")] == ["k0"]
    alone = pg.diff_kernel(knl, ["w"], "x")
    assert not {"w", "z_dx"} & {a.name for a in alone.arguments}
    x, y = np.arange(3.0), np.arange(1.0, 4)
    _, found = jacobian(x=x, y=y)
    by_name = dict(zip([a.name for a in jacobian.arguments if a.name in jacobian.writers], found,
                       strict=True))  # fmt: skip
    np.testing.assert_allclose(by_name["w"], (x * y) ** 2 + x)
    np.testing.assert_allclose(by_name["w_dx"], np.diag(2 * x * y * y + 1))
    (step,) = jacobian.history
    assert step.name == "diff_kernel"
    assert str(step).startswith("diff_kernel(diff_outputs='z, w', by='x', diff_iname_prefix='k'")
    assert jacobian.claims == ()


def test_batch_axes_are_no_directions() -> None:
    knl = pg.make_kernel(
        "{ [b,i,j]: 0<=b<m and 0<=i,j<n }",
        "z[b,i] = sum(j, a[i,j]*x[b,j]*x[b,i])",
        [pg.GlobalArg("a", "float64", "n, n"), pg.GlobalArg("x", "float64", "m, n"), "..."],
        loop_priority="b, i",
    )
    new = pg.diff_kernel(knl, "z", "x", batch_axes_in_by={0})
    a, x = np.random.default_rng(1).random((4, 4)), np.random.default_rng(2).random((3, 4))
    for target in ("c", "opencl"):
        _, (z_dx,) = new.executor(target)(a=a, x=x)
        wanted = x[:, :, None] * a + np.einsum("ij,bj,ik->bik", a, x, np.eye(4))
        np.testing.assert_allclose(z_dx, wanted)
    ones = pg.diff_kernel(knl, "z", "x", batch_axes_in_by=[0, 1])
    np.testing.assert_allclose(ones(a=a, x=x)[1][0], z_dx.sum(axis=2))


def test_a_product_needs_no_sum() -> None:
    knl = made("z[i] = sum(j, a[i,j]*x[j])", pg.GlobalArg("a", "float64", "n, n"),
               domains="{ [i,j]: 0<=i,j<n }")  # fmt: skip
    new = pg.diff_kernel(knl, "z", "x")
    assert not new.instructions[0].reductions
    a = np.random.default_rng(1).random((5, 5))
    np.testing.assert_array_equal(new(a=a, x=a[0], y=a[0])[1][0] if "y" in new.variables else
                                  new(a=a, x=a[0])[1][0], a)  # fmt: skip


def test_types() -> None:
    plain = pg.make_kernel("{ [i]: 0<=i<n }", "<> t = 2*x[i]\nz[i] = t*t + 1")
    for dtype in (np.float32, np.float64):
        x: Any = np.arange(4, dtype=dtype)
        for knl in (plain, pg.add_dtypes(plain, {"x": dtype})):
            (z_dx,) = pg.diff_kernel(knl, "z", "x")(x=x)[1]
            (z_dot,) = pg.diff_kernel(knl, "z", "x", mode="tangent")(x=x, x_dot=x)[1]
            (x_bar,) = pg.diff_kernel(knl, "z", "x", mode="reverse")(x=x, z_bar=x)[1]
            assert z_dot.dtype == x_bar.dtype == dtype
            assert z_dx.dtype == (dtype if knl is not plain else np.float64)  # of a constant
            np.testing.assert_allclose(z_dx, np.diag(8 * x))
            np.testing.assert_allclose(z_dot, 8 * x * x)
            np.testing.assert_allclose(x_bar, 8 * x * x)


def test_what_is_needed_again_is_there_computed_or_saved() -> None:
    knl = made("<> t = sin(x[i])\nz[i] = t*t", domains="{ [i]: 0<=i<n }")
    again = pg.diff_kernel(knl, "z", "x", mode="reverse")
    assert not [t for t in again.temporaries if t.shape]
    carried = made(
        "<> t = 1 {id=t}\nt = t*x[i] {id=step, dep=t}\nz[0] = t {dep=step, inames=}",
        pg.GlobalArg("z", "float64", 1),
    )
    saved = pg.diff_kernel(carried, "z", "x", mode="reverse")
    assert [(t.name, str(t.shape)) for t in saved.temporaries if t.shape] == [
        ("t_save", "(Variable('n'),)")
    ]
    there = made("z[i] = x[i]*x[i] {id=z}\nw[j] = z[j]*z[j] {dep=z}",
                 domains=["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"])  # fmt: skip
    kept = pg.diff_kernel(there, "w", "x", mode="reverse")
    assert [t.name for t in kept.temporaries] == ["z_bar"]
    assert "z" in kept.writers


def test_tags() -> None:
    knl = pg.split_iname(made("<> t = x[i]**2\nz[i] = t*y[i]"), "i", 16, outer_tag="g.0",
                         inner_tag="l.0")  # fmt: skip
    tangent = pg.diff_kernel(knl, "z", "x", mode="tangent")
    assert {str(t) for t in tangent.tags.values()} == {"g.0", "l.0"}
    reverse = pg.diff_kernel(knl, "z", "x", mode="reverse")
    assert not reverse.tags
    outer, inner = (i for i in reverse.inames if i.startswith("i_"))
    parallel = pg.tag_inames(reverse, {outer: "g.0", inner: "l.0"})
    for n in (0, 1, 7, 16, 17):
        x, y, d = np.random.default_rng(n).random((3, n))
        _, (z_dot,) = tangent.executor("opencl")(x=x, y=y, x_dot=d, n=n)
        np.testing.assert_allclose(z_dot, 2 * x * y * d)
        for each in (reverse, parallel):
            _, (x_bar,) = each.executor("opencl")(x=x, y=y, z_bar=d, n=n)
            np.testing.assert_allclose(x_bar, 2 * x * y * d)


def test_what_needs_its_tags_is_refused_in_reverse() -> None:
    knl = made("z[i] = sum(j, a[i,j]*x[j])", pg.GlobalArg("a", "float64", "n, n"),
               domains="{ [i,j]: 0<=i,j<n }")  # fmt: skip
    knl = pg.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.0")
    knl = pg.add_prefetch(pg.split_iname(knl, "j", 4), "x", "j_inner", default_tag="l.auto")
    with pytest.raises(NotDifferentiable, match="loops run one after the other; these cannot"):
        pg.diff_kernel(knl, "z", "x", mode="reverse")


def test_atomic_updates_and_claims() -> None:
    data = [pg.GlobalArg("k", "int32", "n"), pg.GlobalArg("z", "float64", "m")]
    knl = made("z[k[i]] = z[k[i]] + x[i]**2*y[i] {id=put, atomic}", *data)
    knl = pg.tag_inames(knl, {"i": "g.0"})
    tangent = pg.diff_kernel(knl, "z", "x, y", mode="tangent")
    reverse = pg.diff_kernel(knl, "z", "x", mode="reverse")
    k = np.array([2, 0, 2, 1, 2], np.int32)
    x, y, dx, dy = np.random.default_rng(1).random((4, 5))
    w = np.arange(3.0)
    _, (z_dot,) = tangent.executor("opencl")(k=k, x=x, y=y, x_dot=dx, y_dot=dy, z_dot=np.ones(3))
    wanted = np.bincount(k, 2 * x * y * dx + x * x * dy, 3)
    np.testing.assert_allclose(z_dot, wanted)  # z is no argument that it is differentiated by
    _, (x_bar,) = reverse(k=k, x=x, y=y, z_bar=w)
    np.testing.assert_allclose(x_bar, w[k] * 2 * x * y)
    put = made("z[k[i]] = x[i]*y[i] {id=put}", *data)
    claimed = pg.tag_inames(pg.assume_injective(put, "k"), {"i": "g.0"})
    new = pg.diff_kernel(claimed, "z", "x", mode="tangent")
    assert set(claimed.claims) <= set(new.claims)
    apart = pg.tag_inames(pg.assume_independent(put, "put", "put"), {"i": "g.0"})
    new = pg.diff_kernel(apart, "z", "x", mode="tangent")
    assert "assume_independent('put_dot', 'put_dot')" in {str(c) for c in new.claims}


def test_kernels_that_are_called() -> None:
    scale = pg.make_function("{ [k]: 0<=k<4 }", "b[k] = c*sin(a[k])", ["c", "a", "b"], name="f")
    data = [pg.GlobalArg(n, "float64", "n, 4") for n in "pq"]
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "[j]: q[i,j] = f(c, [j]: p[i,j])",
                         [*data, pg.ValueArg("c", "float64"), "..."],
                         functions={"f": scale})  # fmt: skip
    new = pg.diff_kernel(knl, "q", "p, c", mode="reverse")
    p, w = np.random.default_rng(1).random((2, 3, 4))
    found = dict(zip([a.name for a in new.arguments if a.name in new.writers],
                     new(p=p, c=0.5, q_bar=w)[1], strict=True))  # fmt: skip
    np.testing.assert_allclose(found["p_bar"], w * 0.5 * np.cos(p))
    np.testing.assert_allclose(found["c_bar"], np.sum(w * np.sin(p)))
    program = pg.merge([knl, scale])
    assert pg.diff_kernel(program, "q", "p").default_entrypoint.name == knl.name


def test_the_instances_are_those_of_the_kernel_mirrored() -> None:
    knl = pg.make_kernel("{ [i]: 1<=i<n }", "u[i] = u[i-1]*u[i]",
                         [pg.GlobalArg("u", "float64", "n"), "..."])  # fmt: skip
    new = pg.diff_kernel(knl, "u", "u", mode="reverse")
    backwards = [i for i in new.instructions if "i_0" in i.within_inames]
    assert len(backwards) >= 2
    same = rename_dimension(domain_of(knl, frozenset("i")), "i", "i_0")
    assert domain_of(new, frozenset(["i_0"])).is_equal(same)


VERBATIM = '... code(i) "z[i] = x[i];" reads(x) writes(z[i])  {inames=i}'
OWN = pg.ScalarCallable({"own": "float64 -> float64"})
REFUSED: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any], type[UserError], str]] = {
    "no such output": (made("z[i] = x[i]"), ("zz", "x"), {}, UnknownArgument, "did you mean 'z'"),
    "no such input": (made("z[i] = x[i]"), ("z", "xx"), {}, UnknownArgument, "no .*'xx'"),
    "no names": (made("z[i] = x[i]"), ("z", 3), {}, InvalidArgument, "by=3"),
    "nothing": (made("z[i] = x[i]"), ([], "x"), {}, InvalidArgument, "diff_outputs names nothing"),
    "no such mode": (made("z[i] = x[i]"), ("z", "x"), {"mode": "both"}, InvalidArgument, "'both'"),
    "a size": (made("z[i] = x[i]*n"), ("z", "n"), {}, NotDifferentiable, "'n' is a size"),
    "a temporary": (
        made("<> t = x[i]\nz[i] = t"), ("z", "t"), {}, NotDifferentiable, "'t' is a temporary"
    ),
    "whole numbers": (
        made("z[i] = x[i]*k[i]", pg.GlobalArg("k", "int32", "n")), ("z", "k"), {},
        NotDifferentiable, "by 'k', which holds numbers of type int32"),
    "an output of whole numbers": (
        made("z[i] = int32(x[i])", pg.GlobalArg("z", "int32", "n")), ("z", "x"), {},
        NotDifferentiable, "of 'z', which holds numbers of type int32"),
    "complex numbers": (
        made("z[i] = x[i]*c[i]", pg.GlobalArg("c", "complex128", "n")), ("z", "c"), {},
        NotDifferentiable, "complex128"),
    "a scalar output": (
        made("z[i] = x[i]*s", pg.ValueArg("s", "float64")), ("s", "x"), {}, InvalidArgument,
        "'s' is a scalar argument"),
    "an input for an output": (
        made("z[i] = x[i]"), ("x", "x"), {}, InvalidArgument, "'x' is no output: nothing writes"),
    "two Jacobians": (made("z[i] = x[i]*y[i]"), ("z", "x, y"), {}, InvalidArgument, "by x, y"),
    "no such axis": (
        made("z[i] = x[i]"), ("z", "x"), {"batch_axes_in_by": [1]}, InvalidArgument, "no axis 1"),
    "axes of no Jacobian": (
        made("z[i] = x[i]"), ("z", "x"), {"batch_axes_in_by": [0], "mode": "reverse"},
        InvalidArgument, "which directions there are"),
    "no dependence": (
        made("z[i] = x[i]\nw[i] = y[i]"), ("z, w", "x"), {"mode": "tangent"}, NotDifferentiable,
        "'w' does not depend on 'x'"),
    "only by way of whole numbers": (
        made("z[i] = floor(x[i])*y[i]"), ("z", "x"), {}, NotDifferentiable, "does not depend"),
    "no function of the table": (
        made("z[i] = y[i]*lgamma(x[i])"), ("z", "x"), {}, NotDifferentiable,
        r"'lgamma\(x\[i\]\)' is not known: 'lgamma' is in no table"),
    "a function of the user's": (
        pg.make_kernel("{ [i]: 0<=i<n }", "z[i] = own(x[i])", [X, "..."], functions={"own": OWN}),
        ("z", "x"), {"mode": "reverse"}, NotDifferentiable, "'own' is a function of your own"),
    "a kernel that nobody knows": (
        pg.make_kernel("{ [i]: 0<=i<n }", "[j]: z[i,j] = f([j]: q[i,j])",
                       [pg.GlobalArg("q", "float64", "n, 4"), pg.GlobalArg("z", "float64", "n, 4"),
                        "..."]),
        ("z", "q"), {}, NotDifferentiable, "nothing says what 'f' computes"),
    "verbatim C": (
        made(VERBATIM, pg.GlobalArg("z", "float64", "n")), ("z", "x"), {}, NotDifferentiable,
        "verbatim C, of which nothing says"),
    "a maximum over two inames": (
        made("z[i] = max((j,k), x[j]*y[k])", domains="{ [i,j,k]: 0<=i,j,k<n }"),
        ("z", "x"), {}, NotDifferentiable, "over several inames there is no number"),
    "an atomic product": (
        made("z[0] = z[0]*x[i] {atomic}", pg.GlobalArg("z", "float64", 1)), ("z", "x"), {},
        NotDifferentiable, "an atomic update that is no sum"),
    "an axis that is not affine": (
        pg.make_kernel("{ [i]: 0<=i<n }", "z[i] = q[k[i]]",
                       [pg.GlobalArg("q", "float64", "n*m"), pg.GlobalArg("k", "int32", "n"),
                        "..."]),
        ("z", "q"), {}, NotDifferentiable, "is not affine in the parameters"),
    "bounds that are data": (
        pg.make_kernel(
            ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<stop }"],
            "<int32> stop = k[i]\n<> t = x[i] {id=t}\n"
            "t = t*sin(t)*j {id=s, dep=t, inames=i:j}\nz[i] = t {dep=s}",
            [X, pg.GlobalArg("k", "int32", "n"), "..."]),
        ("z", "x"), {"mode": "reverse"}, NotDifferentiable,
        "'t' is overwritten after it is read here, and what it was cannot be saved"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    knl, given, options, kind, text = REFUSED[name]
    with pytest.raises(kind, match="(?s)" + text) as caught:
        pg.diff_kernel(knl, *given, **options)
    assert caught.value.remedy
