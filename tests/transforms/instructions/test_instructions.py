"""Steps on instructions: their order, names, barriers, and which there are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    CannotProve,
    DependencyCycle,
    IllegalStep,
    InvalidArgument,
    NameTaken,
    NothingMatches,
    NotTheSame,
    UnknownIname,
    UnknownInstruction,
    UserError,
    WaitNeeded,
)
from polygen.ir.claims import Independent
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from tests.oracle.cases import SIZES, agree, grid, kernel, lowered, nodes, split
from tests.transforms.numpy_runs import numpy_agrees

LINE = "{ [i]: 0<=i<n }"


def typed(text: str, *data: object, domains: Any = LINE) -> Kernel:
    """Return a kernel of which all variables but sizes have a type."""
    knl = kernel(domains, text, *data)
    others = [v for v in knl.variables if v not in (*knl.parameters, "idx")]
    return pg.add_dtypes(knl, dict.fromkeys(others, "float64"))


CHAIN = typed("b[i] = a[i]  {id=x}\nc[i] = 2*b[i]  {id=y}\nd[i] = c[i] + 1  {id=z, dep=x}")
APART = typed("b[i] = 2*a[i]  {id=x}\nc[i] = a[i] + 1  {id=y}")
DEAD = typed(
    """
    <> t = a[i]       {id=x}
    <> u = 2*t        {id=y, dep=x}
    out[i] = a[i]     {id=z, dep=y}
    out[i] = 3*a[i]   {id=w, dep=z}
    """
)
SCATTER = typed(
    "a[idx[i]] = b[i]  {id=x}\nc[i] = a[i]  {id=y}\nd[i] = c[i]  {id=z, dep=x:y}",
    pg.GlobalArg("a", shape="n"),
)


def refused(kind: type[UserError], text: str, step: Any, *args: Any, **options: Any) -> None:
    with pytest.raises(kind, match="(?s)" + text):
        step(*args, **options)


def before(knl: Kernel, insn_id: str) -> set[str]:
    return set(knl.instruction(insn_id).depends_on)


# --- find_instructions


def test_what_is_found() -> None:
    assert [i.id for i in pg.find_instructions(CHAIN, "reads:b or writes:d")] == ["y", "z"]
    assert [i.id for i in pg.find_instructions(CHAIN, ["z", "x"])] == ["x", "z"]
    assert pg.find_instructions(CHAIN) == CHAIN.instructions
    assert pg.find_instructions(CHAIN, "reads:a and writes:d") == ()
    refused(UnknownInstruction, "no instruction 'xx'", pg.find_instructions, CHAIN, "xx")


# --- add_dependency, remove_dependency


def test_dependencies_that_are_added() -> None:
    new = pg.add_dependency(APART, "x", "writes:c")
    assert before(new, "x") == {"y"}
    assert before(new, "y") == set()
    assert [i.id for i in pg.find_instructions(new)] == ["x", "y"]
    assert pg.add_dependency(new, "x", "y") is new
    assert pg.add_dependency(APART, "x", "x") is APART
    assert before(pg.add_dependency(APART, "*", "y"), "y") == set()
    agree(APART, SIZES, lambda knl: pg.add_dependency(knl, "x", "y"))


def test_an_added_dependency_orders_the_code() -> None:
    text = str(pg.generate_code(pg.add_dependency(APART, "x", "y"), "c"))
    assert text.index("c[i] =") < text.index("b[i] =")


def test_dependencies_that_are_refused() -> None:
    refused(DependencyCycle, "must come after another of them", pg.add_dependency, CHAIN, "x", "z")
    loops = kernel(
        [LINE, "{ [j]: 0<=j<n }"], "b[i] = a[i]  {id=x}\nc[j] = b[j]  {id=y}\nd[i] = a[i]  {id=z}"
    )
    refused(DependencyCycle, "one loop only: i, j", pg.add_dependency, loops, "z", "y")
    refused(UnknownInstruction, "no instruction 'q'", pg.add_dependency, CHAIN, "q", "x")
    refused(NothingMatches, "matches 'q\\*'", pg.add_dependency, CHAIN, "x", "q*")


def test_a_dependency_that_others_imply_may_go() -> None:
    new = pg.remove_dependency(CHAIN, "z", "x")
    assert before(new, "z") == {"y"}
    agree(CHAIN, SIZES, lambda knl: pg.remove_dependency(knl, "z", "x"), grid("i", 4))
    assert before(pg.remove_dependency(SCATTER, "z", "x"), "z") == {"y"}
    text = "a[i] = a[i-1] + b[i]  {id=x}\n<> t = a[i]  {id=y}\nc[i] = t  {id=z, dep=x}"
    scan = kernel("{ [i]: 1<=i<n }", text)
    assert before(pg.remove_dependency(scan, "z", "x"), "z") == {"y"}


def test_a_dependency_on_what_has_nothing_in_common_may_go() -> None:
    new = pg.remove_dependency(pg.add_dependency(APART, "x", "y"), "x", "*")
    assert new == APART


def test_a_dependency_on_instances_goes_too() -> None:
    knl = kernel(LINE, "b[i] = a[i]  {id=x}\nc[i] = 2*a[i]  {id=y, dep=x[{ [i] -> [i'] : i'=i }]}")
    assert knl.instruction("y").happens_after
    assert not pg.remove_dependency(knl, "y", "x").instruction("y").happens_after


WRITE_AFTER_READ = typed("b[i] = a[i]  {id=x, dep=*}\na[i] = 2*c[i]  {id=y, dep=x}")


@pytest.mark.parametrize(
    ("knl", "later", "earlier"),
    [(CHAIN, "y", "x"), (WRITE_AFTER_READ, "y", "x"), (CHAIN, "*", "*")],
)
def test_a_dependency_that_is_needed_stays(knl: Kernel, later: str, earlier: str) -> None:
    text = "remove_dependency would.*leaves open which of two instances comes first"
    refused(IllegalStep, text, pg.remove_dependency, knl, later, earlier)


def test_a_dependency_that_data_may_need_stays() -> None:
    refused(CannotProve, "assume_independent", pg.remove_dependency, SCATTER, "y", "x")
    knl = pg.assume_independent(SCATTER, "x", "y")
    assert before(pg.remove_dependency(knl, "y", "x"), "y") == set()
    remove: Any = pg.remove_dependency
    assert before(remove(SCATTER, "y", "x", unsafe=True), "y") == set()


def test_a_dependency_that_is_not_there() -> None:
    text = "nothing that 'x' means depends directly on anything that 'z' means"
    refused(NothingMatches, text, pg.remove_dependency, CHAIN, "x", "z")


# --- set_instruction_priority, tag_instructions


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


# --- add_nosync


def test_who_need_not_wait() -> None:
    new = pg.add_nosync(CHAIN, "local", "x", "*")
    assert [sorted(i.no_sync_with) for i in new.instructions] == [[], *[[("x", "local")]] * 2]
    both = pg.add_nosync(CHAIN, "any", "x", "z", bidirectional=True)
    assert both.instruction("x").no_sync_with == {("z", "any")}
    assert both.instruction("z").no_sync_with == {("x", "any")}
    forced = pg.add_nosync(CHAIN, "any", "z", "x", force=True)
    assert forced.instruction("x").no_sync_with == {("z", "any")}
    assert pg.add_nosync(CHAIN, "any", "z", "x", empty_ok=True) is CHAIN
    text = "nothing that 'x' means depends on anything that 'z' means"
    refused(NothingMatches, text, pg.add_nosync, CHAIN, "any", "z", "x")
    refused(InvalidArgument, "not 'local', 'global' or 'any'", pg.add_nosync, CHAIN, "a", "x", "y")


def test_through_others_and_groups() -> None:
    chain = pg.remove_dependency(CHAIN, "z", "x")
    assert pg.add_nosync(chain, "any", "x", "z").instruction("z").no_sync_with == {("x", "any")}
    groups = kernel(LINE, "b[i] = a[i]  {id=x, groups=g}\nc[i] = a[i]  {id=y, conflicts=g}")
    assert pg.add_nosync(groups, "any", "x", "y").instruction("y").no_sync_with == {("x", "any")}
    assert pg.add_nosync(groups, "any", "y", "x").instruction("x").no_sync_with == {("y", "any")}


TURNED = typed(
    "t[i] = a[i]  {id=x}\nout[j] = t[7-j]  {id=y, dep=x}",
    pg.TemporaryVariable("t", shape=8, address_space=pg.AddressSpace.LOCAL),
    domains=["{ [i]: 0<=i<8 }", "{ [j]: 0<=j<8 }"],
)


def test_code_is_refused_if_somebody_has_to_wait() -> None:
    turned = pg.tag_inames(TURNED, {"i": "l.0", "j": "l.0"})
    refused(WaitNeeded, "need not wait for 'x'", lowered, pg.add_nosync(turned, "local", "x", "y"))
    other = pg.add_nosync(turned, "global", "x", "y")
    assert lowered(other) == lowered(turned)


# --- add_barrier


def test_barriers_are_where_they_were_put() -> None:
    knl = split("i", 8, outer_tag="g.0", inner_tag="l.0")(APART)
    assert "barrier(" not in str(pg.generate_code(knl, "opencl"))
    new = pg.add_barrier(knl, "x", "y", "wait", "sync", "local")
    assert new.instruction("wait").tags == {"sync"}
    assert new.instruction("wait").within_inames == {"i_outer", "i_inner"}
    text = str(pg.generate_code(new, "opencl"))
    assert text.index("b[8 *") < text.index("barrier(") < text.index("c[8 *")
    assert str(pg.generate_code(pg.add_barrier(knl, "x", "y"), "opencl")).count("__kernel") == 2
    again = pg.add_barrier(new, "y", id_based_on="wait", synchronization_kind="local")
    assert again.instructions[-1].id == "wait_0"
    assert pg.parse_kernel(str(again)) == again


@pytest.mark.parametrize("kind", ["local", "global"])
def test_barriers_keep_results(kind: str) -> None:
    def step(knl: Kernel) -> Kernel:
        knl = split("i", 4, outer_tag="g.0", inner_tag="l.0")(knl)
        return pg.add_barrier(knl, "x", "y", synchronization_kind=kind)

    agree(CHAIN, SIZES, step)
    numpy_agrees(APART, step, lambda a: {"b": 2 * a, "c": a + 1})


def test_the_loops_of_a_barrier() -> None:
    knl = kernel(
        "{ [i,j]: 0<=i,j<n }", "b[i] = a[i]  {id=x}\nc[i,j] = b[i]  {id=y}", loop_priority="i, j"
    )
    assert pg.add_barrier(knl, "x", "y").instruction("barrier").within_inames == {"i"}
    assert pg.add_barrier(knl, "y").instruction("barrier").within_inames == {"i", "j"}
    outside = pg.add_barrier(knl, "y", within_inames="i")
    assert outside.instruction("barrier").within_inames == {"i"}
    refused(UnknownIname, "no iname 'k'", pg.add_barrier, knl, "y", within_inames="k")


def test_barriers_that_are_refused() -> None:
    refused(InvalidArgument, "neither insn_before nor insn_after", pg.add_barrier, CHAIN)
    refused(DependencyCycle, "must come after", pg.add_barrier, CHAIN, "y", "x")
    wrong = {"synchronization_kind": "all"}
    refused(InvalidArgument, "not 'local' or 'global'", pg.add_barrier, CHAIN, "x", "y", **wrong)
    refused(InvalidArgument, "which is not a name", pg.add_barrier, CHAIN, "x", "y", "1")


# --- replace_instruction_ids, map_instructions


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


def test_a_step_cannot_make_one_instruction_of_two() -> None:
    @pg.transformation
    def confuse(knl: Kernel) -> pg.Rearranged:
        (*kept, last) = knl.instructions
        new = knl.copy(instructions=(*kept, last.copy(depends_on=frozenset("y"))))
        return pg.Rearranged(new, ids={"x": "y"})

    refused(NameTaken, "more than one instruction 'y'", confuse, CHAIN)


# --- remove_instructions


def test_what_is_dead_goes() -> None:
    new = pg.remove_instructions(DEAD, ["x", "y"])
    assert [i.id for i in new.instructions] == ["z", "w"]
    assert new.temporaries == ()
    assert before(new, "z") == set()
    assert pg.remove_instructions(DEAD, "y").variables.keys() == DEAD.variables.keys() - {"u"}
    numpy_agrees(DEAD, lambda knl: pg.remove_instructions(knl, ["x", "y", "z"]), _tripled)


def _tripled(a: Any) -> dict[str, np.ndarray[Any, np.dtype[Any]]]:
    return {"out": 3 * a}


def test_what_is_written_again_goes() -> None:
    new = pg.remove_instructions(DEAD, "z")
    assert before(new, "w") == {"y"}
    numpy_agrees(DEAD, lambda knl: pg.remove_instructions(knl, "z"), _tripled)


def test_dependencies_lead_through_what_is_gone() -> None:
    knl = typed(
        """
        b[i] = a[i]     {id=p}
        <> t = a[i]     {id=q, dep=p}
        <> u = t        {id=r, dep=q}
        b[i] = 2*a[i]   {id=s, dep=r}
        """
    )
    assert before(pg.remove_instructions(knl, ["q", "r"]), "s") == {"p"}
    refused(NotTheSame, "'b' would not end with 2", pg.remove_instructions, knl, "s")


def test_what_is_seen_stays() -> None:
    remove: Any = pg.remove_instructions
    refused(NotTheSame, "'out' would not end with 3", remove, DEAD, "w")
    refused(NotTheSame, "'d' would not end with c", remove, CHAIN, "z")
    refused(IllegalStep, "y.*reads 't', which nothing has written", remove, DEAD, "x")
    refused(NotTheSame, "'b' would not end with a", remove, CHAIN, "*")
    refused(CannotProve, "remove_instructions", remove, SCATTER, "x")
    assert [i.id for i in remove(DEAD, "w", unsafe=True).instructions] == ["x", "y", "z"]


def test_a_claim_about_what_is_gone_goes() -> None:
    knl = pg.assume_independent(DEAD, "y", "z")
    assert pg.remove_instructions(knl, "y").claims == ()
    assert pg.remove_instructions(pg.assume_independent(DEAD, "x", "w"), "y").claims != ()


def test_a_barrier_goes() -> None:
    knl = pg.add_barrier(APART, "x", "y", synchronization_kind="local")
    new = pg.remove_instructions(knl, "barrier")
    assert before(new, "y") == {"x"}
    assert not [n for n in nodes(lowered(new)) if type(n).__name__ == "Barrier"]
