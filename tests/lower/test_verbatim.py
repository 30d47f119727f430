"""Verbatim C: pasted where it stands, ordered by what it declares."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    CannotProve,
    InvalidArgument,
    MalformedExpression,
    MalformedInstruction,
    MalformedKernel,
    NoAtomicUpdate,
    NotDeterministic,
    ObligationUnchecked,
    ReservedName,
    ShapeNotFound,
    UnknownName,
    UnorderedAccess,
    UserError,
    VerbatimNotPossible,
    WrongStatement,
)
from polygen.ir import expression as ex
from polygen.lower.lower import Model, lower_prepared, prepare
from polygen.lower.program import Verbatim
from polygen.validation.validate import check
from tests.oracle.cases import agree, kernel, prior, split
from tests.oracle.cases import steps as then
from tests.validation.edits import said, where

PAIRS = r"""
<> t = 2*a[i]   {id=t}
... code(i, k=n-1-i) "out[2*k] = t;\nout[2*k + 1] = t + i; // # (" reads(t) writes(out) {
    id=c, dep=t, inames=i}
"""
OUT = pg.GlobalArg("out", np.float64, shape="2*n")
KNL = kernel("{ [i]: 0<=i<n }", PAIRS, OUT)
TARGETS = ("c", "opencl")


def expected(a: Any) -> Any:
    """Return what the kernel above computes."""
    both = np.stack([2 * a, 2 * a + np.arange(len(a))], axis=1)
    return both[::-1].reshape(-1)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("size", [0, 1, 5, 8])
def test_values(target: str, size: int) -> None:
    a = np.arange(size) + 1.0
    variants = [KNL, pg.split_iname(KNL, "i", 4, outer_tag=None)]
    variants.append(pg.split_iname(KNL, "i", 2, inner_tag="unr"))
    free = pg.assume_independent(KNL, "c", "c")
    variants.append(pg.split_iname(free, "i", 4, outer_tag="g.0", inner_tag="l.0"))
    for knl in variants:
        split = "i_outer" in knl.inames
        ordered = pg.prioritize_loops(knl, "i_outer, i_inner") if split else knl
        (out,) = ordered.executor(target)(a=a, out=np.full(2 * size, 9.0))[1]
        np.testing.assert_array_equal(out, expected(a))


@pytest.mark.parametrize("target", TARGETS)
def test_names_that_stand_for_each_other(target: str) -> None:
    knl = kernel(
        "{ [i,j]: 0<=i<3 and 0<=j<4 }",
        '... code(i=j, j=i) "out[4*j + i] = 10*j + i;" writes(out[i,j]) {inames=i:j}',
        pg.GlobalArg("out", np.int32, shape=(3, 4)),
    )
    (out,) = knl.executor(target)(out=np.zeros((3, 4), np.int32))[1]
    np.testing.assert_array_equal(out, 10 * np.arange(3)[:, None] + np.arange(4))


@pytest.mark.parametrize("target", TARGETS)
def test_a_temporary_that_is_written_by_the_text(target: str) -> None:
    knl = kernel(
        "{ [i]: 0<=i<n }",
        """
        ... code(i) "t = i % 3;" writes(t)  {id=set, inames=i}
        out[i] = t*a[i]                     {id=use, dep=set, inames=i}
        """,
        pg.TemporaryVariable("t", np.int32),
    )
    assert [o.kind for o in pg.obligations(knl)] == ["written"]
    a = np.arange(7.0)
    (out,) = knl.executor(target)(a=a)[1]
    np.testing.assert_array_equal(out, np.arange(7) % 3 * a)
    with pytest.raises(ObligationUnchecked):
        knl(a=a, check_assumptions=True)


def test_text() -> None:
    assert pg.parse_kernel(str(KNL)) == KNL
    insn = KNL.instruction("c")
    assert isinstance(insn, pg.CInstruction)
    i, k = ex.Variable("i"), ex.sum_of(ex.Variable("n"), -1, ex.negated(ex.Variable("i")))
    assert insn.iname_exprs == (("i", i), ("k", k))
    assert insn.code == "out[2*k] = t;\nout[2*k + 1] = t + i; // # ("
    again = pg.make_kernel("{ [i]: 0<=i<n }", ["<> t = 2*a[i]   {id=t}", insn], [OUT, "..."])
    assert again.instruction("c") == insn


def test_where_proofs_have_to_give_up() -> None:
    with pytest.raises(CannotProve, match="'out' are touched depends on data"):
        pg.tag_inames(KNL, {"i": "g.0"})
    with pytest.raises(UserError):  # the text would still say t
        pg.privatize_temporaries_with_inames(KNL, "i", "t")
    with pytest.raises(UserError):
        pg.assignment_to_subst(KNL, "t")


def test_order_is_demanded() -> None:
    text = '... code() "x[0] = 1;" writes(x) {id=first}\nx[0] = 2 {id=second}'
    knl = kernel("{ : }", text, pg.GlobalArg("x", np.int32, shape=1))
    (owed,) = pg.obligations(knl)
    assert (owed.kind, owed.instructions) == ("ordered", ("first", "second"))
    with pytest.raises(UnorderedAccess):
        kernel("{ : }", "x[0] = 1\nx[0] = 2")


def test_a_private_variable_that_becomes_a_part_of_an_array() -> None:
    with pg.without_proofs():
        knl = kernel(
            ["{ [i]: 0<=i<16 }", "{ [j]: 0<=j<16 }"],
            """
            <float64> p = a[i]                            {id=p}
            tile[i] = p                                   {id=store, dep=p, inames=i}
            ... code(j) "out[j] = p + tile[15-j];" reads(p, tile) writes(out[j]) {
                id=use, dep=p:store, inames=j}
            """,
            pg.TemporaryVariable("tile", np.float64, 16, address_space=pg.AddressSpace.LOCAL),
            pg.GlobalArg("out", np.float64, shape=16),
        )
        knl = pg.tag_inames(knl, {"i": "l.0", "j": "l.0"})
    a = np.arange(16.0)
    (out,) = knl.executor("opencl")(a=a)[1]
    np.testing.assert_array_equal(out, a + a[::-1])
    with pytest.raises(VerbatimNotPossible, match="mentions 'p', which each work item"):
        pg.generate_code(pg.add_dtypes(knl, {"a": np.float64}), "c")


@pytest.mark.parametrize(
    ("text", "kind", "what"),
    [
        ('... code(i) "x" {inames=i, atomic}', MalformedInstruction, "never atomic"),
        ('... code(i, i=2) "x" {inames=i}', MalformedInstruction, "stands for two things"),
        (r'... code(i) "\q" {inames=i}', MalformedInstruction, "is no text"),
        ("... code(i) {inames=i}", MalformedInstruction, "found '{'"),
        ('... code(a=i) "x" reads(a) {inames=i}', MalformedKernel, "'a', which is a variable"),
        ('... code(k=a[i]) "x" {inames=i}', MalformedKernel, "depends on 'a'"),
        ('... code(k=j) "x" {inames=i}', UnknownName, "mentions 'j'"),
        ('... code(int=i) "x" {inames=i}', ReservedName, "'int'"),
        ('... code(i) "x" reads(i) {inames=i}', MalformedKernel, "'i', which is no variable"),
    ],
)
def test_refused(text: str, kind: type[UserError], what: str) -> None:
    with pytest.raises(kind) as caught:
        kernel("{ [i,j]: 0<=i,j<n }", f"a[i] = i {{id=a}}\n{text}")
    assert what in caught.value.what


def test_shapes_and_types_have_to_be_said() -> None:
    text = '... code(i) "y[i] = 1;" writes(y) {inames=i}'
    with pytest.raises(ShapeNotFound):
        kernel("{ [i]: 0<=i<n }", text, pg.GlobalArg("y", np.int32))


def test_an_id_is_needed() -> None:
    with pytest.raises(InvalidArgument, match="cannot be the id"):
        pg.make_kernel("{ [i]: 0<=i<n }", [pg.CInstruction((), "x")])


@pytest.mark.parametrize("target", ["c", "opencl"])
@pytest.mark.parametrize(
    ("inames", "written"),
    [
        ("i, j", "out[j, i]; count[i]"),
        (("i", "j"), ("out[j, i]", "count[i]")),
        ([("i", ex.Variable("i")), "j"], ["out[j, i]", "count[i]"]),
    ],
)
def test_texts(target: str, inames: Any, written: Any) -> None:
    """What an instruction made in Python says of its code may be texts."""
    code = "out[j*n + i] = u*u - j; count[i] = i + j;"
    reads: Any = {"u", "n"}
    within, after = frozenset("ij"), frozenset("u")
    insn = pg.CInstruction(inames, code, reads, written, "c", within, after)
    knl = pg.make_kernel(
        "{ [i, j]: 0<=i<n and 0<=j<3 }",
        ["<> u = x[i]  {id=u, inames=i:j}", insn],
        [
            pg.GlobalArg("x", np.float64, "n"),
            pg.GlobalArg("out", np.float64, "3, n"),
            pg.GlobalArg("count", np.int32, "n"),
            "...",
        ],
        loop_priority="i, j",
    )
    assert pg.parse_kernel(str(knl)) == knl
    for n in (0, 1, 7):
        x = np.arange(n) / 4
        arrays = {"out": np.zeros((3, n)), "count": np.zeros(n, np.int32)}
        _, (out, count) = knl.executor(target)(x=x, n=n, **arrays)
        np.testing.assert_array_equal(out, x * x - np.arange(3)[:, None])
        np.testing.assert_array_equal(count, np.arange(n) + 2)


def test_texts_that_are_none() -> None:
    with pytest.raises(MalformedInstruction, match="iname_exprs of instruction 'c' have 3 among"):
        pg.make_kernel("{ [i]: 0<=i<n }", [pg.CInstruction(cast("Any", [3]), "x;", id="c")])
    insn = pg.CInstruction((), "x;", assignees=cast("Any", "y[i"), id="c")
    with pytest.raises(MalformedExpression):
        pg.make_kernel("{ [i]: 0<=i<n }", [insn])


def replace_all(changes: dict[str, Any], node: Any) -> tuple[Any, ...]:
    """Return a node with some fields changed."""
    return (replace(node, **changes),)


def test_agree() -> None:
    sizes = tuple({"n": n} for n in (0, 1, 5, 8))
    text = "<> t = 2*a[i] {id=t}\n" + (
        '... code(i, k=n-1-i) "out[2*k] = t; out[2*k+1] = t + i" reads(t) writes(out) '
        "{dep=t, inames=i, id=c}"
    )
    first = kernel("{ [i]: 0<=i<n }", text, OUT)
    steps = (split("i", 4), split("i", 2, inner_tag="unr"))
    agree(first, sizes, *(then(step, prior("i_outer, i_inner")) for step in steps))
    text = '... code(i, j) "x[4*i + j] = y[4*j + i] + 1;" reads(y) writes(x[i,j]) {inames=i:j}'
    data = (pg.GlobalArg(name, np.float64, shape=(4, 4)) for name in "xy")
    second = kernel("{ [i,j]: 0<=i,j<4 }", text, *data)
    agree(second, ({},), split("j", 2))


def test_validation_looks_at_it() -> None:
    knl = prepare(pg.add_dtypes(KNL, {"a": np.float64}))
    program = lower_prepared(knl, Model.LOOPS)
    check(knl, program)
    changes: list[dict[str, Any]] = [
        {"code": "out[0] = 1;"},
        {"writes": ("a",)},
        {"names": (("i", ex.Variable("i")), ("k", ex.Variable("i")))},
    ]
    for change in changes:
        edit = where(Verbatim, partial(replace_all, change), "c")
        assert "other C is there than was written" in said(knl, edit(program), WrongStatement)


ANY_ORDER = r"""
... code(i) "hits[0] += 1;" writes(hits[0]) {id=c, inames=i, atomic=any_order}
out[j] = hits[0] {id=o, dep=c, inames=j}
"""
HITS = [pg.GlobalArg("hits", np.int32, shape=1), pg.GlobalArg("out", np.int32, shape=1), "..."]
LOOPS = ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<1 }"]


def test_texts_that_may_come_in_any_order() -> None:
    """Iterations of the claim may run at once; what reads what they write comes behind them."""
    knl = pg.make_kernel(LOOPS, ANY_ORDER, HITS)
    insn = knl.instruction("c")
    assert isinstance(insn, pg.CInstruction)
    assert insn.atomicity == pg.Atomicity(any_order=True)
    assert pg.parse_kernel(str(knl)) == knl
    pg.tag_inames(knl, {"i": "g.0"})
    plain = pg.make_kernel(LOOPS, ANY_ORDER.replace(", atomic=any_order", ""), HITS)
    assert plain != knl
    with pytest.raises(CannotProve):
        pg.tag_inames(plain, {"i": "g.0"})
    both = '... code(i) "hits[0] = 2;" writes(hits[0]) {id=o, dep=c, inames=i}'
    mixed = pg.make_kernel(LOOPS[0], [ANY_ORDER.split("\n")[1], both], HITS)
    with pytest.raises(CannotProve):  # one of them claims nothing
        pg.tag_inames(mixed, {"i": "g.0"})


def test_a_builder_claims_any_order() -> None:
    b = pg.Builder()
    n = b.size("n")
    hits = b.array("hits", np.int32, 1)
    with b.loop("i", 0, n):
        b.code("hits[0] += 1;", writes=hits[0], atomic=pg.Atomicity(any_order=True), id="c")
    insn = b.kernel().instruction("c")
    assert isinstance(insn, pg.CInstruction)
    assert insn.atomicity == pg.Atomicity(any_order=True)


def test_texts_in_any_order_are_not_deterministic() -> None:
    knl = pg.make_kernel(LOOPS, ANY_ORDER, HITS)
    knl = pg.set_options(pg.tag_inames(knl, {"i": "g.0"}), deterministic=True)
    with pytest.raises(NotDeterministic, match="'c' is verbatim C that work items execute in any"):
        pg.generate_code(knl, "opencl")


def test_other_claims_are_refused() -> None:
    with pytest.raises(MalformedInstruction, match="never atomic") as caught:
        kernel("{ [i]: 0<=i<n }", '... code(i) "x" {inames=i, atomic=init}')
    assert "any_order" in (caught.value.remedy or "")
    written = (ex.Subscript(ex.Variable("hits"), 0),)
    insn = pg.CInstruction((), "x", assignees=written, id="c", atomicity=pg.Atomicity())
    with pytest.raises(NoAtomicUpdate, match="is verbatim C, which is never atomic"):
        pg.make_kernel("{ : }", [insn], HITS)
