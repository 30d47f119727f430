"""`assignment_to_subst`: a variable becomes a rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    CannotProve,
    IllegalStep,
    InvalidArgument,
    NotARule,
    UnknownArgument,
    UserError,
)
from tests.oracle.cases import SIZES, agree_in_arrays, kernel
from tests.transforms.rules.rule_texts import ONE, texts_of

BLUR = kernel(
    ("{ [i]: 0<=i<n }", "{ [k]: 0<=k<n+2 }"),
    """
    row[k] = a[k] + a[k+1] + a[k+2]  {id=row}
    out[i] = row[i] + row[i+2]       {id=out}
    """,
    pg.TemporaryVariable("row", shape=(16,), address_space=pg.AddressSpace.GLOBAL),
    assumptions="n <= 14",
)


def test_a_temporary_becomes_a_rule() -> None:
    new = pg.assignment_to_subst(BLUR, "row")
    assert texts_of(new) == [
        "row_subst(k) := a[k] + a[k + 1] + a[k + 2]",
        "row_subst(i) + row_subst(i + 2)",
    ]
    assert new.temporaries == ()
    assert [(insn.id, insn.depends_on) for insn in new.instructions] == [("out", frozenset())]
    a = np.arange(14.0) ** 2
    _, (out,) = new(a=a, n=10)
    row = a[:-2] + a[1:-1] + a[2:]
    np.testing.assert_array_equal(out, row[:-2] + row[2:])


@pytest.mark.parametrize("within", [None, "out", ["out", "again"]])
def test_some_readers_only(within: Any) -> None:
    knl = kernel(
        ONE,
        """
        <> t = 2*a[i]   {id=t}
        out[i] = t*t    {id=out}
        more[i] = t + i {id=again}
        """,
    )
    new = pg.assignment_to_subst(knl, "t", within=within)
    assert ("t" in new.variables) == (within == "out")
    agree_in_arrays(knl, SIZES[:3], lambda k: pg.assignment_to_subst(k, "t", within=within))


def test_an_argument_is_written_still() -> None:
    # b might round what is stored in it
    knl = kernel(ONE, "b[i] = 2*a[i] {id=b}\nc[i] = b[i] + 1 {id=c}")
    with pytest.raises(CannotProve, match="'b': its type may not be that of what is stored in it"):
        pg.assignment_to_subst(knl, "b")
    new = pg.assignment_to_subst(pg.add_dtypes(knl, {"a": "float32", "b": "float32"}), "b")
    assert texts_of(new) == ["b_subst(i) := 2*a[i]", "2*a[i]", "b_subst(i) + 1"]


def test_a_number_that_is_written_as_subscript_is_no_argument() -> None:
    knl = kernel(ONE, "b[0] = 2*a[3] {id=b}\nc[i,0] = a[i] + b[0] {id=c}\nd[i] = c[i,0]*b[0]")
    knl = pg.add_dtypes(knl, dict.fromkeys("abc", "float64"))
    new = pg.assignment_to_subst(pg.assignment_to_subst(knl, "b"), "c", within="insn")
    assert texts_of(new)[:2] == ["b_subst() := 2*a[3]", "c_subst(i) := a[i] + b_subst()"]
    assert texts_of(new)[-2:] == ["a[i] + b_subst()", "c_subst(i)*b_subst()"]
    a = np.arange(5.0)
    _, found = new(a=a, n=5)
    for array, wanted in zip(found, ([6.0], (a + 6)[:, None], (a + 6) * 6), strict=True):
        np.testing.assert_array_equal(array, wanted)


def test_another_element_than_the_one_that_is_written_is_read_as_before() -> None:
    knl = kernel(ONE, "b[1] = 2*a[3] {id=b}\nc[i] = b[0] + b[1] {id=c,dep=b}")
    new = pg.assignment_to_subst(pg.add_dtypes(knl, dict.fromkeys("ab", "float64")), "b")
    assert texts_of(new)[-1] == "b[0] + b_subst()"


def test_readers_in_rules() -> None:
    knl = kernel(ONE, "f(x) := t + x\n<> t = a[i] {id=t}\nout[i] = f(i) {id=out,dep=t,inames=i}")
    new = pg.assignment_to_subst(knl, "t")
    assert texts_of(new) == ["t_subst() := a[i]", "t_subst() + i"]


def test_what_it_reads_may_change_before_it_is_read() -> None:
    knl = kernel(
        (ONE, "{ [j]: 0<=j<n }"),
        """
        t[i] = a[i]        {id=t, dep=*}
        a[i] = 0           {id=zero, dep=t}
        out[j] = t[j]      {id=out, dep=t:zero}
        """,
        pg.TemporaryVariable("t", shape=(16,), address_space=pg.AddressSpace.GLOBAL),
        assumptions="n <= 16",
    )
    with pytest.raises(IllegalStep):
        pg.assignment_to_subst(knl, "t")


@pytest.mark.parametrize(
    ("text", "name", "error", "message"),
    [
        ("t = 0 {id=s}\nt = a[i] {id=t,dep=s}\nout[i] = t {dep=t}", "t", NotARule, "'t' writes it"),
        ("t = a[i] {if=i > 0}\nout[i] = t {if=i > 0}", "t", NotARule, "under a condition"),
        ("b[i] = b[i] + a[i]\nout[i] = b[i]", "b", NotARule, "depends on its old one"),
        ("t = a[i]\nout[i] = 2", "t", NotARule, "nothing that reads it"),
        ("b[i+1] = a[i]\nout[i] = b[i+1]", "b", NotARule, "is neither an iname nor a number"),
        ("b[i,i] = a[i]\nout[i] = b[i,i]", "b", NotARule, "are one iname"),
        ("t = a[i]\nout[i] = t", "a", InvalidArgument, "lhs_name='a', which is not the name of"),
        ("t = a[i]\nout[i] = t", "tt", UnknownArgument, "no argument or temporary 'tt'"),
    ],
)
def test_no_rule_can_be_made(text: str, name: str, error: type[UserError], message: str) -> None:
    knl = kernel(ONE, text, *([pg.TemporaryVariable("t")] if "t = " in text else []))
    with pytest.raises(error, match=message):
        pg.assignment_to_subst(knl, name)


def test_a_variable_that_bounds_a_loop_is_still_written() -> None:
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<last }"],
        "<int32> last = count[i]\nout[i] = sum(j, 1.0*j)\nmore[i] = 2*last",
        [pg.GlobalArg("count", np.int32), "..."],
    )
    # With bounds that are data it is beyond proof.
    taken: dict[str, Any] = {"unsafe": True}
    new = pg.assignment_to_subst(knl, "last", **taken)
    assert "[i] last = count[i]  {id=insn}" in str(new)
    assert "more[i] = 2*last_subst()" in str(new)
    count = np.array([0, 3, 5, 1], np.int32)
    more, out = new(count=count)[1]
    np.testing.assert_array_equal(out, count * (count - 1) / 2)
    np.testing.assert_array_equal(more, 2 * count)


def test_bounds_have_no_rules() -> None:
    knl = pg.make_kernel(
        ["{ [r]: 0<=r<n }", "{ [e]: 0<=e<count }"],
        ["<> count = size[r]", "out[r] = sum(e, a[e])"],
        [pg.GlobalArg("size", "int32", "n"), pg.GlobalArg("a", "float32", "m"), "..."],
    )
    with pytest.raises(NotARule, match=r"it bounds the loops in .*0 <= e < count"):
        pg.assignment_to_subst(knl, "count")
