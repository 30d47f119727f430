"""`fuse_kernels`: one kernel that does what several do one after the other."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.analysis.access.domains import domain_of
from polygen.analysis.integers.proving import proofs_are_on
from polygen.errors import (
    CannotProve,
    DomainsDiffer,
    IllegalStep,
    InvalidArgument,
    KernelsDiffer,
    MalformedKernel,
    NotFusible,
    TagConflict,
    UnorderedAccess,
    UserError,
    VerbatimNotPossible,
)
from polygen.ir.kernel import Kernel
from tests.oracle.cases import loops, lowered
from tests.oracle.compare import run_program, typed
from tests.oracle.interpreter import interpret
from tests.proof.generator import LIMITS, Maker
from tests.proof.judge import arguments_of

LINE = "{ [i]: 0<=i<n }"
SIZES = (0, 1, 7, 16, 17)


def made(text: str, name: str, domains: Any = LINE, *data: Any, **options: Any) -> Kernel:
    """Return a kernel whose arrays are of float64."""
    given = [*data, "..."]
    knl = pg.make_kernel(domains, text, given, name=name, **options)
    arrays = [a.name for a in knl.arguments if isinstance(a, pg.GlobalArg) and a.dtype is None]
    return pg.add_dtypes(knl, dict.fromkeys(arrays, "float64"))


SCALE = made("b[i] = 2*a[i]", "scale")
ADD = made("c[i] = b[i] + 1", "add")
STENCIL = made(
    "c[j] = b[j-1] + b[j+1]",
    "stencil",
    "{ [j]: 1<=j<n-1 }",
    pg.GlobalArg("b", None, "n"),
    pg.GlobalArg("c", None, "n"),
)


def in_turn(kernels: list[Kernel], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arrays after kernels were executed one after the other."""
    left = dict(arguments)
    for knl in kernels:
        own = {a.name: left[a.name] for a in knl.arguments}
        left |= interpret(typed(knl, own), own).arrays
    return left


# --- what it does


def test_one_loop_for_both() -> None:
    knl = pg.fuse_kernels([SCALE, ADD])
    assert knl.name == "scale_and_add"
    assert [a.name for a in knl.arguments] == ["a", "b", "n", "c"]
    assert [d.inames for d in knl.domains] == [("i",)]
    assert knl.instructions_by_id["insn_0"].depends_on == {"insn"}
    assert len(loops(lowered(knl))) == 1
    assert pg.parse_kernel(str(knl)) == knl
    assert pg.replay(knl.original or knl, knl.history) == knl
    assert str(knl.history[-1]).startswith("fuse_kernels(others=(kernel 'add')")
    pg.check_well_formed(knl)


def test_three_kernels_and_one() -> None:
    last = made("d[i] = b[i]*c[i]", "last")
    knl = pg.fuse_kernels((SCALE, ADD, last), data_flow=[("b", 0, 1), ("b", 0, 2), ("c", 1, 2)])
    assert len(loops(lowered(knl))) == 1
    assert knl.instructions_by_id["insn_1"].depends_on == {"insn", "insn_0"}
    assert pg.fuse_kernels([SCALE]) is SCALE


def test_data_flow_says_which_comes_first() -> None:
    """As Loo.py has it: what is listed later may come first."""
    knl = pg.fuse_kernels([ADD, SCALE], data_flow=[("b", 1, 0)])
    assert knl.name == "add_and_scale"
    assert knl.instructions_by_id["insn"].depends_on == {"insn_0"}
    other = pg.fuse_kernels([ADD, SCALE])
    assert other.instructions_by_id["insn_0"].depends_on == {"insn"}
    a, b = np.arange(5.0), np.ones(5)
    for target in ("c", "opencl"):
        _, (_, c) = knl.executor(target)(a=a, b=b.copy())
        np.testing.assert_array_equal(c, 2 * a + 1)
        _, (_, c) = other.executor(target)(a=a, b=b.copy())
        np.testing.assert_array_equal(c, b + 1)


