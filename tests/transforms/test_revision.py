"""`Revision`: names are new, and new instructions stand where others do."""

from __future__ import annotations

import numpy as np

import polygen as pg
from polygen.ir import expression as ex
from polygen.ir.revision import Revision


def _kernel() -> pg.Kernel:
    return pg.make_kernel(
        "{ [i]: 0<=i<n }",
        ["b[i] = a[i]  {id=first}", "out[i] = b[i] + 1  {id=last, if=a[i] > 0}"],
        [pg.GlobalArg("out", "float64"), "..."],
        target="c",
    )


def test_names_are_new() -> None:
    revision = Revision(_kernel())
    assert [revision.name(like) for like in ("a", "first", "c", "c")] == [
        "a_0",
        "first_0",
        "c",
        "c_0",
    ]
    assert revision.temporary("c") == ex.Variable("c_1")
    assert revision.copies(["i"]) == {"i": "i_0"}


def test_stages_stand_where_the_instruction_does() -> None:
    knl = _kernel()
    insn = knl.assignment("last")
    revision = Revision(knl)
    kept = revision.temporary("kept", None)
    stage = revision.stage(insn, "value", [kept], insn.values, tags=frozenset({"new"}))
    assert stage.id == "last_value"
    for field in ("within_inames", "depends_on", "predicates", "location"):
        assert getattr(stage, field) == getattr(insn, field)
    last = insn.with_pairs([(insn.assignees[0], kept)], depends_on=frozenset({stage.id}))
    new = revision.with_stages({"last": [stage, last]}, name="renamed")
    assert [i.id for i in new.instructions] == ["first", "last_value", "last"]
    assert new.name == "renamed"
    values, given = np.array([2.0, -1.0, 3.0]), np.zeros(3)
    new(a=values, out=given)
    assert given.tolist() == [3, 0, 4]
    assert [i.id for i in knl.instructions] == ["first", "last"]
