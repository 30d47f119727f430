"""`tag_instructions`: tags by which queries find instructions."""

from __future__ import annotations

import polygen as pg
from polygen.errors import InvalidArgument, NothingMatches, UnknownInstruction
from tests.oracle.cases import lowered
from tests.transforms.instructions.rows import CHAIN
from tests.transforms.refusals import refused


def test_tags() -> None:
    new = pg.tag_instructions(pg.tag_instructions(CHAIN, "old", "y"), "new", "reads:a or id:y")
    assert [sorted(i.tags) for i in new.instructions] == [["new"], ["new", "old"], []]
    assert [i.id for i in pg.find_instructions(new, "tag:new and not tag:old")] == ["x"]
    assert all(
        i.tags == {"all_of_it"} for i in pg.tag_instructions(CHAIN, "all_of_it").instructions
    )
    assert pg.parse_kernel(str(new)) == new
    for wrong in ("a, b", "1", "", 3):
        refused(InvalidArgument, "which is not a name", pg.tag_instructions, CHAIN, wrong)


def test_only_queries_see_a_tag() -> None:
    new = pg.tag_instructions(CHAIN, "late", ["y", "z"])
    assert lowered(new) == lowered(CHAIN)
    assert pg.tag_instructions(new, "late", "z") is new
    assert [i.copy(tags=frozenset()) for i in new.instructions] == [*CHAIN.instructions]
    assert pg.replay(CHAIN, new.history) == new
    again = pg.set_instruction_priority(new, "tag:late", 4)
    assert [i.priority for i in again.instructions] == [0, 4, 4]


def test_a_tag_in_the_text() -> None:
    lines = str(pg.tag_instructions(CHAIN, "late", "y")).splitlines()
    (line,) = [line for line in lines if "tags=" in line]
    assert line == "[i] c[i] = 2*b[i]  {id=y, dep=x, tags=late}"


def test_instructions_that_are_not_there() -> None:
    refused(UnknownInstruction, "no instruction 'q'", pg.tag_instructions, CHAIN, "late", "q")
    refused(NothingMatches, "matches 'writes:a'", pg.tag_instructions, CHAIN, "late", "writes:a")