def test_finite_differences_of_a_flux() -> None:
    """The example of Loo.py's documentation: a flux, its differences, and no array in between."""
    data = [pg.GlobalArg(n, "float64", "n+2") for n in ("out", "f", "u")]
    differences = pg.make_kernel(
        "{ [i]: 1<=i<=n }", "out[i] = -(f[i+1] - f[i-1])/h", [*data[:2], "..."], name="differences"
    )
    flux = pg.make_kernel("{ [j]: 0<=j<n+2 }", "f[j] = u[j]**2/2", [*data[1:], "..."], name="flux")
    knl = pg.fuse_kernels([differences, flux], data_flow=[("f", 1, 0)])
    knl = pg.assignment_to_subst(pg.change_arg_to_temporary(knl, "f"), "f")
    knl = pg.split_iname(knl, "i", 16, outer_tag="g.0", inner_tag="l.0")
    knl = pg.precompute(knl, "f_subst", "i_inner", default_tag="l.auto")
    for target in ("c", "opencl"):
        for n in SIZES:
            u, out = np.random.default_rng(n).random(n + 2), np.zeros(n + 2)
            knl.executor(target)(u=u, out=out, h=0.5)
            f = u**2 / 2
            np.testing.assert_allclose(out[1:-1], -(f[2:] - f[:-2]) / 0.5)


def test_what_overwrites_comes_after_what_reads() -> None:
    """Order is kept for all that both touch, whatever the data flow says."""
    over = made("a[i] = 0", "over")
    knl = pg.fuse_kernels([SCALE, over])
    assert knl.instructions_by_id["insn_0"].depends_on == {"insn"}
    aliased = (pg.GlobalArg(n, None, "n", may_alias=True) for n in ("p", "q"))
    put = made("p[i] = 1", "put", LINE, next(aliased))
    get = pg.rename_iname(made("q[i] = 2", "get", LINE, next(aliased)), "i", "k")
    knl = pg.fuse_kernels([put, get])
    assert knl.instructions_by_id["insn_0"].depends_on == {"insn"}
    with pytest.raises((IllegalStep, CannotProve)):
        pg.fuse_kernels([put, pg.rename_iname(get, "k", "i")])


def test_the_instances_are_those_of_the_kernels() -> None:
    kernels = [
        made("a[i, j] = i + j", "one", "{ [i, j]: 0<=j<i<n }"),
        made("b[i, k] = a[i, k]", "two", "{ [i, k]: 0<=k<i<n }"),
        made("c[i] = 1", "three", "{ [i]: 1<=i<n }"),
    ]
    knl = pg.fuse_kernels(kernels)
    insns = [(part, insn) for part in kernels for insn in part.instructions]
    for (part, old), new in zip(insns, knl.instructions, strict=True):
        assert old.within_inames == new.within_inames
        now, before = (domain_of(k, old.within_inames) for k in (knl, part))
        assert now.is_equal(before)


def test_own_names() -> None:
    """Temporaries, rules and ids belong to their kernel; rules that are the same are one."""
    one = made("f(x) := 2*x\ng(x) := x + 1\n<> t = f(a[i])  {id=s}\nb[i] = g(t)", "one")
    two = made("f(x) := 3*x\ng(x) := x + 1\n<> t = f(b[i])  {id=s}\nc[i] = g(t)", "two")
    knl = pg.fuse_kernels([one, two])
    assert [t.name for t in knl.temporaries] == ["t", "t_0"]
    assert [r.name for r in knl.substitutions] == ["f", "g", "f_0"]
    assert [i.id for i in knl.instructions] == ["s", "insn", "s_0", "insn_0"]
    knl = pg.fuse_kernels([one, two], suffixes=["_a", "_b"])
    assert [t.name for t in knl.temporaries] == ["t_a", "t_b"]
    a = np.arange(5.0)
    for target in ("c", "opencl"):
        _, (b, c) = knl.executor(target)(a=a)
        np.testing.assert_array_equal(b, 2 * a + 1)
        np.testing.assert_array_equal(c, 3 * b + 1)


