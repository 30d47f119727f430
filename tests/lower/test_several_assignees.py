"""Instructions with several assignees: all is read before anything is written."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    IllegalStep,
    MixedAssignees,
    NotARule,
    NotTheSame,
    UserError,
    WrittenTwice,
    WrongStatement,
)
from polygen.ir import expression as ex
from polygen.ir.instruction import Assignment, Instruction, MultiAssignment
from polygen.lower.lower import Model, lower_prepared, prepare
from polygen.lower.program import Assign
from polygen.transformation import transformation
from polygen.validation.validate import check
from tests.oracle.cases import SIZES, agree, grid, kernel, split, tag
from tests.validation.edits import said, where

SWAP = kernel("{ [i]: 0<=i<n }", "a[i], b[i] = b[i], a[i] + 1  {id=swap}")
BUTTERFLY = kernel(
    "{ [s,i]: 0<=s<3 and 0<=i<n }",
    """
    <> even, <> odd = x[2*i] + x[2*i+1], x[2*i] - x[2*i+1]  {id=turn, dep=*, inames=s:i}
    x[2*i], x[2*i+1] = odd, even                            {id=store, inames=s:i}
    """,
    loop_priority="s, i",
)
FIBONACCI = kernel(
    "{ [i]: 0<=i<n }",
    """
    <int64> last, <int64> next = 0, 1       {id=start}
    out[i] = last                           {id=store, dep=start, inames=i}
    last, next = next, last + next          {id=step, dep=store, inames=i}
    """,
)
ROTATED = kernel(
    "{ [i]: 0<=i<n }",
    "p[i], q[i], r[i] = q[i], r[i], p[i]  {if=keep[i] < 1}",
)


@pytest.mark.parametrize("knl", [SWAP, BUTTERFLY, FIBONACCI, ROTATED])
def test_text(knl: pg.Kernel) -> None:
    assert pg.parse_kernel(str(knl)) == knl
    assert any(isinstance(insn, MultiAssignment) for insn in knl.instructions)


def test_agree() -> None:
    agree(SWAP, SIZES, split("i", 4), grid("i", 4), tag(i="g.0"))
    agree(BUTTERFLY, SIZES[:4], split("i", 2), tag(i="g.0"))
    agree(FIBONACCI, SIZES[:4], split("i", 4))
    agree(ROTATED, SIZES[:4], grid("i", 4))


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_values(target: str) -> None:
    a, b = np.arange(13.0), np.arange(13.0) * 3
    first, second = SWAP.executor(target)(a=a.copy(), b=b.copy())[1]
    np.testing.assert_array_equal(first, b)
    np.testing.assert_array_equal(second, a + 1)
    (out,) = FIBONACCI.executor(target)(out=np.zeros(13, np.int64))[1]
    assert list(out) == [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144]
    turned = [np.arange(7.0) + 10 * k for k in range(3)]
    kept = np.array([0, 1, 0, 5, 0, 0, 1], np.int32)
    found: Any = ROTATED.executor(target)(
        **dict(zip("pqr", (t.copy() for t in turned), strict=True)), keep=kept
    )[1]
    for k in range(3):
        wanted = np.where(kept < 1, turned[(k + 1) % 3], turned[k])
        np.testing.assert_array_equal(found[k], wanted)


def test_only_what_is_needed_is_kept() -> None:
    knl = pg.add_dtypes(SWAP, {"a": np.float32, "b": np.float32})
    code = pg.generate_code(knl, "c").source
    assert "float const b_new = a[i] + 1" in code
    plain = kernel("{ [i]: 0<=i<n }", "a[i], b[i] = c[i], 2*c[i]")
    code = pg.generate_code(pg.add_dtypes(plain, dict.fromkeys("abc", np.float32)), "c").source
    assert "_new" not in code


def test_a_subscript_that_is_written_first_is_kept() -> None:
    knl = kernel(
        "{ [i]: 0<=i<n }",
        """
        <int32> at = n - 1                    {id=start}
        at, out[at] = at - 1, i               {id=put, dep=start, inames=i}
        """,
        pg.GlobalArg("out", np.int32, shape="n"),
    )
    assert "out_at" in pg.generate_code(knl, "c").source
    for target in "c", "opencl":
        (out,) = knl.executor(target)(out=np.full(5, 9, np.int32))[1]
        assert list(out) == [4, 3, 2, 1, 0]


@pytest.mark.parametrize(
    ("domain", "text", "what"),
    [
        ("{ [i]: 0<=i<n }", "a[i], a[n-1-i] = 1, 2", "n=1, insn[i=0] writes one element twice"),
        ("{ [i]: 0<=i<n }", "a[i], a[i] = 1, 2", "as a[i] and as a[i]"),
        ("{ [i]: 0<=i<8 }", "a[i//2], a[i-4] = 1, 2 {if=i >= 4}", "writes one element twice"),
    ],
)
def test_one_element_twice(domain: str, text: str, what: str) -> None:
    with pytest.raises(WrittenTwice) as caught:
        kernel(domain, text)
    assert what in caught.value.what


def test_where_data_decides_it_is_an_obligation() -> None:
    knl = kernel(
        "{ [i]: 0<=i<n }", "x[p[i]], x[q[i]] = x[q[i]], x[p[i]]", pg.GlobalArg("x", shape="m")
    )
    owed = [str(o) for o in pg.obligations(knl)]
    assert "insn: x[p[i]] and x[q[i]] are never one element in the same instance" in owed
    data = {"x": np.arange(5.0), "p": np.array([0, 2]), "q": np.array([1, 2])}
    with pytest.raises(pg.errors.ObligationViolated):
        knl(**data, check_assumptions=True)
    data["q"] = np.array([1, 3])
    (x,) = knl(**data, check_assumptions=True)[1]
    assert list(x) == [1, 0, 3, 2, 4]


def test_assignees_that_other_work_items_would_write() -> None:
    knl = kernel(
        "{ [i,j]: 0<=i<n and 0<=j<16 }",
        "<> t, a[i] = b[i], 2*b[i]\nout[i,j] = t + j",
    )
    knl = pg.add_dtypes(pg.tag_inames(knl, {"i": "g.0", "j": "l.0"}), {"b": np.float32})
    with pytest.raises(MixedAssignees, match="writes t, a at once"):
        pg.generate_code(knl, "opencl")


def test_no_rule_of_one_of_several() -> None:
    knl = kernel("{ [i]: 0<=i<n }", "<> s, <> t = a[i], 2*a[i]\nout[i] = s + t")
    with pytest.raises(NotARule, match="together with others"):
        pg.assignment_to_subst(knl, "t")


@transformation
def one_by_one(kernel: pg.Kernel, insn_id: str, *, backwards: bool) -> pg.Kernel:
    """Write what an instruction assigns in instructions of their own, which follow each other."""
    old = kernel.assignment(insn_id)
    parts: list[Instruction] = []
    for number, (assignee, value) in enumerate(old.pairs[:: -1 if backwards else 1]):
        before = frozenset(part.id for part in parts[-1:])
        parts.append(
            Assignment(
                f"{insn_id}_part_{number}",
                assignee,
                value,
                old.within_inames,
                old.depends_on | before,
            )
        )
    others = [
        insn.copy(depends_on=insn.depends_on - {insn_id} | {parts[-1].id})
        if insn_id in insn.depends_on
        else insn
        for insn in kernel.instructions
        if insn.id != insn_id
    ]
    return kernel.copy(instructions=(*parts, *others))


def test_values_are_followed_to_their_assignee() -> None:
    def typed(name: str) -> pg.GlobalArg:
        return pg.GlobalArg(name, np.float64)

    knl = kernel(
        "{ [i]: 0<=i<n }", "<> s, <> t = a[i], 2*a[i]\nout[i] = s - t", *map(typed, ("a", "out"))
    )
    for backwards in False, True:
        new = one_by_one(knl, "insn", backwards=backwards)
        assert len(new.instructions) == 3
    shift = kernel("{ [i]: 0<=i<n }", "x[i], y[i] = 2*y[i], x[i]", *map(typed, "xy"))
    with pytest.raises(UserError) as caught:  # y would get the new x
        one_by_one(shift, "insn", backwards=False)
    assert isinstance(caught.value, IllegalStep | NotTheSame)


@transformation
def exchanged(kernel: pg.Kernel, insn_id: str) -> pg.Kernel:
    """Assign the values of an instruction the other way round."""
    old = kernel.assignment(insn_id)
    new = old.with_pairs(tuple(zip(old.assignees, old.values[::-1], strict=True)))
    others = [insn for insn in kernel.instructions if insn is not old]
    return kernel.copy(instructions=(new, *others))


def test_each_assignee_has_its_value() -> None:
    with pytest.raises(NotTheSame):
        exchanged(kernel("{ [i]: 0<=i<n }", "a[i], b[i] = c[i], 2*c[i]"), "insn")


def test_validation_looks_at_all_assignees() -> None:
    knl = prepare(pg.add_dtypes(SWAP, {"a": np.float32, "b": np.float32}))
    program = lower_prepared(knl, Model.GRID)
    check(knl, program)

    def other_value(node: Any) -> Any:
        ((target, value),) = node.others
        return (replace(node, others=((target, ex.sum_of(value, 1)),)),)

    edit = where(Assign, other_value, "swap")
    assert "computes" in said(knl, edit(program), WrongStatement)
    edit = where(Assign, lambda n: (replace(n, others=()),), "swap")
    assert "writes 1 variables instead of 2" in said(knl, edit(program), WrongStatement)


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_arrays_that_share_memory(target: str) -> None:
    """What is written first may be what is read for the second, under another name."""
    arrays = [pg.GlobalArg(name, np.float64, "n", may_alias=name != "b") for name in "abc"]
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "a[i], b[i] = 1, c[i]", [*arrays, "..."])
    code = str(pg.generate_code(knl, target))
    assert code.index("= c[i]") < code.index("a[i] = ")
    if target == "c":
        x = np.arange(4.0)
        a, b = knl.executor("c")(a=x, c=x)[1]
        np.testing.assert_array_equal(a, 1)
        np.testing.assert_array_equal(b, [0, 1, 2, 3])


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_chosen_by_one_condition(target: str) -> None:
    """It is asked once; and bits of numbers are no truth values."""
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        """
        a[i], b[i] = if(k[i] & 2, a[i], b[i]), if(k[i] & 2, b[i], a[i])  {id=by_bits}
        both(x) := (c[x] > 1) & (d[x] > 1)
        c[i], d[i] = if(both(i), d[i], c[i]), if(both(i), c[i], d[i])
        """,
    )
    rng = np.random.default_rng(1)
    k, (a, b, c, d) = rng.integers(0, 4, 9), rng.integers(0, 4, (4, 9))
    given = {"a": a.copy(), "b": b.copy(), "c": c.copy(), "d": d.copy()}
    knl.executor(target)(k=k, **given)
    bits, both = k & 2 != 0, (c > 1) & (d > 1)
    wanted: dict[str, Any] = {
        "a": np.where(bits, a, b),
        "b": np.where(bits, b, a),
        "c": np.where(both, d, c),
        "d": np.where(both, c, d),
    }
    for name, right in wanted.items():
        np.testing.assert_array_equal(given[name], right, err_msg=name)
