"""`replace_instruction_ids`: instructions get other ids, wherever these are mentioned."""

from __future__ import annotations

import polygen as pg
from polygen.errors import InvalidArgument, NameTaken, UnknownInstruction
from polygen.ir.claims import Independent
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel
from tests.transforms.instructions.rows import CHAIN, LINE, SCATTER, before
from tests.transforms.refusals import refused


def test_ids_are_renamed_wherever_they_are() -> None:
    knl = pg.add_nosync(CHAIN, "any", "x", "z")
    new = pg.replace_instruction_ids(knl, {"x": "first", "z": ["last"]})
    assert [i.id for i in new.instructions] == ["first", "y", "last"]
    assert before(new, "y") == {"first"}
    assert before(new, "last") == {"first", "y"}
    assert new.instruction("last").no_sync_with == {("first", "any")}
    assert pg.replace_instruction_ids(new, {"first": "x", "last": "z"}) == knl
    assert str(pg.generate_code(new, "c")) == str(pg.generate_code(knl, "c"))
    assert before(pg.replace_instruction_ids(CHAIN, {"x": "y", "y": "x"}), "x") == {"y"}
    assert pg.replace_instruction_ids(CHAIN, {"x": "x"}) is CHAIN


def test_ids_in_claims_and_relations() -> None:
    knl = pg.assume_independent(SCATTER, "x", "y")
    assert pg.replace_instruction_ids(knl, {"x": "q"}).claims == (Independent("q", "y"),)
    knl = kernel(LINE, "b[i] = a[i]  {id=x}\nc[i] = b[i]  {id=y, dep=*x[{ [i] -> [i'] : i'=i }]}")
    (relation,) = pg.replace_instruction_ids(knl, {"x": "q"}).instruction("y").happens_after
    assert relation.first == "q"


def test_ids_that_are_refused() -> None:
    rename = pg.replace_instruction_ids
    refused(NameTaken, "'x' and 'y' would both be 'y'", rename, CHAIN, {"x": "y"})
    refused(UnknownInstruction, "no instruction 'q'", rename, CHAIN, {"q": "y"})
    for wrong in ({"x": 3}, {"x": "a b"}, {"x": ["p", "q"]}, ["x"], {3: "x"}):
        refused(InvalidArgument, "a dictionary from ids to new ids", rename, CHAIN, wrong)


def test_a_step_cannot_make_one_instruction_of_two() -> None:
    @pg.transformation
    def confuse(knl: Kernel) -> pg.Rearranged:
        (*kept, last) = knl.instructions
        new = knl.copy(instructions=(*kept, last.copy(depends_on=frozenset("y"))))
        return pg.Rearranged(new, ids={"x": "y"})

    refused(NameTaken, "more than one instruction 'y'", confuse, CHAIN)