def test_an_iname_that_is_an_argument_elsewhere() -> None:
    other = made("c[k] = b[k] + i", "other", "{ [k]: 0<=k<n }", pg.ValueArg("i", "float64"))
    knl = pg.fuse_kernels([SCALE, other])
    assert knl.inames == ("i_0", "k")
    _, (b, c) = knl(a=np.arange(4.0), i=0.5)
    np.testing.assert_array_equal(c, b + 0.5)


def csr(name: str, out: str, x: str) -> Kernel:
    """Return the product of a sparse matrix and a vector."""
    return pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: start<=j<end }"],
        f"""
        <int32> start = first[i]
        <int32> end = first[i+1]
        {out}[i] = sum(j, v[j]*{x}[column[j]])
        """,
        [
            pg.GlobalArg("first", "int32", "n+1"),
            pg.GlobalArg("column", "int32", "nnz"),
            pg.GlobalArg("v", "float64", "nnz"),
            pg.GlobalArg(x, "float64", "m"),
            "...",
        ],
        name=name,
    )


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_loops_whose_bounds_are_data(target: str) -> None:
    knl = pg.fuse_kernels([csr("one", "y", "x"), csr("two", "z", "w")], ["_1", "_2"])
    assert knl.inames == ("i", "j", "j_2")
    first, column = np.array([0, 2, 2, 3], np.int32), np.array([0, 2, 1], np.int32)
    v, x, w = np.array([1.0, 2, 3]), np.array([1.0, 10, 100]), np.array([2.0, 3, 5])
    _, (y, z) = knl.executor(target)(first=first, column=column, v=v, x=x, w=w)
    np.testing.assert_array_equal(y, [201, 0, 30])
    np.testing.assert_array_equal(z, [12, 0, 9])


def test_reductions_share_a_loop_if_they_can() -> None:
    first = made("y[i] = sum(j, a[i,j]*x[j])", "first", "{ [i,j]: 0<=i,j<n }")
    beside = made("z[i] = sum(j, b[i,j]*x[j])", "beside", "{ [i,j]: 0<=i,j<n }")
    knl = pg.fuse_kernels([first, beside])
    assert knl.inames == ("i", "j")
    after = made("z[i] = sum(j, b[i,j]*y[i])", "after", "{ [i,j]: 0<=i,j<n }")
    knl = pg.fuse_kernels([first, after])
    assert knl.inames == ("i", "j", "j_0")
    a, b = np.random.default_rng(1).random((2, 5, 5))
    x = np.arange(5.0)
    for target in ("c", "opencl"):
        _, (y, z) = knl.executor(target)(a=a, b=b, x=x)
        np.testing.assert_allclose(z, b.sum(axis=1) * (a @ x))
        np.testing.assert_allclose(y, a @ x)


def test_what_is_reduced_first_and_then_used_in_loops_of_that_name() -> None:
    """The reduction gets inames of its own, as they are split and tagged."""
    rows = "{ [i,j]: 0<=i<n and 0<=j<m }"
    first = made("s[i] = sum(j, a[i,j])", "first", rows)
    after = made("b[i,j] = a[i,j]/s[i]", "after", rows)
    split = [pg.split_iname(knl, "j", 4) for knl in (first, after)]
    on_axes = [pg.tag_inames(knl, {"i": "g.0", "j_inner": "l.0"}) for knl in split]
    for kernels, inames in (([first, after], 3), (on_axes, 5)):
        knl = pg.fuse_kernels(kernels, data_flow=[("s", 0, 1)])
        assert len(knl.inames) == inames
        for n, m in ((0, 3), (1, 1), (5, 7)):
            a = 1 + np.random.default_rng(m).random((n, m))
            _, (s, b) = knl.executor("opencl")(a=a)
            np.testing.assert_allclose(s, a.sum(axis=1))
            np.testing.assert_allclose(b, a / a.sum(axis=1, keepdims=True))


