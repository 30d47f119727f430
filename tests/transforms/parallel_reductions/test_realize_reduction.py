"""`realize_reduction`: an accumulator, its start, its update and its use."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.analysis.access.domains import domain_of
from polygen.errors import (
    NoSuchReduction,
    NothingMatches,
    ReductionNotSequential,
    TypeNotFound,
    UnknownInstruction,
)
from polygen.ir.kernel import Kernel
from tests.few import few
from tests.oracle.cases import SIZES, agree, agree_in_arrays, kernel

SQUARE = "{ [i,j,k]: 0<=i,j,k<n }"


def made(text: str, domains: Any = SQUARE, dtype: str = "float64", *data: Any) -> Kernel:
    """Return a kernel with arrays of one type, and that of outputs found."""
    knl = kernel(domains, text, *data)
    arrays = [
        a.name
        for a in knl.arguments
        if isinstance(a, pg.GlobalArg) and a.name not in knl.writers and a.dtype is None
    ]
    return pg.add_dtypes(knl, dict.fromkeys(arrays, dtype))


CASES: dict[str, Kernel] = {
    "a sum": made("out[i] = 2*sum(j, a[i,j])"),
    "of integers": made("out[i] = sum(j, a[i,j])", dtype="int32"),
    "a product and a maximum": made("out[i] = product(j, a[i,j]) + max(k, a[k,i])"),
    "one inside of another": made("out[i] = max(k, a[i,k]*sum(j, a[j,k]))"),
    "over two inames": made("out[0] = sum((i,j), a[i,j])", "{ [i,j]: 0<=j<=i<n }"),
    "with two results": made("m[i], p[i] = argmin(j, a[i,j], j)"),
    "under a condition": made("out[i] = if(i < 3, sum(j, a[i,j]), 7)  {if=i > 0}"),
    "in a condition": made("out[i] = 1  {if=sum(j, a[i,j]) > 0}"),
    "of a type of its own": made("out[i] = sum<float64>(j, a[i,j])", dtype="float32"),
    "in a rule": made("f(q) := sum(j, a[q,j])\nout[i] = f(i)\nb[i] = f(n-1-i)"),
    "of what rules say": made("f(q) := a[q,i]*t\n<> t = a[i,i] + 1\nout[i] = sum(j, f(j))"),
    "of what a temporary holds": made("<> t = 2*a[i,i]\nout[i] = sum(j, t*a[i,j])"),
    "two in one loop": made("out[i] = sum(j, a[i,j])\nb[i] = max(j, a[i,j])"),
    "of any": made("out[i] = any(j, a[i,j] > 3)"),
    "a triangle": made("out[i] = sum(j, a[i,j])", "{ [i,j]: 0<=j<=i<n }"),
    "bounds of other loops": made("out[i] = sum(j, a[i,j])", ["{[i]: 0<=i<n}", "{[j]: i<=j<n}"]),
    "beside others in its loop": pg.prioritize_loops(
        made("<> t = 2*a[i,j]  {id=t, inames=i:j}\nout[i] = sum(j, t)  {dep=t, inames=i}"), "i, j"
    ),
}


@few(8, "name", CASES)
def test_it_computes_the_same(name: str) -> None:
    old = CASES[name]
    new = pg.realize_reduction(old)
    assert not any(insn.reductions for insn in new.expanded.instructions)
    assert pg.parse_kernel(str(new)) == new
    assert pg.replay(new.original or new, new.history) == new
    assert pg.realize_reduction(new) is new
    pg.check_well_formed(new)
    if name != "with two results":  # of which instances cannot be marked
        agree(old, SIZES, pg.realize_reduction)
        return
    agree_in_arrays(old, [{"n": n} for n in (1, 3, 5)], pg.realize_reduction)


INFINITE = (
    "a product and a maximum",
    "one inside of another",
    "with two results",
    "two in one loop",
)


@pytest.mark.parametrize(
    "name", [n for n in CASES if n not in {"a triangle", "in a rule", *INFINITE}]
)
def test_the_code_is_what_the_reduction_becomes(name: str) -> None:
    old = CASES[name]
    for target in ("c", "opencl"):
        before, after = (str(pg.generate_code(k, target)) for k in (old, pg.realize_reduction(old)))
        assert after == before


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_on_awkward_sizes(target: str) -> None:
    names = ("a sum", "one inside of another", "with two results", "a triangle")
    runs = {name: pg.realize_reduction(CASES[name]).executor(target) for name in names}
    for n in (0, 1, 7, 8, 9):
        a = np.random.default_rng(n).random((n, n))
        np.testing.assert_allclose(runs["a sum"](a=a)[1][0], 2 * a.sum(axis=1))
        lower = np.tril(a).sum(axis=1)
        np.testing.assert_allclose(runs["a triangle"](a=a)[1][0], lower)
        if n:
            nested = (a * a.sum(axis=0)).max(axis=1)
            np.testing.assert_allclose(runs["one inside of another"](a=a)[1][0], nested)
            _, (m, p) = runs["with two results"](a=a)
            np.testing.assert_array_equal(m, a.min(axis=1))
            np.testing.assert_array_equal(p, a.argmin(axis=1))


def test_the_instances() -> None:
    """The start has those of the instruction, the update those of the contributions."""
    old = made("out[i] = sum(j, a[i,j])  {id=row}", "{ [i,j]: 0<=j<=i<n }")
    new = pg.realize_reduction(old)
    assert [i.id for i in new.instructions] == ["row_init", "row_update", "row"]
    assert new.instructions_by_id["row_update"].within_inames == {"i", "j"}
    assert new.domains == old.domains
    for inames in (frozenset("i"), frozenset("ij")):
        assert domain_of(new, inames).is_equal(domain_of(old, inames))


def test_dependencies_on_instances() -> None:
    """What is added up waits for what the instruction does."""
    text = """
    out[i] = sum(j, t[i]*j)  {id=row, dep=put[{ [i] -> [i']: i' = i }]}
    t[i] = a[i]  {id=put}
    """
    knl = made(
        text, ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<8 }"], "int64", pg.GlobalArg("t", "int64", "n")
    )
    for new in (knl, pg.tag_inames(knl, {"j": "l.0"})):
        realized = pg.realize_reduction(new)
        (relation,) = realized.instruction("row_update").happens_after
        assert relation.first == "put"
        assert set(relation.later_inames) == {"i", "j"}
        a = np.arange(5)
        _, found = realized.executor("c")(a=a, t=np.zeros(5, np.int64))
        np.testing.assert_array_equal(found, [a, 28 * a])


def test_only_the_outermost_of_those_named() -> None:
    old = made("out[i] = max(k, a[i,k]*sum(j, a[j,k]))  {id=x}\nb[i] = sum(j, a[i,j])  {id=y}")
    new = pg.realize_reduction(old, "x")
    assert [i.id for i in new.instructions if i.reductions] == ["x_update", "y"]
    new = pg.realize_reduction(new, "x_update")
    assert [i.id for i in new.instructions if i.reductions] == ["y"]
    agree(old, SIZES, lambda k: pg.realize_reduction(k, "x"))


def test_an_argument_that_nothing_reads_needs_no_type() -> None:
    """The sum's type follows from a temporary's; what `unused` is, no one has to know."""
    text = "<> x = a[i,i]  {id=x}\nout[i] = sum(k, a[k,i]*x)  {id=out, dep=x}"
    old = made(text, SQUARE, "float32", pg.ValueArg("unused"), "...")
    new = pg.realize_reduction(old, "out")
    (accumulator,) = {*new.temporaries} - {*old.temporaries}
    assert accumulator.dtype == np.float32


def test_steps_on_what_it_becomes() -> None:
    """The sum of a row is kept in an array, and all loops change places."""
    old = made("out[i] = sum(j, a[i,j])  {id=row}", "{ [i,j]: 0<=i<8 and 0<=j<n }")

    def columns(knl: Kernel) -> Kernel:
        knl = pg.realize_reduction(knl)
        knl = pg.privatize_temporaries_with_inames(knl, "i")
        knl = pg.duplicate_inames(knl, "i", "id:row_init", "i_first")
        knl = pg.duplicate_inames(knl, "i", "id:row", "i_last")
        return pg.prioritize_loops(knl, "j, i")

    code = str(pg.generate_code(columns(old), "c"))
    assert code.index("for (int j") < code.index("for (int i = 0")
    agree(old, SIZES, columns)


@pytest.mark.parametrize(
    ("text", "given", "kind", "what"),
    [
        ("out[i] = a[i,i]", ("insn",), NoSuchReduction, "no reduction in insn"),
        ("out[i] = a[i,i]", ("inn",), UnknownInstruction, "did you mean 'insn'"),
        ("out[i] = a[i,i]", ("x*",), NothingMatches, "x"),
    ],
)
def test_refused(text: str, given: tuple[str, ...], kind: type[Exception], what: str) -> None:
    with pytest.raises(kind, match=what):
        pg.realize_reduction(made(text), *given)


def test_refused_for_types_and_tags() -> None:
    with pytest.raises(TypeNotFound, match="'a'"):
        pg.realize_reduction(kernel(SQUARE, "out[i] = sum(j, a[i,j])"))
    parallel = pg.tag_inames(made("out[i] = sum(j, a[i,j])"), {"j": "g.0"})
    with pytest.raises(ReductionNotSequential, match=r"'j', which is tagged g\.0"):
        pg.realize_reduction(parallel)


def running() -> Kernel:
    """Return a kernel of which a step has left open how loops are nested, which matters."""
    knl = made(
        "u[i] = u[i-1] + sum(j, a[i,j])",
        ["{ [i]: 1<=i<n }", "{ [j]: 0<=j<n }"],
        "float64",
        pg.GlobalArg("a", None, "n, n"),
        pg.GlobalArg("u", "float64", "n"),
    )
    return pg.split_iname(knl, "i", 4)


def test_a_recurrence_that_was_split() -> None:
    new = pg.realize_reduction(running())
    for target in ("c", "opencl"):
        for n in (0, 1, 7, 8, 9):
            a, u = np.random.default_rng(n).random((n, n)), np.zeros(n)
            new.executor(target)(a=a, u=u)
            np.testing.assert_allclose(u[1:], np.cumsum(a[1:].sum(axis=1)))


def test_nothing_to_do() -> None:
    knl = made("out[i] = a[i,i]")
    assert pg.realize_reduction(knl) is knl


def test_an_accumulator_is_asked_for_where_it_has_a_value() -> None:
    knl = kernel(
        "{ [i,j]: 0<=i<n and 0<=j<4 }",
        "out[i] = 2*x[i]  {if=x[i]>0, if=not all(j, a[i,j]>0)}",
        *[pg.GlobalArg(name, "float64", shape) for name, shape in (("x", "n"), ("a", "n, 4"))],
        pg.GlobalArg("out", "float64", "n"),
    )
    new = pg.realize_reduction(knl)
    assert pg.obligations(new) == ()
    rng = np.random.default_rng(0)
    x, a = rng.standard_normal(9), rng.standard_normal((9, 4)) + 1
    _, (found,) = new.executor("c")(x=x, a=a, out=np.zeros(9))
    np.testing.assert_array_equal(found, np.where((x > 0) & ~(a > 0).all(axis=1), 2 * x, 0))


def test_rules_that_reduce_nothing_stay() -> None:
    """What a group shares is checked with what they stand for."""
    knl = kernel(
        "{ [i,j]: 0<=i<n and 0<=j<8 }",
        "f(x) := 2*a[i,x]\nout[i] = sum(j, f(j))",
        pg.GlobalArg("a", "float64", "n, 8"),
        pg.GlobalArg("out", "float64", "n"),
    )
    new = pg.realize_reduction(pg.tag_inames(knl, {"j": "l.0", "i": "g.0"}))
    assert tuple(new.rules) == ("f",)
    a = np.arange(24.0).reshape(3, 8)
    np.testing.assert_array_equal(new.executor("c")(a=a)[1][0], 2 * a.sum(axis=1))
