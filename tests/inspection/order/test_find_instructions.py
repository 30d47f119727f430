"""`find_instructions`: which instructions a query means."""

from __future__ import annotations

import polygen as pg
from polygen.errors import UnknownInstruction
from tests.transforms.instructions.rows import CHAIN
from tests.transforms.refusals import refused


def test_what_is_found() -> None:
    assert [i.id for i in pg.find_instructions(CHAIN, "reads:b or writes:d")] == ["y", "z"]
    assert [i.id for i in pg.find_instructions(CHAIN, ["z", "x"])] == ["x", "z"]
    assert pg.find_instructions(CHAIN) == CHAIN.instructions
    assert pg.find_instructions(CHAIN, "reads:a and writes:d") == ()
    refused(UnknownInstruction, "no instruction 'xx'", pg.find_instructions, CHAIN, "xx")