def test_calls_and_programs() -> None:
    twice = pg.make_function("{ [k]: 0<=k<4 }", "y[k] = 2*x[k]", name="twice")

    def caller(out: str, given: str) -> Kernel:
        data = [pg.GlobalArg(n, "int32", "n, 4") for n in (out, given)]
        text = f"[k]: {out}[i,k] = twice([k]: {given}[i,k])"
        return pg.make_kernel(LINE, text, [*data, "..."], functions={"twice": twice}, name=out)

    knl = pg.fuse_kernels([caller("b", "a"), caller("c", "b")])
    program = pg.fuse_kernels([pg.merge([caller("b", "a")]), caller("c", "b")])
    assert isinstance(program, pg.TranslationUnit)
    assert program.default_entrypoint == knl
    a = np.arange(12, dtype=np.int32).reshape(3, 4)
    for target in ("c", "opencl"):
        _, (_b, c) = knl.executor(target)(a=a)
        np.testing.assert_array_equal(c, 4 * a)


# --- what becomes of the value in between


def vertical() -> Kernel:
    return pg.fuse_kernels([SCALE, STENCIL], data_flow=[("b", 0, 1)])


def recomputed() -> Kernel:
    return pg.assignment_to_subst(pg.change_arg_to_temporary(vertical(), "b"), "b")


def tiled() -> Kernel:
    knl = pg.split_iname(recomputed(), "j", 16, outer_tag="g.0", inner_tag="l.0")
    return pg.precompute(knl, "b_subst", "j_inner", default_tag="l.auto")


KEPT = {"kept": vertical(), "kept, one loop": pg.fuse_loops(vertical(), "i", "j")}
GONE = {
    "in a temporary": pg.change_arg_to_temporary(vertical(), "b"),
    "recomputed": recomputed(),
    "in a tile": tiled(),
}


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_vertical_fusion(target: str) -> None:
    for name, knl in {**KEPT, **GONE}.items():
        assert ("b" in [a.name for a in knl.arguments]) == (name in KEPT)
        run = knl.executor(target)
        for n in SIZES:
            a, c = np.random.default_rng(n).random(n), np.zeros(n)
            run(a=a, c=c, n=n)
            wanted = np.zeros(n)
            wanted[1:-1] = 2 * a[:-2] + 2 * a[2:]
            np.testing.assert_allclose(c, wanted, err_msg=f"{name} {n}")


def test_the_code_of_a_tile() -> None:
    code = str(pg.generate_code(tiled(), "opencl"))
    assert "__local double b_subst_0[18];" in code
    assert "b[" not in code.replace("b_subst_0[", "")


def test_contracted_to_a_scalar() -> None:
    knl = pg.fuse_kernels([SCALE, made("c[i] = b[i]*b[i]", "square")])
    knl = pg.assignment_to_subst(pg.change_arg_to_temporary(knl, "b"), "b")
    knl = pg.precompute(knl, "b_subst", (), default_tag=None)
    assert [t.shape for t in knl.temporaries] == [()]
    for target in ("c", "opencl"):
        _, (c,) = knl.executor(target)(a=np.arange(7.0))
        np.testing.assert_array_equal(c, (2 * np.arange(7.0)) ** 2)


def on_grid(knl: Kernel, iname: str) -> Kernel:
    return pg.split_iname(knl, iname, 16, outer_tag="g.0", inner_tag="l.0")


HORIZONTAL = {
    "one size": (on_grid(SCALE, "i"), on_grid(made("z[i] = 3*w[i]", "triple"), "i")),
    "two sizes": (
        on_grid(SCALE, "i"),
        on_grid(made("z[k] = 3*w[k]", "triple", "{ [k]: 0<=k<m }"), "k"),
    ),
}


