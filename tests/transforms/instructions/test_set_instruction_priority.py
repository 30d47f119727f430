"""`set_instruction_priority`: which instruction comes first where several may."""

from __future__ import annotations

import itertools

import polygen as pg
from polygen.errors import InvalidArgument, NothingMatches, UnknownInstruction
from tests.oracle.cases import SIZES, agree
from tests.transforms.instructions.rows import APART, CHAIN, typed
from tests.transforms.refusals import refused


def test_priorities() -> None:
    for first, text in (("y", "c[i] ="), ("x", "b[i] =")):
        new = pg.set_instruction_priority(APART, first, 3)
        assert new.instruction(first).priority == 3
        code = str(pg.generate_code(new, "c"))
        assert code.index(text) == min(code.index("b[i] ="), code.index("c[i] ="))
    assert pg.set_instruction_priority(APART, "x", 0) is APART
    agree(APART, SIZES, lambda knl: pg.set_instruction_priority(knl, "y", 1))
    refused(InvalidArgument, "is not an integer", pg.set_instruction_priority, APART, "x", True)


def test_a_priority_gives_way_to_dependencies() -> None:
    code = str(pg.generate_code(pg.set_instruction_priority(CHAIN, "z", 9), "c"))
    assert code.index("b[i] =") < code.index("c[i] =") < code.index("d[i] =")


def test_all_orders() -> None:
    """Whatever the numbers, the code is in their order, from the highest to the lowest."""
    knl = typed("b[i] = a[i]  {id=x}\nc[i] = a[i]  {id=y}\nd[i] = a[i]  {id=z}")
    for numbers in itertools.permutations((-1, 0, 7)):
        new = knl
        for insn_id, priority in zip("xyz", numbers, strict=True):
            new = pg.set_instruction_priority(new, insn_id, priority)
        assert [i.priority for i in new.instructions] == [*numbers]
        code = str(pg.generate_code(new, "c"))
        found = sorted("bcd", key=lambda name: code.index(f"{name}[i] ="))
        assert found == [name for _, name in sorted(zip(numbers, "bcd", strict=True), reverse=True)]


def test_which_instructions_get_it() -> None:
    new = pg.set_instruction_priority(CHAIN, "reads:a or writes:d", -2)
    assert [i.priority for i in new.instructions] == [-2, 0, -2]
    assert pg.set_instruction_priority(new, "*", 0) == CHAIN
    assert pg.set_instruction_priority(new, "x", -2) is new
    assert pg.parse_kernel(str(new)) == new
    assert pg.replay(CHAIN, new.history) == new
    refused(UnknownInstruction, "no instruction 'q'", pg.set_instruction_priority, CHAIN, "q", 1)
    refused(NothingMatches, "matches 'q\\*'", pg.set_instruction_priority, CHAIN, "q*", 1)
