"""`add_inames_to_insn`, `remove_inames_from_insn`: often instead of once, and back."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    CannotProve,
    IllegalStep,
    NotTheSame,
)
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.language.parser import parse_expression
from polygen.proof import Rearranged, prove
from tests.oracle.cases import agree_in_arrays, kernel, steps, tag
from tests.transforms.inames.often_and_once import ARRAY, FOUR, SCALAR, often, once, typed


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


def test_both_inames() -> None:
    knl = typed(FOUR, "b[0] = a[0]  {id=t, inames=i:j}", assumptions="n >= 1")
    new = pg.remove_inames_from_insn(knl, "i, j", "t")
    assert new.instruction("t").within_inames == set()
    assert pg.add_inames_to_insn(new, ["i", "j"], "writes:b") == knl
    assert pg.add_inames_to_insn(knl, "i", "t") is knl


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