@pytest.mark.parametrize("name", HORIZONTAL)
def test_horizontal_fusion_is_one_launch(name: str) -> None:
    knl = pg.fuse_kernels(HORIZONTAL[name])
    assert str(pg.generate_code(knl, "opencl")).count("__kernel void") == 1
    for target in ("c", "opencl"):
        for n in SIZES:
            m = n if name == "one size" else 20 - n
            a, w = np.arange(float(n)), np.arange(float(m))
            _, (b, z) = knl.executor(target)(a=a, w=w)
            np.testing.assert_array_equal(b, 2 * a)
            np.testing.assert_array_equal(z, 3 * w)


def test_what_other_groups_need_takes_another_launch() -> None:
    """Also where they share inames on hardware axes: a dependency orders all of these."""
    back = made("c[k] = b[n-1-k]", "back", "{ [k]: 0<=k<n }")
    for iname in ("k", "i"):
        second = on_grid(pg.rename_iname(back, "k", iname) if iname == "i" else back, iname)
        knl = pg.fuse_kernels([on_grid(SCALE, "i"), second])
        assert str(pg.generate_code(knl, "opencl")).count("__kernel void") == 2
        for target in ("c", "opencl"):
            a = np.arange(40.0)
            _, (b, c) = knl.executor(target)(a=a)
            np.testing.assert_array_equal(b, 2 * a)
            np.testing.assert_array_equal(c, b[::-1])


# --- what is refused

SOME = pg.GlobalArg("a", None, "m")
ILLEGAL: dict[str, tuple[str, str, tuple[Any, ...]]] = {
    # The two that PyFuser takes: the threads that touch an element are not compared.
    "one thread writes for all": ("a[0] = 5  {if=i == 7}", "b[i] = a[0]", (SOME,)),
    "two threads of one element": ("a[i//2] = b[i]", "b[i] = a[i//2]", (SOME,)),
    "read ahead": ("a[i] = 1", "b[i] = a[i+1]", (pg.GlobalArg("a", None, "n+1"),)),
    "read backwards": ("a[i] = 1", "b[i] = a[n-1-i]", ()),
    "overwritten before it is read": ("b[i] = a[n-1-i]", "a[i] = 0", ()),
    "written in another order": ("a[i] = 1", "a[n-1-i] = 2", ()),
    "the last one counts": ("s[0] = a[i]", "b[i] = s[0]", ()),
}


def _parts(name: str) -> list[Kernel]:
    options: dict[str, Any] = {}
    first, second, data = ILLEGAL[name]
    if SOME in data:
        options["assumptions"] = "m >= n and m >= 1"
    return [
        made(text, which, LINE, *(d for d in data if f"{d.name}[" in text), **options)
        for text, which in ((first, "first"), (second, "second"))
    ]


def _agrees(knl: Any, parts: list[Kernel]) -> None:
    """Check that a kernel, interpreted and lowered, leaves what others leave in turn."""
    sizes = {k: v for k, v in {"n": 9, "m": 11}.items() if k in knl.variables}
    arguments = arguments_of(knl, sizes, 0, {})
    wanted = in_turn(parts, arguments)
    same = typed(knl, arguments)
    outcomes = [interpret(same, arguments), run_program(lowered(same), arguments)]
    for found in outcomes:
        assert found.arrays.keys() <= wanted.keys()
        for array, values in found.arrays.items():
            np.testing.assert_array_equal(values, wanted[array], err_msg=array)


@pytest.mark.parametrize("name", ILLEGAL)
def test_illegal_fusions(name: str) -> None:
    parts = _parts(name)
    with pytest.raises(IllegalStep, match="would change what kernel 'first_and_second'") as caught:
        pg.fuse_kernels(parts)
    assert "rename_iname" in str(caught.value.remedy)
    _agrees(pg.fuse_kernels([parts[0], pg.rename_iname(parts[1], "i", "k")]), parts)


