"""`add_inames_to_insn`, `remove_inames_from_insn`: often instead of once, and back."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    CannotProve,
    IllegalStep,
    InameNotUsed,
    MalformedKernel,
    NotTheSame,
    UnknownIname,
    UnknownInstruction,
    UnknownName,
    UserError,
)
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.language.parser import parse_expression
from polygen.proof import Rearranged, prove
from tests.oracle.cases import agree_in_arrays, kernel, prior, steps, tag
from tests.transforms.numpy_runs import numpy_agrees

PLANE = "{ [i,j]: 0<=i<n and 0<=j<m }"
FOUR = "{ [i,j]: 0<=i<n and 0<=j<4 }"
CALLS = [{"n": n, "m": m} for n, m in ((0, 3), (3, 0), (1, 1), (5, 4))]


def typed(domains: Any, text: str, **options: Any) -> Kernel:
    knl = kernel(domains, text, **{"loop_priority": "i, j", **options})
    return pg.add_dtypes(knl, {v: "float64" for v in knl.variables if v not in knl.parameters})


def refused(kind: type[UserError], text: str, step: Any, *args: Any, **options: Any) -> None:
    with pytest.raises(kind, match="(?s)" + text):
        step(*args, **options)


SCALAR = "<> t = 2*a[i]  {id=t, inames=i}\nout[i,j] = t + j  {id=out}"
ARRAY = "b[i] = 2*a[i]  {id=t, inames=i}\nout[i,j] = b[i] + j  {id=out}"
OFTEN = [text.replace("inames=i}", "inames=i:j}") for text in (SCALAR, ARRAY)]


def often(knl: Kernel) -> Kernel:
    return pg.add_inames_to_insn(knl, "j", "t")


def once(knl: Kernel) -> Kernel:
    return pg.remove_inames_from_insn(knl, "j", "t")


@pytest.mark.parametrize("text", [SCALAR, ARRAY])
def test_often_and_once_again(text: str) -> None:
    knl = typed(FOUR, text)
    new = often(knl)
    assert new.instruction("t").within_inames == {"i", "j"}
    assert new.instruction("out") is knl.instruction("out")
    assert once(new) == knl
    calls = [{"n": n} for n in (0, 1, 5)]
    agree_in_arrays(knl, calls, often, steps(often, once), steps(often, tag(i="g.0")))
    assert pg.replay(knl, once(new).history) == knl


def test_results_are_numpys() -> None:
    knl = typed(FOUR, SCALAR)

    def expected(a: Any) -> dict[str, Any]:
        return {"out": 2 * a[:, None] + np.arange(4.0)}

    numpy_agrees(knl, often, expected)
    numpy_agrees(typed(FOUR, OFTEN[0]), once, expected)
    numpy_agrees(typed(FOUR, OFTEN[0]), steps(once, tag(i="g.0")), expected)


def test_loops_that_may_have_no_iteration() -> None:
    refused(NotTheSame, "'b' would not end with 2", often, typed(PLANE, ARRAY))
    assumed = typed(PLANE, ARRAY, assumptions="m >= 1")
    agree_in_arrays(assumed, [{"n": 3, "m": 2}, {"n": 5, "m": 1}], often)
    # What only the loop reads may be written although it has no iteration, and need not be.
    agree_in_arrays(typed(PLANE, SCALAR), CALLS, often)
    agree_in_arrays(typed(PLANE, OFTEN[0]), CALLS, once)
    refused(NotTheSame, "'b' would end with 2", once, typed(PLANE, OFTEN[1]))
    assert once(typed(PLANE, OFTEN[1], assumptions="m >= 1")).instruction("t").within_inames == {
        "i"
    }


def test_both_inames() -> None:
    knl = typed(FOUR, "b[0] = a[0]  {id=t, inames=i:j}", assumptions="n >= 1")
    new = pg.remove_inames_from_insn(knl, "i, j", "t")
    assert new.instruction("t").within_inames == set()
    assert pg.add_inames_to_insn(new, ["i", "j"], "writes:b") == knl
    assert pg.add_inames_to_insn(knl, "i", "t") is knl


@pytest.mark.parametrize("order", ["i, j", "j, i"])
def test_what_is_added_up_is_executed_as_often_as_before(order: str) -> None:
    text = "b[i] = b[i] + a[i]  {id=t, inames=i}\nout[i,j] = a[i]"
    refused(NotTheSame, "instead of b", often, prior(order)(typed(FOUR, text)))
    knl = prior(order)(typed(FOUR, text.replace("inames=i}", "inames=i:j}")))
    refused(NotTheSame, "would compute b", once, knl)


def test_what_changes_between_iterations() -> None:
    text = "b[i] = c[i]  {id=t, inames=i:j, dep=*}\nc[i] = j  {id=c, dep=t, inames=i:j}"
    refused(IllegalStep, "reads from 'c'", once, typed(FOUR, text))
    refused(
        CannotProve,
        "too many writes would have to be followed",
        once,
        typed("{ [i,j]: 1<=i<n and 0<=j<4 }", "b[i] = b[i-1] + a[i]  {id=t, inames=i:j}"),
    )


def test_inames_that_do_not_fit() -> None:
    knl = typed(FOUR, SCALAR)
    add, remove = pg.add_inames_to_insn, pg.remove_inames_from_insn
    refused(UnknownIname, "no iname 'k'", add, knl, "k", "t")
    refused(UnknownIname, "no iname 'k'", remove, knl, "k", "t")
    refused(UnknownInstruction, "no instruction 'q'", add, knl, "j", "q")
    refused(InameNotUsed, "none of these instructions is within 'j'", remove, knl, "j", "t")
    refused(UnknownName, "'out' mentions 'j'", remove, knl, "j", "out")
    summed = typed(FOUR, "b[i] = sum(j, a[i,j])  {id=t, inames=i}", loop_priority=())
    refused(MalformedKernel, "reduces over 'j', which it is also within", add, summed, "j", "t")
    nested = kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<=i }", "{ [k]: 0<=k<4 }"],
        "out[i,j] = a[i]\nb[k] = a[k]  {id=b}",
        pg.GlobalArg("a", shape="n+4"),
    )
    refused(MalformedKernel, "which the domain of 'j' needs", add, nested, "j", "b")


def test_whoever_vouches_for_a_step_does_so_for_its_parts() -> None:
    knl = kernel(["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"], "b[i] = a[i]\nc[j] = b[n-1-j]")
    rename: Any = pg.rename_inames
    refused(IllegalStep, "rename_iname", rename, knl, "i, j", "p")
    new = rename(knl, "i, j", "p", unsafe=True)
    assert [i.within_inames for i in new.instructions] == [{"p"}, {"p"}]
    assert len(new.claims) == 1


LITERALS = {
    "float32": ("1.5",),
    "int8": ("i",),
    "uint64": ("22",),
    "complex64": ("2",),
    "float64": ("0.1*i",),
}


@pytest.mark.parametrize("dtype", LITERALS)
def test_a_literal_has_the_type_of_the_array(dtype: str) -> None:
    for value in LITERALS[dtype]:
        knl = kernel(
            FOUR,
            f"b[i] = {value}  {{id=t, inames=i}}\nout[i,j] = a[i,j] + b[i]  {{id=out}}",
            pg.GlobalArg("b", dtype, "n"),
            pg.GlobalArg("a", "float16", "n, 4"),
            "...",
            loop_priority="i, j",
        )
        a = np.arange(12, dtype=np.float16).reshape(3, 4)
        _, right = knl(a=a)
        b = np.asarray(eval(value, {"i": np.arange(3)})).astype(dtype)  # noqa: S307
        np.testing.assert_array_equal(right[1], a + np.broadcast_to(b, 3)[:, None])
        for new in (often(knl), pg.assignment_to_subst(knl, "b")):
            assert new != knl
            for found, wanted in zip(new(a=a)[1], right, strict=True):
                assert found.dtype == wanted.dtype
                np.testing.assert_array_equal(found, wanted)


def test_a_literal_in_an_array_of_another_type_is_another_value() -> None:
    def one(value: str, dtype: str | None) -> Kernel:
        data = pg.GlobalArg("b", dtype, "n"), pg.GlobalArg("a, out", "float32", "n")
        text = f"b[i] = {value}  {{id=t}}\nout[i] = a[i]*b[i]  {{id=out, dep=t}}"
        return kernel("{ [i]: 0<=i<n }", text, *data)

    def renamed(insn: Instruction, value: str) -> Instruction:
        """Return what a step may make of an instruction that it replaces."""
        if insn.id == "t":
            return insn.copy(id="t2", expression=parse_expression(value))
        return insn.copy(depends_on=frozenset(("t2",)))

    for value, other in (("22", "23"), ("1.5", "1.25"), ("i", "i + 1")):
        old = one(value, "float64")
        for new, is_same in ((value, True), (other, False)):
            made = old.copy(instructions=tuple(renamed(i, new) for i in old.instructions))
            with nullcontext() if is_same else pytest.raises((NotTheSame, IllegalStep)):
                prove("step", old, Rearranged(made))
    with pytest.raises(CannotProve, match="its type may not be"):  # a call says which it is
        pg.assignment_to_subst(one("22", None), "b")
