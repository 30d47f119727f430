"""`map_instructions`: what a function makes of instructions, proved."""

from __future__ import annotations

from typing import Any

import numpy as np

import polygen as pg
from polygen.errors import IllegalStep, InvalidArgument, NotTheSame, UnknownInstruction
from polygen.ir.instruction import Instruction
from polygen.language.parser import parse_expression
from tests.transforms.instructions.rows import CHAIN, before, typed
from tests.transforms.numpy_runs import numpy_agrees
from tests.transforms.refusals import refused


def _commuted(insn: Instruction) -> Instruction:
    assert isinstance(insn, pg.Assignment)
    return insn.copy(depends_on=insn.depends_on - {"x"})


def test_mapped_instructions() -> None:
    new = pg.map_instructions(CHAIN, "z", _commuted)
    assert before(new, "z") == {"y"}
    assert new.instruction("y") is CHAIN.instruction("y")
    assert pg.replay(CHAIN, new.history) == new
    assert pg.map_instructions(CHAIN, "*", lambda insn: insn) is CHAIN


def test_what_is_mapped_is_proved() -> None:
    def doubled(insn: Any) -> Any:
        return insn.copy(expression=insn.expression * 2)

    refused(NotTheSame, "would compute", pg.map_instructions, CHAIN, "z", doubled)
    refused(IllegalStep, "leaves open which", pg.map_instructions, CHAIN, "y", _commuted)
    for wrong, text in ((3, "made 3"), (CHAIN.instruction("x"), "made one called 'x'")):
        made = dict.fromkeys(CHAIN.instructions, wrong)
        refused(InvalidArgument, text, pg.map_instructions, CHAIN, "z", made.__getitem__)
    refused(InvalidArgument, "f=4, which is not a function", pg.map_instructions, CHAIN, "z", 4)


def test_it_computes_what_numpy_does() -> None:
    def apart(insn: Any) -> Any:
        return insn.copy(depends_on=frozenset())

    knl = typed("b[i] = 2*a[i]  {id=x}\nc[i] = a[i] + i  {id=y, dep=x}")
    numpy_agrees(
        knl,
        lambda k: pg.map_instructions(k, "y", apart),
        lambda a: {"b": 2 * a, "c": a + np.arange(len(a))},
    )


def test_another_expression_of_the_same_value() -> None:
    def otherwise(insn: Any) -> Any:
        return insn.copy(expression=parse_expression("2*a[1 + i - 1]"))

    knl = typed("b[i] = 2*a[i]  {id=x}")
    new = pg.map_instructions(knl, "x", otherwise)
    (line,) = [line for line in str(new).splitlines() if "{id=x" in line]
    assert line == "[i] b[i] = 2*a[1 + i - 1]  {id=x}"
    assert pg.map_instructions(new, "x", lambda _: knl.instruction("x")) == knl
    numpy_agrees(knl, lambda k: pg.map_instructions(k, "x", otherwise), lambda a: {"b": 2 * a})


def test_which_instructions_are_mapped() -> None:
    met: list[str] = []

    def noted(insn: Any) -> Any:
        met.append(insn.id)
        return insn.copy(tags=frozenset(("seen",)))

    new = pg.map_instructions(CHAIN, "reads:b or writes:d", noted)
    assert met == ["y", "z"]
    assert [sorted(i.tags) for i in new.instructions] == [[], ["seen"], ["seen"]]
    refused(UnknownInstruction, "no instruction 'q'", pg.map_instructions, CHAIN, "q", noted)