@pytest.mark.parametrize("name", ILLEGAL)
def test_in_parallel_loops_there_is_a_launch_between_or_a_race(name: str) -> None:
    parts = _parts(name)
    with pg.without_proofs():
        tagged = [pg.tag_inames(part, {"i": "g.0"}) for part in parts]
    if name in ("two threads of one element", "the last one counts"):
        with pytest.raises(UnorderedAccess):  # within the first kernel
            pg.fuse_kernels(tagged)
        return
    _agrees(pg.fuse_kernels(tagged), parts)


def test_unsafe_fusions_are_noted() -> None:
    back = made("c[i] = b[n-1-i]", "back")
    knl = pg.fuse_kernels([SCALE, back], unsafe=True)
    assert any("fuse_kernels" in str(claim) and "unsafe=True" in str(claim) for claim in knl.claims)


def test_data_decides() -> None:
    put = made("a[index[i]] = b[i]", "put", LINE, SOME, pg.GlobalArg("index", "int32", "n"))
    get = made("c[i] = a[i]", "get", LINE, SOME, assumptions="n <= m")
    with pytest.raises(CannotProve) as caught:
        pg.fuse_kernels([put, get])
    assert "unsafe=True" in str(caught.value.remedy)
    assert "rename_iname" in str(caught.value.remedy)
    knl = pg.fuse_kernels([put, pg.rename_iname(get, "i", "k")])
    assert knl.instructions_by_id["insn_0"].depends_on == {"insn"}


def test_no_loop_for_both() -> None:
    total = made(
        "b[i] = 2*a[i]  {id=b}\ns[0] = sum(j, b[j])  {dep=b}", "total", "{[i,j]: 0<=i,j<n}"
    )
    with pytest.raises(NotFusible, match="'total' and 'use' cannot become one") as caught:
        pg.fuse_kernels([total, made("c[i] = s[0]", "use")])
    assert "rename_iname" in str(caught.value.remedy)
    one = made("a[i,j] = 1", "one", "{[i,j]: 0<=i,j<n}", loop_priority="i, j")
    two = made("b[i,j] = 1", "two", "{[i,j]: 0<=i,j<n}", loop_priority="j, i")
    with pytest.raises(NotFusible, match="priorities would put loops in a circle"):
        pg.fuse_kernels([one, two])


def other(text: str = "c[i] = b[i]", *data: Any, **options: Any) -> Kernel:
    return pg.make_kernel(LINE, text, [*data, "..."], name="other", **options)


DIFFERENT: dict[str, tuple[type[UserError], str, Kernel]] = {
    "types": (
        KernelsDiffer,
        "arguments 'b' are declared otherwise: 'b: .*float64.*' and 'b: .*float32",
        other("c[i] = b[i]", pg.GlobalArg("b", "float32", "n")),
    ),
    "shapes": (KernelsDiffer, r"shape: \(n\).*shape: \(n \+ 1\)", other("c[i] = b[i+1]")),
    "kinds": (KernelsDiffer, "different kinds", other("c[i] = b", pg.ValueArg("b"))),
    "constant": (
        KernelsDiffer,
        "different kinds",
        other("c[i] = b[i]", pg.ConstantArg("b", "float64", "n")),
    ),
    "aliases": (
        KernelsDiffer,
        "declared otherwise",
        other("c[i] = b[i]", pg.GlobalArg("b", "float64", "n", may_alias=True)),
    ),
    "options": (
        KernelsDiffer,
        "different options: return_dict",
        pg.set_options(other(), return_dict=True),
    ),
    "assumptions": (KernelsDiffer, "contradicts", other(assumptions="n >= 9")),
    "targets": (KernelsDiffer, "different targets, c and opencl", other(target="opencl")),
    "tags": (
        TagConflict,
        "'i' is tagged for in kernel 'scale', and g.0 in kernel 'other'",
        pg.tag_inames(other(), {"i": "g.0"}),
    ),
    "domains": (
        DomainsDiffer,
        "'other' has other values of 'i' .* n=1, i=0 is not in it",
        pg.make_kernel(
            "{ [i]: 1<=i<n }", "c[i] = b[i]", [pg.GlobalArg("b", None, "n"), "..."], name="other"
        ),
    ),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_kernels_that_say_different_things(name: str) -> None:
    kind, text, knl = DIFFERENT[name]
    first = made("b[i] = 2*a[i]", "scale", target="c", assumptions="n <= 8")
    with pytest.raises(kind, match="(?s)" + text):
        pg.fuse_kernels([first, knl])


def test_domains_that_differ_together() -> None:
    square = made("a[i,j] = 1", "square", "{[i,j]: 0<=i,j<n}")
    triangle = made("b[i,j] = 1", "triangle", "{[i,j]: 0<=i<n and 0<=j<=n-1-i}")
    with pytest.raises(DomainsDiffer, match=r"other values of 'i' and 'j' .*is not in it"):
        pg.fuse_kernels([square, triangle])


def test_what_one_kernel_leaves_open_another_says() -> None:
    open_one = pg.make_kernel(LINE, "b[i] = 2*a[i]", name="opened")
    fortran = made("c[i] = b[i]", "said", LINE, pg.GlobalArg("b", None, "n", strides="2"))
    for kernels in ([open_one, fortran], [fortran, open_one]):
        kernels[1] = pg.rename_iname(kernels[1], "i", "k")
        knl = pg.fuse_kernels(kernels)
        assert knl.variables["b"] == fortran.variables["b"]


def test_claims_are_kept_for_what_they_are_about() -> None:
    scatter = pg.assume_injective(
        made("a[index[i]] = b[i]", "put", LINE, SOME, pg.GlobalArg("index", "int32", "n")), "index"
    )
    scatter = pg.tag_inames(scatter, {"i": "g.0"})
    knl = pg.fuse_kernels([scatter, made("c[k] = a[k]", "get", "{[k]: 0<=k<m}")])
    assert [str(claim) for claim in knl.claims] == ["assume_injective('index')"]
    writer = made("index[k] = 0", "w", "{[k]: 0<=k<n}", pg.GlobalArg("index", "int32", "n"))
    with pytest.raises(MalformedKernel, match="cannot be claimed to be injective"):
        pg.fuse_kernels([writer, scatter])


def test_verbatim_c_keeps_its_names() -> None:
    text = (
        '<> t = 1.0*i  {id=t}\n... code(i) "out[i] = t;" reads(t) writes(out[i])  {inames=i,dep=t}'
    )
    data = [pg.GlobalArg("out", "float64", 4), "..."]
    verbatim = pg.make_kernel("{[i]: 0<=i<4}", text, data, name="verbatim")
    plain = made("<> t = 2.0*i\nb[i] = t", "plain", "{[i]: 0<=i<4}")
    knl = pg.fuse_kernels([verbatim, plain])
    for target in ("c", "opencl"):
        _, (out, b) = knl.executor(target)()
        np.testing.assert_array_equal(out, np.arange(4.0))
        np.testing.assert_array_equal(b, 2 * np.arange(4.0))
    with pytest.raises(VerbatimNotPossible, match="'t'"):
        pg.fuse_kernels([plain, verbatim])


AGAIN = made("a[i] = a[i] + 1", "again")
WRONG: list[tuple[tuple[Any, ...], str]] = [
    (([],), "there are none"),
    ((3,), "which is no collection"),
    (([SCALE, 3],), "3 is no kernel"),
    (([SCALE, ADD], ["_a"]), "1 suffixes for 2 kernels"),
    (([SCALE, ADD], ["_a", "-"]), "which is not a sequence of ends of names"),
    (([SCALE, ADD], "ab"), "which is not a sequence of ends of names"),
    (([SCALE, ADD], None, "b"), r"not a sequence of \(name, from_kernel, to_kernel\)"),
    (([SCALE, ADD], None, iter([("b", 0, 1)])), "which is no collection"),
    (([SCALE, ADD], None, [("b", 0)]), r"not a sequence of \(name, from_kernel, to_kernel\)"),
    (([SCALE, ADD], None, [("b", 1, 0)]), "kernel 'add' does not write 'b'"),
    (([SCALE, SCALE], None, [("b", 1, 1)]), "they are one"),
    (([AGAIN, AGAIN], None, [("a", 0, 1), ("a", 1, 0)]), "in a circle between 'again' and 'again'"),
    (([SCALE, ADD], None, [("b", 0, 2)]), "there are 2 kernels"),
    (([SCALE, ADD], None, [("a", 0, 1)]), "kernel 'scale' does not write 'a'"),
    (([ADD, SCALE], None, [("c", 0, 1)]), "kernel 'scale' does not read 'c'"),
]


@pytest.mark.parametrize(("given", "text"), WRONG)
def test_wrong_arguments(given: tuple[Any, ...], text: str) -> None:
    with pytest.raises(InvalidArgument, match="fuse_kernels.*" + text):
        pg.fuse_kernels(*given)


def test_recurrences_that_were_split() -> None:
    sums = made("b[i] = b[i-1] + a[i]", "sums", "{ [i]: 1<=i<n }", pg.GlobalArg("b", None, "n"))
    split = pg.split_iname(pg.rename_iname(sums, "i", "k"), "k", 4)
    knl = pg.fuse_kernels([SCALE, split])
    for target in ("c", "opencl"):
        for n in SIZES[1:]:
            a = np.arange(float(n))
            _, (b,) = knl.executor(target)(a=a)
            np.testing.assert_array_equal(b, np.cumsum(a))


# --- random kernels

PAIRS = 40


def _pair(seed: int) -> list[Kernel]:
    """Return two random kernels; inames of one domain are shared."""
    first, second = (Maker(s).kernel() for s in (seed, seed + 50_000))
    own = [
        i
        for i in second.inames
        if i in first.inames and second.home_domains[i] not in first.domains
    ]
    with pg.without_proofs():
        for iname in own:
            second = pg.rename_iname(second, iname, second.new_name(f"own_{iname}"))
    return [first.copy(name="first"), second.copy(name="second")]


def _is_wrong(knl: Kernel, parts: list[Kernel], seed: int) -> bool:
    """Tell whether a kernel leaves something else than others that are executed in turn."""
    for n, m in ((4, 3), (3, 4), (0, 1), (5, 2)):
        sizes = {k: v for k, v in (("n", n), ("m", m)) if k in knl.variables}
        arguments = arguments_of(knl, sizes, seed, {**LIMITS, "count": 4})
        wanted = in_turn(parts, arguments)
        same = typed(knl, arguments)
        outcomes = [interpret(same, arguments, seed).arrays]
        if proofs_are_on():
            outcomes.append(run_program(lowered(same), arguments, seed).arrays)
        for found in outcomes:
            if any((found[k] != wanted[k]).any() for k in found if k in wanted):
                return True
    return False


@pytest.mark.more
def test_random_pairs() -> None:
    counted: Counter[str] = Counter()
    for seed in range(PAIRS):
        parts = _pair(seed)
        try:
            knl = pg.fuse_kernels(parts)
        except (DomainsDiffer, NotFusible, IllegalStep, CannotProve) as error:
            counted[type(error).__name__] += 1
            continue
        assert not _is_wrong(knl, parts, seed), seed
        counted["shared" if set(parts[0].inames) & set(parts[1].inames) else "apart"] += 1
    assert counted["shared"] > 6
    assert counted["IllegalStep"] > 3


def test_without_proofs_wrong_pairs_are_noticed() -> None:
    wrong = 0
    for seed in range(PAIRS):
        parts = _pair(seed)
        try:
            knl = pg.fuse_kernels(parts, unsafe=True)
        except (DomainsDiffer, NotFusible):
            continue
        with pg.without_proofs():
            wrong += _is_wrong(knl, parts, random.Random(seed).randrange(99))
    assert wrong > 2
